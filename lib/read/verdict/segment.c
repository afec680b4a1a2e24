/* SPDX-License-Identifier: MIT */
/* read/verdict: a staircase under the floor, if there is one.
 * In: the floor's points. Out: the partition into levels that costs least (squared distance plus
 * a penalty a cut).
 * Called by verdict.c; must not decide whether it is a staircase. */
#include <math.h>

#include "read/verdict/parts.h"

/* Sums before each point, so that any piece's squared distance costs O(1). */
static void prefix_sums(const struct mt_vd_floor *f, double *sum, double *square)
{
    sum[0] = square[0] = 0;
    for (unsigned i = 0; i < f->n; i++) {
        double y = f->y[i] - f->y[0];

        sum[i + 1] = sum[i] + y;
        square[i + 1] = square[i] + y * y;
    }
}

static double distance(const double *sum, const double *square, unsigned from, unsigned to)
{
    double s = sum[to] - sum[from];

    return fmax(square[to] - square[from] - s * s / (to - from), 0);
}

/* Optimal partitioning: the best end at each point, over all starts of its last piece. */
static void best_cuts(struct mt_vd_work *w, double penalty, unsigned *start)
{
    double *sum = w->scratch, *square = sum + MT_VD_POINTS + 1, *cost = square + MT_VD_POINTS + 1;

    prefix_sums(&w->floor, sum, square);
    cost[0] = -penalty;
    for (unsigned to = 1; to <= w->floor.n; to++) {
        cost[to] = INFINITY;
        for (unsigned from = 0; from < to; from++) {
            double c = cost[from] + penalty + distance(sum, square, from, to);

            if (c < cost[to]) {
                cost[to] = c;
                start[to] = from;
            }
        }
    }
}

void mt_vd_partition(struct mt_vd_work *w, double penalty)
{
    struct mt_vd_pieces *p = &w->pieces;
    const struct mt_vd_floor *f = &w->floor;
    unsigned *start = w->index, n = 0;

    best_cuts(w, penalty, start);
    for (unsigned to = f->n; to > 0; to = start[to])
        n++;
    p->n = n;
    p->first[n] = f->n;
    for (unsigned to = f->n; to > 0; to = start[to])
        p->first[--n] = start[to];
    for (unsigned k = 0; k < p->n; k++) {
        double sum = 0;

        for (unsigned i = p->first[k]; i < p->first[k + 1]; i++)
            sum += f->y[i];
        p->level[k] = sum / (p->first[k + 1] - p->first[k]);
    }
}
