/* SPDX-License-Identifier: MIT */
/* read/verdict: a high start that ends.
 * In: a life and its floor. Out: the life from the end of that start on, or as it was.
 * Called by opinion.c where nothing seems to grow: what is given back once, after a level start,
 * is no fall of what grows after it. Must not take a ramp that drops for such a start. */
#include <math.h>

#include "read/verdict/parts.h"

#define LONGEST 0.5      /* of the floor's points */
#define LEVEL 0.25       /* of the fall: so near to the top … */
#define MOST_LEVEL 0.7   /* … are so many of the points before it */
#define CLEAR_FALL 0.5   /* of the highest less the lowest point */
#define SAME_RISE 0.5    /* a start that rises by this part of the later rate is a ramp */
#define FEWEST_POINTS 10 /* of the floor behind it */

/* The point behind the largest fall of two points: a block may hold its moment. 0 = none. */
static unsigned behind_fall(const struct mt_vd_floor *f)
{
    unsigned at = 0, last = (unsigned)(f->n * LONGEST);
    double fall = 0, low = f->y[0], high = low;

    for (unsigned i = 0; i < f->n; i++) {
        low = fmin(low, f->y[i]);
        high = fmax(high, f->y[i]);
        if (i > 1 && i <= last && f->y[i - 2] - f->y[i] > fall) {
            fall = f->y[i - 2] - f->y[i];
            at = i;
        }
    }
    return fall >= CLEAR_FALL * (high - low) && at + FEWEST_POINTS <= f->n ? at : 0;
}

/* Was it level before point `at`, and did it not rise as it does later? */
static bool was_level(const struct mt_vd_floor *f, unsigned at)
{
    unsigned head = at - 1, near = 0, first = 0;
    double top = f->y[0], fall, rate;

    for (unsigned i = 1; i < head; i++)
        top = fmax(top, f->y[i]);
    fall = top - f->y[at];
    for (unsigned i = head; i-- > 0;)
        if (f->y[i] >= top - LEVEL * fall) {
            near++;
            first = i;
        }
    rate = (f->y[f->n - 1] - f->y[at]) / fmax(f->t[f->n - 1] - f->t[at], 1e-9);
    return near >= MOST_LEVEL * head &&
           f->y[head - 1] - f->y[first] <= SAME_RISE * rate * (f->t[head - 1] - f->t[first]);
}

bool mt_vd_skip_high_start(struct mt_vd_work *w)
{
    struct mt_vd_life *life = &w->life;
    unsigned at = w->floor.n > FEWEST_POINTS ? behind_fall(&w->floor) : 0;
    size_t skip = 0;

    if (at == 0 || !was_level(&w->floor, at))
        return false;
    while (skip < life->n && life->t[skip] < w->floor.t[at])
        skip++;
    life->t += skip;
    life->v += skip;
    life->n -= skip;
    return true;
}
