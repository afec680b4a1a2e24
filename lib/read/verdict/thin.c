/* SPDX-License-Identifier: MIT */
/* read/verdict: the first stage, a life made small.
 * In: one type of one life at full resolution. Out: the same with torn reads repaired, and at most
 * MT_VD_THIN bins with the least and the middle value of each.
 * Called by verdict.c; must not lose a bin's least value, because it is what was retained. */
#include <math.h>

#include "read/verdict/parts.h"

#define TORN_BELOW 0.7  /* of both neighbours: real memory hardly falls so far for one sample */
#define STARTING 0.95   /* of the usual level: still starting */
#define TORN_STEPS 10   /* usual changes between samples */
#define AROUND 4        /* bins to each side */
#define BURST 12        /* middle distances from what lies around */
#define TORN_SHARE 0.01 /* more of them are a pattern, not accidents */

static double lower_neighbour(const struct mt_vd_life *life, size_t i)
{
    const double *v = life->v;
    double before = i > 0 ? v[i - 1] : v[i + 1];
    double after = i + 1 < life->n ? v[i + 1] : v[i - 1];

    return before < after ? before : after;
}

/* Far below both neighbours, which agree; or below what memory falls to for one sample. */
static bool is_torn(const struct mt_vd_life *life, size_t i, double usual)
{
    double low = lower_neighbour(life, i), depth = low - life->v[i];

    if (life->v[i] < TORN_BELOW * low)
        return true;
    return i > 0 && i + 1 < life->n && depth > TORN_STEPS * usual &&
           depth > 3 * fabs(life->v[i + 1] - life->v[i - 1]) && depth > 4 * life->page;
}

/* The middle change from sample to sample, from at most as many of them as there are bins. */
static double usual_change(struct mt_vd_work *w)
{
    const struct mt_vd_life *life = &w->life;
    size_t stride = 1 + (life->n - 2) / MT_VD_THIN, m = 0;

    for (size_t i = 1; i < life->n; i += stride)
        w->scratch[m++] = fabs(life->v[i] - life->v[i - 1]);
    return mt_vd_median(w->scratch, m);
}

/* A torn or failed read is a single sample far too low. It would be taken for the floor, which
 * all later stages stand on. */
void mt_vd_repair(struct mt_vd_work *w)
{
    struct mt_vd_life *life = &w->life;
    size_t torn = 0;
    double usual;

    if (life->n < 3)
        return;
    usual = usual_change(w);
    for (size_t i = 0; i < life->n; i++)
        torn += is_torn(life, i, usual);
    if ((double)torn > 3 + TORN_SHARE * (double)life->n)
        return;
    for (size_t i = 0; i < life->n; i++)
        if (is_torn(life, i, usual))
            life->v[i] = lower_neighbour(life, i);
}

/* A new process life begins with an address space that is still being filled: what it lacks for
 * its first few samples is no floor. */
void mt_vd_skip_start(struct mt_vd_work *w)
{
    struct mt_vd_life *life = &w->life;
    size_t most = 3 + life->n / 50, head = life->n < 12 ? life->n : 12, skip = 0;
    double usual;

    if (!life->restarted || life->n < 12)
        return;
    for (size_t i = 0; i < head; i++)
        w->scratch[i] = life->v[i];
    usual = mt_vd_median(w->scratch, head);
    while (skip < most && life->v[skip] < STARTING * usual)
        skip++;
    life->t += skip;
    life->v += skip;
    life->n -= skip;
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

/* The middle of the bins around bin i, as many before it as after it. */
static double around(const struct mt_vd_thin *thin, unsigned i)
{
    unsigned side = i < thin->n - 1 - i ? i : thin->n - 1 - i;
    double v[2 * AROUND + 1];

    side = side < AROUND ? side : AROUND;
    for (unsigned k = 0; k <= 2 * side; k++)
        v[k] = thin->middle[i - side + k];
    return mt_vd_median(v, 2 * side + 1);
}

/* Short bursts are far above what lies around them; steps and slopes are not, because the middle
 * of a window that never falls is its own centre. */
static void calm_down(struct mt_vd_work *w)
{
    struct mt_vd_thin *thin = &w->thin;
    double usual;

    for (unsigned i = 0; i < thin->n; i++) {
        thin->calm[i] = around(thin, i);
        w->scratch[i] = fabs(thin->middle[i] - thin->calm[i]);
    }
    usual = fmax(mt_vd_median(w->scratch, thin->n), w->life.page / 4);
    for (unsigned i = 0; i < thin->n; i++)
        if (thin->middle[i] <= thin->calm[i] + BURST * usual)
            thin->calm[i] = thin->middle[i];
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
    calm_down(w);
    thin->swing = high - low;
    thin->end_s = life->t[life->n - 1];
}
