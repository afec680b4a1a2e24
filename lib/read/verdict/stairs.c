/* SPDX-License-Identifier: MIT */
/* read/verdict: from the pieces of a partition to the steps of a staircase.
 * In: the partition of the floor. Out: its rises without those that are one step seen twice, that
 * are given back, or that are small against the noise or against the others.
 * Called by verdict.c; must not decide whether it is a staircase. */
#include <math.h>

#include "read/verdict/parts.h"

#define LEAST_SHARE 0.3 /* of the middle step: less is the allocator's or the noise's */
#define LEAST_SIGMAS 3.0

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

static double middle_rise(struct mt_vd_work *w)
{
    unsigned n = 0;

    for (unsigned k = 1; k < w->pieces.n; k++)
        if (w->pieces.level[k] > w->pieces.level[k - 1])
            w->scratch[n++] = w->pieces.level[k] - w->pieces.level[k - 1];
    return mt_vd_median(w->scratch, n);
}

/* How far a step is from being believed; 1 = just so. */
static double belief(const struct mt_vd_work *w, unsigned k, double middle)
{
    const struct mt_vd_pieces *p = &w->pieces;
    double step = p->level[k] - p->level[k - 1];
    double error = w->floor.sigma * sqrt(1.0 / length(p, k - 1) + 1.0 / length(p, k));
    double least = fmax(fmax(LEAST_SHARE * middle, LEAST_SIGMAS * error), 2 * w->life.page);

    return step / least;
}

/* Takes the least believed step away until all are believed. */
static void drop_doubtful(struct mt_vd_work *w)
{
    struct mt_vd_pieces *p = &w->pieces;

    while (p->n > 1) {
        double middle = middle_rise(w), worst = INFINITY;
        unsigned at = 0;

        for (unsigned k = 1; k < p->n; k++) {
            double b = fabs(belief(w, k, middle));

            if (belief(w, k, middle) < 1 && b < worst) {
                worst = b;
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

void mt_vd_clean_stairs(struct mt_vd_work *w)
{
    struct mt_vd_stairs *s = &w->stairs;
    struct mt_vd_pieces *p = &w->pieces;
    double covered = 0;

    drop_transitions(w);
    drop_doubtful(w);
    s->n = 0;
    s->sse = 0;
    for (unsigned k = 0; k < p->n; k++)
        for (unsigned i = p->first[k]; i < p->first[k + 1]; i++)
            s->sse += pow(point_error(w, i, k), 2);
    for (unsigned k = 1; k < p->n && s->n < MT_VERDICT_STEPS; k++) {
        unsigned i = p->first[k];

        s->at[s->n].before_s = w->floor.t[i - 1];
        s->at[s->n].after_s = w->floor.t[i];
        s->at[s->n].below = p->level[k - 1];
        s->at[s->n].above = p->level[k];
        s->at[s->n].bytes = p->level[k] - p->level[k - 1];
        covered += s->at[s->n++].bytes;
    }
    s->covered = covered / fmax(w->floor.growth, 1);
    s->typical = middle_rise(w);
}
