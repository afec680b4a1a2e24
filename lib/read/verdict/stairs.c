/* SPDX-License-Identifier: MIT */
/* read/verdict: from the pieces of a partition to the steps of a staircase.
 * In: the partition of the floor. Out: its rises without those that are one step seen twice, that
 * are given back, or that are small against the noise or against the others.
 * Called by verdict.c; must not decide whether it is a staircase. */
#include <math.h>
#include <stdlib.h>

#include "read/verdict/parts.h"

#define LEAST_SHARE 0.25  /* of the step above which half of the growth lies */
#define LEAST_OF_MOST 0.1 /* of the largest step */
#define LEAST_SIGMAS 3.5
#define FEWEST_INSIDE 3 /* points that show a slope */
#define LONG_PIECES 4   /* points in a middle piece, where a piece of one point is an exception */

static double mean_level(const struct mt_vd_floor *f, unsigned from, unsigned to)
{
    double sum = 0;

    for (unsigned i = from; i < to; i++)
        sum += f->y[i];
    return sum / (to - from);
}

static unsigned length(const struct mt_vd_pieces *p, unsigned k)
{
    return p->first[k + 1] - p->first[k];
}

/* Joins piece k with the one before it. */
static void join(struct mt_vd_work *w, unsigned k)
{
    struct mt_vd_pieces *p = &w->pieces;

    p->n--;
    for (unsigned i = k; i <= p->n; i++) {
        p->first[i] = p->first[i + 1];
        if (i < p->n)
            p->level[i] = p->level[i + 1];
    }
    p->level[k - 1] = mean_level(&w->floor, p->first[k - 1], p->first[k]);
}

/* A block that holds the moment of a step lies between both levels: a step seen twice. Its point
 * goes to the nearer level, without moving it. */
static void drop_transitions(struct mt_vd_work *w)
{
    struct mt_vd_pieces *p = &w->pieces;

    if (w->floor.n < LONG_PIECES * p->n)
        return;
    for (unsigned k = 1; k + 1 < p->n;) {
        double before = p->level[k - 1], at = p->level[k], after = p->level[k + 1];

        if (length(p, k) > 1 || at < before || at > after || length(p, k - 1) < 2 ||
            length(p, k + 1) < 2) {
            k++;
            continue;
        }
        if (at - before < after - at) {
            join(w, k);
            p->level[k - 1] = before;
        } else {
            join(w, k + 1);
            p->level[k] = after;
        }
    }
}

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* The size such that larger rises make half of the growth: small ones, however many, do not pull
 * it down. Also the largest rise. */
static double half_rise(struct mt_vd_work *w, double *out_largest)
{
    double sum = 0, half = 0;
    unsigned n = 0, i = 0;

    for (unsigned k = 1; k < w->pieces.n; k++)
        if (w->pieces.level[k] > w->pieces.level[k - 1])
            sum += w->scratch[n++] = w->pieces.level[k] - w->pieces.level[k - 1];
    if (n == 0)
        return *out_largest = 0;
    qsort(w->scratch, n, sizeof w->scratch[0], falling);
    while (i + 1 < n && (half += w->scratch[i]) < sum / 2)
        i++;
    *out_largest = w->scratch[0];
    return w->scratch[i];
}

/* How much larger a step is than one that could just be believed. */
static double belief(const struct mt_vd_work *w, unsigned k, double least)
{
    const struct mt_vd_pieces *p = &w->pieces;
    double error = (w->floor.waves ? w->floor.spread : w->floor.sigma) *
                   sqrt(1.0 / length(p, k - 1) + 1.0 / length(p, k));

    return (p->level[k] - p->level[k - 1]) / fmax(least, LEAST_SIGMAS * error);
}

/* Takes the least believed step away until all are believed. */
static void drop_doubtful(struct mt_vd_work *w)
{
    struct mt_vd_pieces *p = &w->pieces;

    while (p->n > 1) {
        double largest, half = half_rise(w, &largest), worst = INFINITY;
        double least = fmax(fmax(LEAST_SHARE * half, LEAST_OF_MOST * largest), 2 * w->life.page);
        unsigned at = 0;

        for (unsigned k = 1; k < p->n; k++) {
            double b = belief(w, k, least);

            if (b < 1 && fabs(b) < worst) {
                worst = fabs(b);
                at = k;
            }
        }
        if (at == 0)
            return;
        join(w, at);
    }
}

/* A point beside a cut may lie anywhere between the levels. */
static double point_error(const struct mt_vd_work *w, unsigned i, unsigned k)
{
    const struct mt_vd_pieces *p = &w->pieces;
    double low = p->level[k], high = low, y = w->floor.y[i];

    if (i == p->first[k] && k > 0)
        low = fmin(low, p->level[k - 1]);
    if (i + 1 == p->first[k + 1] && k + 1 < p->n)
        high = fmax(high, p->level[k + 1]);
    return y < low ? low - y : y > high ? y - high : 0;
}

/* What a straight line gains over piece k; the points beside its cuts are left out. Adds the
 * square of its standard error. */
static double slope_growth(const struct mt_vd_work *w, unsigned k, double *error)
{
    unsigned from = w->pieces.first[k], to = w->pieces.first[k + 1];
    const struct mt_vd_floor *f = &w->floor;
    double n, st = 0, sy = 0, stt = 0, sty = 0, d;

    if (to - from >= FEWEST_INSIDE + 2) {
        from += k > 0;
        to -= k + 1 < w->pieces.n;
    }
    n = to - from;
    for (unsigned i = from; i < to; i++) {
        double t = f->t[i] - f->t[from], y = f->y[i] - f->y[from];

        st += t;
        sy += y;
        stt += t * t;
        sty += t * y;
    }
    d = n * stt - st * st;
    if (to - from < 3 || d <= 0)
        return 0;
    *error += n / d * pow(f->t[to - 1] - f->t[from], 2) * f->spread * f->spread;
    return (n * sty - st * sy) / d * (f->t[to - 1] - f->t[from]);
}

static void measure_inside(struct mt_vd_work *w)
{
    double inside = 0, error = 0, square = 0, cross = 0, before = 0;

    w->stairs.sse = 0;
    for (unsigned k = 0; k < w->pieces.n; k++) {
        inside += slope_growth(w, k, &error);
        for (unsigned i = w->pieces.first[k]; i < w->pieces.first[k + 1]; i++) {
            double e = w->floor.y[i] - w->pieces.level[k];

            w->stairs.sse += pow(point_error(w, i, k), 2);
            square += e * e;
            cross += e * before;
            before = e;
        }
    }
    w->stairs.inside = inside / fmax(w->floor.growth, 1);
    w->stairs.inside_z = inside / fmax(sqrt(error), w->life.page);
    w->stairs.whiteness = square > 0 ? cross / square : 0;
}

void mt_vd_clean_stairs(struct mt_vd_work *w)
{
    struct mt_vd_stairs *s = &w->stairs;
    struct mt_vd_pieces *p = &w->pieces;
    double largest;

    drop_transitions(w);
    drop_doubtful(w);
    measure_inside(w);
    s->n = 0;
    for (unsigned k = 1; k < p->n && s->n < MT_VERDICT_STEPS; k++) {
        unsigned i = p->first[k];

        s->at[s->n].before_s = w->floor.t[i - 1];
        s->at[s->n].after_s = w->floor.t[i];
        s->at[s->n].below = p->level[k - 1];
        s->at[s->n].above = p->level[k];
        s->at[s->n++].bytes = p->level[k] - p->level[k - 1];
    }
    s->typical = half_rise(w, &largest);
}
