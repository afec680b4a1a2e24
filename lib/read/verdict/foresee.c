/* SPDX-License-Identifier: MIT */
/* read/verdict: until when?
 * In: the level of every type at the end, and the growth of those that leak. Out: the time when
 * their sum reaches the limit.
 * Called by verdict.c; must not look further than a hundred times what was seen. */
#include <math.h>

#include "read/verdict/blame.h"
#include "read/verdict/parts.h"

#define FARTHEST 100.0

/* What a leaking type gains from now to `s` seconds later. */
static double gain(const struct mt_vd_opinion *o, const struct mt_verdict_type *type, double s)
{
    double past = fmax(o->life_s, 1e-9);

    if (!type->leak)
        return 0;
    if (type->shape == MT_VERDICT_FRAGMENTATION)
        return o->kept * (pow(1 + s / past, o->power) - 1);
    if (type->shape == MT_VERDICT_EXPONENTIAL)
        return o->kept * (exp(fmin(o->folds * s / past, 300)) - 1) / (1 - exp(-o->folds));
    return type->bytes_per_s * s;
}

static double sum_at(const struct mt_vd_opinion *last, const struct mt_verdict *v, double s)
{
    double sum = 0;

    for (unsigned k = 0; k < v->n_types; k++)
        sum += last[k].level + gain(&last[k], &v->types[k], s);
    return sum;
}

void mt_vd_foresee(const struct mt_verdict_input *in, const struct mt_vd_opinion *last,
                   struct mt_verdict *v)
{
    int64_t end_ns = in->t_ns[in->n - 1];
    double low = 0, high = FARTHEST * fmax(last[v->type].life_s, 1e-9);
    double limit = (double)in->limit_bytes;

    if (sum_at(last, v, high) < limit)
        return;
    for (unsigned i = 0; i < 60; i++) {
        double s = (low + high) / 2;

        if (sum_at(last, v, s) < limit)
            low = s;
        else
            high = s;
    }
    v->exhaustion_ns = end_ns + (int64_t)(high * 1e9);
}
