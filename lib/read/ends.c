/* SPDX-License-Identifier: MIT */
/* read: plain facts of one series beside its verdict.
 * In: the values of a type. Out: first, last and highest value; the slope of the last half.
 * Called by reader_verdict.c. Must not judge. */
#include "read/judging.h"

#define LATE_POINTS 48 /* blocks of the last half of a series */

void mt_judging_ends(const struct mt_series *s, const int64_t *v, tracer_type_verdict *t)
{
    t->first_bytes = t->last_bytes = t->peak_bytes = TRACER_UNKNOWN;
    for (size_t i = 0; i < s->n; i++) {
        if (v[i] == MT_VERDICT_UNKNOWN)
            continue;
        if (t->first_bytes == TRACER_UNKNOWN)
            t->first_bytes = v[i];
        t->last_bytes = v[i];
        t->peak_bytes = v[i] > t->peak_bytes ? v[i] : t->peak_bytes;
    }
}

static unsigned sort_in(double *v, unsigned n, double x)
{
    unsigned i = n;

    for (; i > 0 && v[i - 1] > x; i--)
        v[i] = v[i - 1];
    v[i] = x;
    return n + 1;
}

/* The middle of the slopes between the least values of blocks of the last half (Theil and Sen). */
double mt_judging_late_slope(const struct mt_series *s, const int64_t *v)
{
    const struct mt_series_life *life = &s->lives[s->n_lives - 1];
    size_t from = (life->first_slot + life->end_slot) / 2 * s->per_slot;
    size_t n = life->end_slot * s->per_slot - from;
    unsigned m = n < LATE_POINTS ? (unsigned)n : LATE_POINTS, n_slopes = 0, known = 0;
    double t[LATE_POINTS], y[LATE_POINTS], slopes[LATE_POINTS * LATE_POINTS / 2];

    for (unsigned k = 0; k < m; k++) {
        size_t least = from + k * n / m;

        for (size_t i = least; i < from + (k + 1) * n / m; i++)
            if (v[i] != MT_VERDICT_UNKNOWN && (v[least] == MT_VERDICT_UNKNOWN || v[i] < v[least]))
                least = i;
        if (v[least] == MT_VERDICT_UNKNOWN)
            continue;
        t[known] = (double)(s->t_ns[least] - s->t_ns[from]) / 1e9;
        y[known++] = (double)v[least];
    }
    for (unsigned a = 0; a < known; a++)
        for (unsigned b = a + 1; b < known; b++)
            if (t[b] > t[a])
                n_slopes = sort_in(slopes, n_slopes, (y[b] - y[a]) / (t[b] - t[a]));
    return n_slopes ? slopes[n_slopes / 2] : 0;
}
