/* SPDX-License-Identifier: MIT */
/* read/verdict: what is retained below whatever comes and goes.
 * In: the thinned life. Out: a floor of few points: the least values of blocks just wide enough
 * that the waves above vanish, or the middle values where there is nothing but noise.
 * Called by verdict.c; must not decide whether the floor rises. */
#include <math.h>

#include "read/verdict/parts.h"

#define FEWEST_BLOCKS 10
#define POINTS_A_WIDTH 4

/* The middle value of each group of `width` bins. */
static void middle_blocks(struct mt_vd_work *w, unsigned width, struct mt_vd_floor *out)
{
    const struct mt_vd_thin *thin = &w->thin;

    out->n = 0;
    for (unsigned from = 0; from < thin->n; from += width) {
        unsigned to = from + width < thin->n ? from + width : thin->n;

        for (unsigned i = from; i < to; i++)
            w->scratch[i - from] = thin->calm[i];
        out->t[out->n] = thin->t[(from + to - 1) / 2];
        out->y[out->n++] = mt_vd_median(w->scratch, to - from);
    }
    out->waves = false;
}

/* The opening: at each bin the most that was held for `width` bins around it. It keeps what never
 * falls as it is, so that rises stay where they are. Leaves it in scratch. */
static double *open_up(struct mt_vd_work *w, unsigned width)
{
    const struct mt_vd_thin *thin = &w->thin;
    double *least = w->scratch, *opened = w->scratch + MT_VD_THIN;
    unsigned last = thin->n - width;

    for (unsigned i = 0; i <= last; i++) {
        least[i] = thin->least[i];
        for (unsigned j = i + 1; j < i + width; j++)
            least[i] = fmin(least[i], thin->least[j]);
    }
    for (unsigned i = 0; i < thin->n; i++) {
        unsigned from = i + 1 > width ? i + 1 - width : 0, to = i < last ? i : last;

        opened[i] = least[from];
        for (unsigned j = from + 1; j <= to; j++)
            opened[i] = fmax(opened[i], least[j]);
    }
    return opened;
}

unsigned mt_vd_next_width(unsigned width)
{
    return width + (width + 2) / 3;
}

static void opened_points(struct mt_vd_work *w, unsigned width, struct mt_vd_floor *out)
{
    const double *opened = open_up(w, width);
    unsigned stride = (width + POINTS_A_WIDTH - 1) / POINTS_A_WIDTH;

    if (stride * MT_VD_POINTS < w->thin.n)
        stride = (w->thin.n + MT_VD_POINTS - 1) / MT_VD_POINTS;
    out->n = 0;
    for (unsigned i = stride / 2; i < w->thin.n; i += stride) {
        out->t[out->n] = w->thin.t[i];
        out->y[out->n++] = opened[i];
    }
    out->waves = true;
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
    double sum = 0, square = 0;
    unsigned levels = 1;

    for (unsigned i = 0; i < f->n; i++) {
        double e = fabs(f->y[i] - f->rising[i]);

        sum += e;
        square += e * e;
        levels += i > 0 && f->rising[i] > f->rising[i - 1];
    }
    f->unexplained = sum / f->n / fmax(f->growth, w->life.page);
    f->sigma = fmax(mt_vd_noise(f->y, f->n, w->scratch), w->life.page / 4);
    return fmax(sqrt(square / (f->n - levels + 1)), f->sigma);
}

/* The standard error that this floor would leave on a level: wider blocks must earn their loss of
 * detail, and correlated points count for fewer. */
static double price(struct mt_vd_work *w, struct mt_vd_floor *f)
{
    double r;

    mt_vd_isotonic(f->y, f->n, f->rising);
    r = correlation(f);
    f->width = (unsigned)((w->life.n + f->n - 1) / f->n);
    f->growth = f->rising[f->n - 1] - f->rising[0];
    f->spread = floor_noise(w, f) * sqrt((1 + r) / (1 - r));
    return f->spread / fmax(f->growth, w->life.page) * sqrt(f->width);
}

void mt_vd_open_floor(struct mt_vd_work *w, unsigned width)
{
    opened_points(w, width, &w->floor);
    price(w, &w->floor);
}

void mt_vd_find_floor(struct mt_vd_work *w)
{
    unsigned narrowest = (w->thin.n + MT_VD_POINTS - 1) / MT_VD_POINTS;
    double best, p;

    middle_blocks(w, narrowest, &w->floor);
    best = price(w, &w->floor);
    for (unsigned width = 2; width * FEWEST_BLOCKS <= w->thin.n; width = mt_vd_next_width(width)) {
        if (width < narrowest)
            continue;
        least_blocks(&w->thin, width, &w->candidate);
        p = price(w, &w->candidate);
        if (p < best) {
            best = p;
            w->floor = w->candidate;
        }
    }
}
