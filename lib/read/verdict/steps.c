/* SPDX-License-Identifier: MIT */
/* read/verdict: where exactly the steps are.
 * In: the steps as the floor's points show them, and the life at full resolution. Out: the two
 * samples between which each step happened.
 * Called by verdict.c; must not add or drop a step. */
#include <math.h>

#include "read/verdict/parts.h"

#define CLEAR_RISE 0.5 /* of the step, in one sample: that sample is the step */

/* The first sample not before `t`. */
static size_t sample_at(const struct mt_vd_life *life, double t)
{
    size_t low = 0, high = life->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (life->t[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    return low < life->n ? low : life->n - 1;
}

/* Where noise alone lies on the levels: the cut that leaves least squared distance to both. */
static size_t best_cut(const struct mt_vd_life *life, size_t from, size_t to, double below,
                       double above)
{
    double cost = 0, best = INFINITY, far = pow(above - below, 2);
    size_t cut = from + 1;

    for (size_t i = from; i < to; i++) {
        cost += fmin(pow(life->v[i] - below, 2), far) - fmin(pow(life->v[i] - above, 2), far);
        if (cost < best) {
            best = cost;
            cut = i + 1;
        }
    }
    return cut;
}

/* Where waves lie on the levels: after the last sample that is still near the lower one, and then
 * at the sample that rises like the step, if there is one. Returns the first sample that may be
 * after the step; *out_end the last. */
static size_t first_held(const struct mt_vd_life *life, size_t from, size_t to, double below,
                         double bytes, size_t *out_end)
{
    size_t held = from + 1, best;

    for (size_t i = from; i < to; i++)
        if (life->v[i] < below + bytes / 2)
            held = i + 1;
    if (held > to)
        held = to;
    best = held;
    for (size_t i = held; i <= to; i++)
        if (life->v[i] - life->v[i - 1] > life->v[best] - life->v[best - 1])
            best = i;
    if (life->v[best] - life->v[best - 1] >= CLEAR_RISE * bytes) {
        *out_end = best;
        return best;
    }
    *out_end = to;
    return held;
}

static void place(struct mt_vd_work *w, unsigned k)
{
    const struct mt_vd_life *life = &w->life;
    struct mt_vd_stairs *s = &w->stairs;
    size_t from = sample_at(life, s->at[k].before_s), to = sample_at(life, s->at[k].after_s), first;
    size_t margin = w->floor.waves ? 0 : 2 * (size_t)w->floor.width;
    size_t low = k > 0 ? sample_at(life, s->at[k - 1].after_s) : 0;
    size_t high = k + 1 < s->n ? sample_at(life, s->at[k + 1].before_s) : life->n - 1;

    from = from > low + margin ? from - margin : low < from ? low : from;
    to = to + margin < high ? to + margin : high > to ? high : to;
    if (to <= from)
        return;
    if (w->floor.waves) {
        first = first_held(life, from, to, s->at[k].below, s->at[k].bytes, &to);
    } else {
        first = best_cut(life, from, to, s->at[k].below, s->at[k].above);
        to = first;
    }
    s->at[k].before_s = life->t[first - 1];
    s->at[k].after_s = life->t[to];
}

void mt_vd_place_steps(struct mt_vd_work *w)
{
    for (unsigned k = 0; k < w->stairs.n; k++)
        place(w, k);
}
