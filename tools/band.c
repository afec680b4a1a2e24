/* SPDX-License-Identifier: MIT */
/* tools: robust statistics of levels in time. In: points. Out: the band they keep to for most of
 * the time, and when they left it. Called by cmd_spikes.c. Pure. */
#include "band.h"

#include <stdlib.h>

#include "command.h"

#define NORMAL_MAD 1.4826 /* the standard deviation of a normal distribution in its MADs */

struct weighted {
    int64_t value, weight;
};

static int by_value(const void *a, const void *b)
{
    const struct weighted *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

static int64_t median_of(struct weighted *w, size_t n)
{
    int64_t total = 0, sum = 0;
    size_t i = 0;

    qsort(w, n, sizeof(*w), by_value);
    for (size_t k = 0; k < n; k++)
        total += w[k].weight;
    for (; i + 1 < n; i++) {
        sum += w[i].weight;
        if (sum * 2 >= total)
            break;
    }
    return w[i].value;
}

static bool ever_falls(const struct point *points, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (points[i].value < points[i - 1].value)
            return true;
    return false;
}

static int64_t end_of(const struct point *points, size_t n, int64_t end_ns, size_t i)
{
    return i + 1 < n ? points[i + 1].t_ns : end_ns;
}

bool band_of(const struct point *points, size_t n, int64_t end_ns, double k, int64_t least,
             struct band *out)
{
    struct weighted *w;
    int64_t half, median;
    double spread;

    if (n < 3 || !ever_falls(points, n))
        return false;
    w = need(calloc(n, sizeof(*w)));
    for (size_t i = 0; i < n; i++) {
        int64_t held_ns = end_of(points, n, end_ns, i) - points[i].t_ns;

        w[i] = (struct weighted){points[i].value, held_ns > 0 ? held_ns / 1000 + 1 : 1};
    }
    median = median_of(w, n);
    for (size_t i = 0; i < n; i++)
        w[i].value = llabs(w[i].value - median);
    spread = k * NORMAL_MAD * (double)median_of(w, n);
    free(w);
    half = spread > 9e18 ? INT64_MAX / 2 : (int64_t)spread;
    half = half < median / 100 ? median / 100 : half;
    half = half < least ? least : half;
    *out = (struct band){median, median - half, median + half};
    return true;
}

static bool is_outside(const struct band *b, int64_t value)
{
    return value < b->low || value > b->high;
}

bool band_next(const struct point *points, size_t n, int64_t end_ns, const struct band *b,
               size_t *at, struct stretch *out)
{
    size_t i = *at;

    while (i < n && !is_outside(b, points[i].value))
        i++;
    if (i == n)
        return false;
    out->from_ns = points[i].t_ns;
    out->extreme = points[i].value;
    for (; i < n && is_outside(b, points[i].value); i++) {
        if (llabs(points[i].value - b->median) > llabs(out->extreme - b->median))
            out->extreme = points[i].value;
        out->to_ns = end_of(points, n, end_ns, i);
    }
    *at = i;
    return true;
}
