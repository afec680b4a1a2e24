/* SPDX-License-Identifier: MIT */
/* sampler: what the host asked for, carried from the shared part to the stages.
 * In: marks, types and claims under the tracer's lock. Out: rows and claims.
 * Called by sampler.c and tick.c. The lock is held for copies only, never over a row. */
#include "sampler/sampler.h"

#include <string.h>

#include "sampler/stages.h"

static bool take_mark(struct tracer *t, struct mt_mark *out)
{
    bool any;

    mt_os_lock_acquire(t->lock);
    any = t->n_marks > 0;
    if (any)
        *out = t->marks[0];
    mt_os_lock_release(t->lock);
    return any;
}

/* Only a mark that is in the file leaves the queue. */
static void drop_mark(struct tracer *t)
{
    mt_os_lock_acquire(t->lock);
    t->n_marks--;
    memmove(&t->marks[0], &t->marks[1], t->n_marks * sizeof(t->marks[0]));
    mt_os_lock_release(t->lock);
}

static bool take_type(struct tracer *t, struct mt_user_type *out, uint32_t *out_id)
{
    bool any;

    mt_os_lock_acquire(t->lock);
    any = t->n_types_recorded < t->n_types;
    if (any) {
        *out = t->types[t->n_types_recorded];
        *out_id = MT_TYPE_USER_FIRST + t->n_types_recorded;
    }
    mt_os_lock_release(t->lock);
    return any;
}

int mt_requests_record(struct tracer *t)
{
    struct mt_user_type type;
    struct mt_mark mark;
    uint32_t id;
    int error;

    while (take_type(t, &type, &id)) {
        error = mt_recorder_type(t->work->recorder, id, type.name, type.description);
        if (error)
            return error;
        t->work->levels[0].present |= UINT64_C(1) << id;
        t->work->levels[1].present |= UINT64_C(1) << id;
        mt_os_lock_acquire(t->lock);
        t->n_types_recorded++;
        mt_os_lock_release(t->lock);
    }
    while (take_mark(t, &mark)) {
        error = mt_recorder_mark(t->work->recorder, mark.t_ns, mark.wall_ns, mark.tid, mark.label);
        if (error)
            return error;
        drop_mark(t);
    }
    return TRACER_OK;
}

void mt_requests_claim(struct tracer *t)
{
    struct mt_work *w = t->work;

    mt_os_lock_acquire(t->lock);
    for (uint32_t i = 0; i < t->n_claims; i++) {
        const struct mt_user_claim *c = &t->claims[i];

        mt_claim_add(
            &w->claims[w->now],
            &(struct mt_claim){.base = c->base,
                               .end = c->end,
                               .type = (uint8_t)c->type,
                               .owner = mt_strings_add(w->strings, c->label, strlen(c->label)),
                               .flags = MT_CLAIM_APART,
                               .rank = MT_RANK_USER,
                               .confidence = MT_CONFIDENCE_A});
    }
    mt_os_lock_release(t->lock);
}
