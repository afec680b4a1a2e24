/* SPDX-License-Identifier: MIT */
/* read/verdict: where exactly the steps are.
 * In: the steps as the floor's points show them, and the life at full resolution. Out: the two
 * samples between which each step happened.
 * Called by verdict.c; must not find new steps. */
#include <math.h>

#include "read/verdict/parts.h"

#define ONE_STEP 0.2    /* of the usual interval */
#define LEAST_SHARE 0.3 /* of the middle step */
#define CLEAR_RISE 0.6  /* of the step, in one sample: that sample is the step … */
#define TOUCH 0.3       /* of the step above the upper level: that level is seen */
#define SECOND_RISE 0.6 /* … when no other rises more than this share of it */

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

/* The sample in [from, to] that rises most; 0 when it does not stand out like a step of `bytes`. */
static size_t clear_rise(const struct mt_vd_life *life, size_t from, size_t to, double bytes)
{
    double most = 0, second = 0;
    size_t best = 0;

    for (size_t i = from; i <= to; i++) {
        double rise = life->v[i] - life->v[i - 1];

        if (rise > most) {
            second = most;
            most = rise;
            best = i;
        } else if (rise > second) {
            second = rise;
        }
    }
    return most >= CLEAR_RISE * bytes && second < SECOND_RISE * most ? best : 0;
}

/* Where waves lie on the levels: after the last sample that is still near the lower one, not
 * after the first one near the upper, and where one sample rises like the step there. Returns the first sample that may be
 * after the step; *to is the last. */
static size_t first_held(const struct mt_vd_life *life, size_t from, size_t *to, double below,
                         double bytes)
{
    size_t held = from + 1, rise;

    for (size_t i = from; i < *to; i++)
        if (life->v[i] < below + bytes / 2)
            held = i + 1;
    for (size_t i = held; i < *to; i++)
        if (life->v[i] < below + (1 + TOUCH) * bytes)
            *to = i;
    rise = clear_rise(life, held, *to, bytes);
    if (rise == 0)
        return held;
    *to = rise;
    return rise;
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
        first = first_held(life, from, &to, s->at[k].below, s->at[k].bytes);
    } else {
        first = best_cut(life, from, to, s->at[k].below, s->at[k].above);
        to = first;
    }
    s->at[k].before_s = life->t[first - 1];
    s->at[k].after_s = life->t[to];
}

/* A step that is taken in a few goes: what lies far closer together than steps usually do is one
 * step, and it is where the rise begins. */
static void gather_goes(struct mt_vd_stairs *s)
{
    while (s->n > 2) {
        double usual = (s->at[s->n - 1].before_s - s->at[0].before_s) / (s->n - 1);
        double closest = INFINITY;
        unsigned at = 0;

        for (unsigned k = 1; k < s->n; k++) {
            double apart = s->at[k].before_s - s->at[k - 1].before_s;

            if (apart < closest) {
                closest = apart;
                at = k;
            }
        }
        if (at == 0 || closest > ONE_STEP * usual)
            return;
        s->at[at - 1].bytes += s->at[at].bytes;
        s->at[at - 1].above = s->at[at].above;
        for (s->n--; at < s->n; at++)
            s->at[at] = s->at[at + 1];
    }
}

/* What remains small beside the gathered steps was not one of them. */
static void drop_small(struct mt_vd_work *w)
{
    struct mt_vd_stairs *s = &w->stairs;
    unsigned n = 0;
    double usual;

    for (unsigned k = 0; k < s->n; k++)
        w->scratch[k] = s->at[k].bytes;
    usual = mt_vd_median(w->scratch, s->n);
    for (unsigned k = 0; k < s->n; k++)
        if (s->at[k].bytes >= LEAST_SHARE * usual)
            s->at[n++] = s->at[k];
    s->n = n;
}

void mt_vd_place_steps(struct mt_vd_work *w)
{
    gather_goes(&w->stairs);
    drop_small(w);
    for (unsigned k = 0; k < w->stairs.n; k++)
        place(w, k);
}
