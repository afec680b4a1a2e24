/* SPDX-License-Identifier: MIT */
/* read: what speaks against a verdict that is already there.
 * In: the verdict on a type, what it held, its slope over the last half. Out: the verdict amended:
 * no reservation where held memory grew as well, no growth that goes on where it fell lately.
 * Called by reader_verdict.c. Must not find growth. */
#include "read/judging.h"

#define MOST_FALL 0.25 /* of the growth, in the last half of what grows on */

void mt_judging_no_reservation(tracer_type_verdict *t)
{
    if (t->cause == TRACER_CAUSE_RESERVATION && t->grew_held != TRACER_UNKNOWN &&
        t->grew_held > t->kept_bytes / 2)
        t->cause = TRACER_CAUSE_LIVE;
}

/* What is held beside the address space, where that is what is judged. A growth of both is no
 * reservation. */
int mt_judging_held(struct mt_judging *j, unsigned k, uint32_t measure)
{
    tracer_type_verdict *t = &j->out->types[k], held = *t;
    int error = TRACER_OK;

    if (measure == TRACER_MEASURE_SIZE) {
        error =
            mt_series_load(j->r, j->s, j->s->types[k].id, TRACER_MEASURE_HELD, j->sizes[k], NULL);
        mt_judging_ends(j->s, j->sizes[k], &held);
    }
    t->held_last_bytes = t->grew_held = TRACER_UNKNOWN;
    if (error || measure == TRACER_MEASURE_COMMITTED || held.last_bytes == TRACER_UNKNOWN)
        return error;
    t->held_last_bytes = held.last_bytes;
    t->grew_held = held.last_bytes - held.first_bytes;
    mt_judging_no_reservation(t);
    return TRACER_OK;
}

/* What falls in the last half does not grow on: by little it is noise, by much nobody knows yet. */
bool mt_judging_weigh_late(const struct mt_judging *j, unsigned k)
{
    tracer_type_verdict *t = &j->out->types[k];
    double half_s = (double)(j->s->t_ns[j->s->n - 1] - j->s->t_ns[0]) / 2e9;

    if (!t->growing || t->late_bytes_per_s >= 0)
        return t->growing;
    if (t->shape == TRACER_SHAPE_PUNCTUATED ||
        -t->late_bytes_per_s * half_s <= MOST_FALL * (double)t->kept_bytes) {
        t->late_bytes_per_s = 0;
        return true;
    }
    t->shape = TRACER_SHAPE_TOO_SHORT;
    t->likely = TRACER_SHAPE_WARMUP;
    t->needed_ns = j->s->t_ns[j->s->n - 1] - j->s->t_ns[0];
    t->growing = t->leak = 0;
    t->cause = TRACER_CAUSE_NONE;
    t->onset_wall_ns = t->onset_t_ns = t->kept_bytes = 0;
    t->bytes_per_s = 0;
    return false;
}
