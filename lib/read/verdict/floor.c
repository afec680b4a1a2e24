/* SPDX-License-Identifier: MIT */
/* read/verdict: what is retained below whatever comes and goes.
 * In: the thinned life. Out: a floor of few points: the least values of blocks just wide enough
 * that the waves above vanish, or the middle values where there is nothing but noise.
 * Called by verdict.c; must not decide whether the floor rises. */
#include <math.h>

#include "read/verdict/parts.h"

#define FEWEST_BLOCKS 10

/* The middle value of each group of `width` bins. */
static void middle_blocks(struct mt_vd_work *w, unsigned width, struct mt_vd_floor *out)
{
    const struct mt_vd_thin *thin = &w->thin;

    out->n = 0;
    for (unsigned from = 0; from < thin->n; from += width) {
        unsigned to = from + width < thin->n ? from + width : thin->n;

        for (unsigned i = from; i < to; i++)
            w->scratch[i - from] = thin->middle[i];
        out->t[out->n] = thin->t[(from + to - 1) / 2];
        out->y[out->n++] = mt_vd_median(w->scratch, to - from);
    }
    out->waves = false;
}

static void least_blocks(const struct mt_vd_thin *thin, unsigned width, struct mt_vd_floor *out)
{
    out->n = 0;
    for (unsigned from = 0; from + width <= thin->n; from += width) {
        unsigned least = from;

        for (unsigned i = from; i < from + width; i++)
            if (thin->least[i] < thin->least[least])
                least = i;
        out->t[out->n] = thin->t[least];
        out->y[out->n++] = thin->least[least];
    }
    out->waves = true;
}

/* Lag-one correlation of what the rising line leaves: near 1 while waves remain. */
static double correlation(const struct mt_vd_floor *f)
{
    double square = 0, cross = 0, before = 0;

    for (unsigned i = 0; i < f->n; i++) {
        double e = f->y[i] - f->rising[i];

        square += e * e;
        cross += e * before;
        before = e;
    }
    return square > 0 && cross > 0 ? fmin(cross / square, 0.98) : 0;
}

/* Noise of one point: the distance to the rising line, which hugs the points the closer the
 * steeper they rise, and never less than what differs from point to point. */
static double floor_noise(struct mt_vd_work *w, struct mt_vd_floor *f)
{
    double sum = 0;
    unsigned levels = 1;

    for (unsigned i = 0; i < f->n; i++) {
        sum += fabs(f->y[i] - f->rising[i]);
        levels += i > 0 && f->rising[i] > f->rising[i - 1];
    }
    f->unexplained = sum / f->n / fmax(f->growth, w->life.page);
    f->sigma = fmax(mt_vd_noise(f->y, f->n, w->scratch), w->life.page / 4);
    return fmax(1.25 * sum / (f->n - levels + 1), f->sigma);
}

/* The standard error that this floor would leave on a level: wider blocks must earn their loss of
 * detail, and correlated points count for fewer. */
static double price(struct mt_vd_work *w, struct mt_vd_floor *f, unsigned width)
{
    double r;

    mt_vd_isotonic(f->y, f->n, f->rising);
    r = correlation(f);
    f->width = width * w->thin.per_bin;
    f->growth = f->rising[f->n - 1] - f->rising[0];
    return floor_noise(w, f) / fmax(f->growth, w->life.page) *
           sqrt(f->width * (1 + r) / (1 - r));
}

void mt_vd_find_floor(struct mt_vd_work *w)
{
    unsigned narrowest = (w->thin.n + MT_VD_POINTS - 1) / MT_VD_POINTS;
    double best;

    middle_blocks(w, narrowest, &w->floor);
    best = price(w, &w->floor, narrowest);
    for (unsigned width = 2; width * FEWEST_BLOCKS <= w->thin.n; width += (width + 2) / 3) {
        double p;

        if (width < narrowest)
            continue;
        least_blocks(&w->thin, width, &w->candidate);
        p = price(w, &w->candidate, width);
        if (p < best) {
            best = p;
            w->floor = w->candidate;
        }
    }
}
