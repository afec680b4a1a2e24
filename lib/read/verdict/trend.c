/* SPDX-License-Identifier: MIT */
/* read/verdict: does the floor rise?
 * In: a floor. Out: its growth against its falls and its noise, on at most MT_VD_COARSE blocks,
 * because blocks stand the autocorrelation that misleads trend tests.
 * Called by verdict.c; must not say which shape the growth has. */
#include <math.h>

#include "read/verdict/parts.h"

#define LEAST_PAGES 16    /* less growth is the quantum of some allocator */
#define MOST_FALL 0.35    /* of the growth */
#define UNCONFIRMED 4     /* samples that a burst lasts */
#define SHORT 20          /* … and of a run that is not short a twentieth at most */
#define LEAST_CERTAINTY 4 /* growth in sigmas of one point */

/* The middle values of at most MT_VD_COARSE groups of the first `n` points. */
static unsigned coarsen(struct mt_vd_work *w, unsigned n, double *out)
{
    const struct mt_vd_floor *f = &w->floor;
    unsigned m = n < MT_VD_COARSE ? n : MT_VD_COARSE;

    for (unsigned k = 0; k < m; k++) {
        unsigned from = k * n / m, to = (k + 1) * n / m;

        for (unsigned i = from; i < to; i++)
            w->scratch[i - from] = f->y[i];
        out[k] = mt_vd_median(w->scratch, to - from);
    }
    return m;
}

static double kendall(const double *z, unsigned n)
{
    int s = 0;

    for (unsigned i = 0; i < n; i++)
        for (unsigned j = i + 1; j < n; j++)
            s += (z[j] > z[i]) - (z[j] < z[i]);
    return n > 1 ? s / (n * (n - 1) / 2.0) : 0;
}

static double largest_fall(const double *z, unsigned n)
{
    double top = z[0], fall = 0;

    for (unsigned i = 1; i < n; i++) {
        fall = fmax(fall, top - z[i]);
        top = fmax(top, z[i]);
    }
    return fall;
}

/* Share of the growth that lies after this part of the points, but for the last ones: a burst at
 * the very end looks as if it were kept. In a short run a step there is too much to be lost. */
static double rise_since(const struct mt_vd_floor *f, double part)
{
    unsigned from = (unsigned)(f->n * part), open = 1 + UNCONFIRMED / f->width;
    double end = f->rising[f->n - 1 - (open * SHORT <= f->n ? open : 0)];

    return (end - f->rising[from]) / fmax(end - f->rising[0], 1);
}

/* Where waves lie above, the last block may hold no trough: a rise that no later block confirms
 * does not count. A fall needs no such word. */
void mt_vd_judge_trend(struct mt_vd_work *w)
{
    struct mt_vd_trend *trend = &w->trend;
    double z[MT_VD_COARSE] = {0}, smooth[MT_VD_COARSE];
    unsigned n = coarsen(w, w->floor.waves && w->floor.n > 1 ? w->floor.n - 1 : w->floor.n, z);

    mt_vd_isotonic(z, n, smooth);
    trend->growth = smooth[n - 1] - smooth[0];
    trend->tau = kendall(z, n);
    n = coarsen(w, w->floor.n, z);
    trend->drawdown = largest_fall(z, n) / fmax(trend->growth, 1);
    trend->certainty = trend->growth / w->floor.sigma;
    trend->late = rise_since(&w->floor, 0.6);
    trend->last_third = rise_since(&w->floor, 2 / 3.0);
    trend->rising = trend->growth >= LEAST_PAGES * w->life.page && trend->drawdown < MOST_FALL &&
                    trend->certainty > LEAST_CERTAINTY;
}
