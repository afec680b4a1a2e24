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
#define BINS 256
#define BINS_BELOW 16
#define BINS_A_STEP 8
#define EVIDENCE 0.5    /* of a sample: neighbours are alike */
#define LIKELY 3.0      /* e-folds below the likeliest */
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

static unsigned bin_of(const struct mt_vd_stairs *s, double height)
{
    double b = BINS_BELOW + height / s->typical * BINS_A_STEP;

    return b < 0 ? 0 : b >= BINS ? BINS - 1 : (unsigned)b;
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

/* How far above its level memory lies, over all plateaus: the logarithm of the share by bins. */
static void learn_heights(struct mt_vd_work *w, double *out)
{
    const struct mt_vd_life *life = &w->life;
    const struct mt_vd_stairs *s = &w->stairs;
    double sum = 0;

    for (unsigned b = 0; b < BINS; b++)
        out[b] = 0;
    for (unsigned k = 0; k <= s->n; k++) {
        size_t from = k > 0 ? sample_at(life, s->at[k - 1].after_s) : 0;
        size_t to = k < s->n ? sample_at(life, s->at[k].before_s) : life->n;
        double level = k < s->n ? s->at[k].below : s->at[k - 1].above;

        for (size_t i = from; i < to; i++)
            out[bin_of(s, life->v[i] - level)] += 1;
        sum += to > from ? to - from : 0;
    }
    for (unsigned b = 0; b < BINS; b++)
        out[b] = log((out[b] + 0.2) / (sum + 0.2 * BINS));
}

/* Where waves lie on the levels: heights above the level are alike before and after the step, so
 * each sample speaks for one side of it. Returns the middle of all cuts by how likely they are;
 * *from and *to become the first and last likely ones. */
static size_t likely_cut(const struct mt_vd_work *w, unsigned k, const double *heights,
                         size_t *from, size_t *to)
{
    const struct mt_vd_life *life = &w->life;
    const struct mt_vd_stairs *s = &w->stairs;
    double sum = 0, best = -INFINITY, weights = 0, mean = 0;
    size_t first = *to, last = *from + 1;

    for (unsigned pass = 0; pass < 2; pass++) {
        sum = 0;
        for (size_t i = *from; i < *to; i++) {
            sum += EVIDENCE * (heights[bin_of(s, life->v[i] - s->at[k].below)] -
                               heights[bin_of(s, life->v[i] - s->at[k].above)]);
            if (pass == 0) {
                best = fmax(best, sum);
                continue;
            }
            weights += exp(sum - best);
            mean += exp(sum - best) * (double)(i + 1);
            if (sum > best - LIKELY) {
                first = i + 1 < first ? i + 1 : first;
                last = i + 1;
            }
        }
    }
    *from = first;
    *to = last;
    return (size_t)(mean / weights + 0.5);
}

/* The window in which step k must lie: between its neighbours. */
static void window(const struct mt_vd_work *w, unsigned k, size_t *from, size_t *to)
{
    const struct mt_vd_life *life = &w->life;
    const struct mt_vd_stairs *s = &w->stairs;
    size_t margin = w->floor.waves ? w->floor.width : 2 * (size_t)w->floor.width;
    size_t low = k > 0 ? sample_at(life, s->at[k - 1].after_s) : 0;
    size_t high = k + 1 < s->n ? sample_at(life, s->at[k + 1].before_s) : life->n - 1;
    size_t before = sample_at(life, s->at[k].before_s), after = sample_at(life, s->at[k].after_s);

    *from = before > low + margin ? before - margin : low < before ? low : before;
    *to = after + margin < high ? after + margin : high > after ? high : after;
}

static void place(struct mt_vd_work *w, unsigned k, const double *heights)
{
    const struct mt_vd_life *life = &w->life;
    struct mt_vd_stairs *s = &w->stairs;
    size_t from, to, cut;

    window(w, k, &from, &to);
    if (to <= from)
        return;
    if (w->floor.waves) {
        size_t rise;

        cut = likely_cut(w, k, heights, &from, &to);
        rise = clear_rise(life, from, to, s->at[k].bytes);
        if (rise > 0)
            cut = from = to = rise;
    } else {
        cut = from = to = best_cut(life, from, to, s->at[k].below, s->at[k].above);
    }
    s->at[k].before_s = life->t[from - 1];
    s->at[k].after_s = life->t[to];
    s->at[k].at_s = (life->t[cut - 1] + life->t[cut]) / 2;
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
    double heights[BINS];

    gather_goes(&w->stairs);
    drop_small(w);
    if (w->floor.waves)
        learn_heights(w, heights);
    for (unsigned k = 0; k < w->stairs.n; k++)
        place(w, k, heights);
}
