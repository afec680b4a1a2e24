/* SPDX-License-Identifier: MIT */
/* read/verdict: the first stage, a life made small.
 * In: one type of one life at full resolution. Out: the same with torn reads repaired, and at most
 * MT_VD_THIN bins with the least and the middle value of each.
 * Called by verdict.c; must not lose a bin's least value, because it is what was retained. */
#include <math.h>

#include "read/verdict/parts.h"

#define TORN_BELOW 0.7  /* of both neighbours: real memory hardly falls so far for one sample */
#define TORN_SHARE 0.02 /* more of them are a pattern, not accidents */

static double lower_neighbour(const struct mt_vd_life *life, size_t i)
{
    const double *v = life->v;
    double before = i > 0 ? v[i - 1] : v[i + 1];
    double after = i + 1 < life->n ? v[i + 1] : v[i - 1];

    return before < after ? before : after;
}

static bool is_torn(const struct mt_vd_life *life, size_t i)
{
    return life->v[i] < TORN_BELOW * lower_neighbour(life, i);
}

/* A torn or failed read is a single sample far too low. It would be taken for the floor, which
 * all later stages stand on. */
void mt_vd_repair(struct mt_vd_life *life)
{
    size_t torn = 0;

    if (life->n < 3)
        return;
    for (size_t i = 0; i < life->n; i++)
        torn += is_torn(life, i);
    if ((double)torn > 3 + TORN_SHARE * (double)life->n)
        return;
    for (size_t i = 0; i < life->n; i++)
        if (is_torn(life, i))
            life->v[i] = lower_neighbour(life, i);
}

static void fill_bin(struct mt_vd_work *w, size_t from, size_t to)
{
    struct mt_vd_thin *thin = &w->thin;
    const struct mt_vd_life *life = &w->life;
    size_t least = from, n = to - from, stride = 1 + (n - 1) / MT_VD_THIN, m = 0;

    for (size_t i = from; i < to; i++)
        if (life->v[i] < life->v[least])
            least = i;
    for (size_t i = from; i < to; i += stride)
        w->scratch[m++] = life->v[i];
    thin->t[thin->n] = life->t[least];
    thin->least[thin->n] = life->v[least];
    thin->middle[thin->n++] = mt_vd_median(w->scratch, m);
}

void mt_vd_thin_out(struct mt_vd_work *w)
{
    struct mt_vd_thin *thin = &w->thin;
    const struct mt_vd_life *life = &w->life;
    double low = life->v[0], high = life->v[0];

    thin->n = 0;
    thin->per_bin = (unsigned)(1 + (life->n - 1) / MT_VD_THIN);
    for (size_t from = 0; from < life->n; from += thin->per_bin) {
        size_t to = from + thin->per_bin;

        fill_bin(w, from, to < life->n ? to : life->n);
    }
    for (size_t i = 0; i < life->n; i++) {
        low = fmin(low, life->v[i]);
        high = fmax(high, life->v[i]);
    }
    thin->swing = high - low;
    thin->end_s = life->t[life->n - 1];
}
