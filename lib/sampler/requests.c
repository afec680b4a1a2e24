/* SPDX-License-Identifier: MIT */
/* sampler: what the host asked for, carried from the shared part to the stages.
 * In: marks, types, counters and claims under the tracer's lock. Out: rows and claims.
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

static int record_types(struct tracer *t)
{
    struct mt_work *w = t->work;
    struct mt_user_type type;
    uint32_t id;

    while (take_type(t, &type, &id)) {
        int error = mt_recorder_type(w->recorder, id, type.name, type.description);

        if (error)
            return error;
        w->levels[0].present |= UINT64_C(1) << id;
        w->levels[1].present |= UINT64_C(1) << id;
        w->n_types++;
        mt_os_lock_acquire(t->lock);
        t->n_types_recorded++;
        mt_os_lock_release(t->lock);
    }
    return TRACER_OK;
}

int mt_requests_record(struct tracer *t)
{
    struct mt_work *w = t->work;
    int error = record_types(t);

    while (!error && !mt_requests_want_commit(t) && take_mark(t, &w->marks[w->n_marks])) {
        const struct mt_mark *m = &w->marks[w->n_marks];

        error = mt_recorder_mark(w->recorder, m->t_ns, m->wall_ns, m->tid, m->label);
        if (error)
            break;
        drop_mark(t);
        w->n_marks++;
    }
    return error;
}

bool mt_requests_want_commit(const struct tracer *t)
{
    return t->work->n_marks == MT_MARKS_CAPACITY;
}

void mt_requests_committed(struct tracer *t)
{
    t->work->n_marks = 0;
    t->work->n_types = 0;
}

/* The oldest go first; those for which the queue has no room any more are lost, and counted. */
void mt_requests_rolled_back(struct tracer *t)
{
    struct mt_work *w = t->work;
    uint32_t room;

    mt_os_lock_acquire(t->lock);
    room = MT_MARKS_CAPACITY - t->n_marks;
    if (w->n_marks > room) {
        t->stats.n_dropped += w->n_marks - room;
        w->n_marks = room;
    }
    memmove(&t->marks[w->n_marks], &t->marks[0], t->n_marks * sizeof(t->marks[0]));
    memcpy(&t->marks[0], &w->marks[0], w->n_marks * sizeof(t->marks[0]));
    t->n_marks += w->n_marks;
    t->n_types_recorded -= w->n_types;
    mt_os_lock_release(t->lock);
    mt_requests_committed(t);
}

void mt_requests_count(struct tracer *t)
{
    struct mt_counters *now = &t->work->counters[t->work->now];

    mt_os_lock_acquire(t->lock);
    for (uint32_t i = 0; i < t->n_counters; i++)
        now->value[MT_COUNTER_USER_FIRST + i] = t->host_counters.value[MT_COUNTER_USER_FIRST + i];
    now->known |= t->host_counters.known;
    mt_os_lock_release(t->lock);
}

void mt_requests_claim(struct tracer *t)
{
    struct mt_work *w = t->work;

    mt_os_lock_acquire(t->lock);
    w->claims_number = t->claims_number;
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
