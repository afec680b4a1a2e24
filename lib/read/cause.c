/* SPDX-License-Identifier: MIT */
/* read: why does a type grow?
 * In: the verdict on a type, and the other columns and counters of the file over the same time.
 * Out: a cause, and whether it is a leak of the program's.
 * Called by reader_verdict.c. Must not judge the shape. */
#include <string.h>

#include "read/judging.h"

#define COUNTER_THREADS 7
#define COUNTER_HEAP_IN_USE 20
#define COUNTER_HEAP_FREE 21
#define MOST_REGIONS_QUIET 64 /* more new regions are worth their own word */

int64_t mt_judging_growth(const struct mt_series *s, const int64_t *values, int64_t onset_ns)
{
    const struct mt_series_life *life = &s->lives[s->n_lives - 1];
    size_t from = life->first_slot * s->per_slot, end = life->end_slot * s->per_slot;
    size_t tail = (end - from) / 16 + 1;
    int64_t base = TRACER_UNKNOWN, last = TRACER_UNKNOWN;

    for (size_t i = from; i < end && (base == TRACER_UNKNOWN || s->t_ns[i] <= onset_ns); i++)
        if (values[i] != MT_VERDICT_UNKNOWN)
            base = values[i];
    for (size_t i = end - tail; i < end; i++)
        if (values[i] != MT_VERDICT_UNKNOWN && (last == TRACER_UNKNOWN || values[i] < last))
            last = values[i];
    return base == TRACER_UNKNOWN || last == TRACER_UNKNOWN ? TRACER_UNKNOWN : last - base;
}

static int grew(struct mt_judging *j, enum mt_series_of of, int64_t type, int64_t onset_ns,
                int64_t *out)
{
    int error = mt_series_load(j->r, j->s, of, type, j->column);

    if (!error)
        *out = mt_judging_growth(j->s, j->column, onset_ns);
    return error;
}

/* Known, and at least (or at most) this share of the growth. */
static bool most_of(int64_t part, int64_t all, double share)
{
    return part != TRACER_UNKNOWN && (double)part >= share * (double)all;
}

static bool little_of(int64_t part, int64_t all, double share)
{
    return part != TRACER_UNKNOWN && (double)part <= share * (double)all;
}

/* Pages of programs and libraries come in as they are used, written ones too, and are bounded by
 * what is mapped. */
static bool is_file(const tracer_type_verdict *t, int64_t grew_shareable)
{
    if (!strcmp(t->type, "image"))
        return true;
    return !strcmp(t->type, "mapped_file") && !little_of(grew_shareable, t->kept_bytes, 0.5);
}

static bool is_huge(const tracer_type_verdict *t)
{
    if (!most_of(t->grew_huge, t->kept_bytes, 0.6))
        return false;
    if (t->grew_in_use != TRACER_UNKNOWN && !strcmp(t->type, "heap"))
        return little_of(t->grew_in_use, t->kept_bytes, 0.4);
    return little_of(t->grew_committed, t->kept_bytes, 0.2);
}

static uint32_t cause_of_held(const tracer_type_verdict *t, int64_t grew_shareable)
{
    if (is_file(t, grew_shareable))
        return TRACER_CAUSE_FILE;
    if (most_of(t->grew_lazy_free, t->kept_bytes, 0.6))
        return TRACER_CAUSE_LAZY_FREE;
    if (is_huge(t))
        return TRACER_CAUSE_HUGE_PAGES;
    if (!strcmp(t->type, "heap") && most_of(t->grew_free, t->kept_bytes, 0.5) &&
        little_of(t->grew_in_use, t->kept_bytes, 0.3))
        return TRACER_CAUSE_RETENTION;
    return TRACER_CAUSE_LIVE;
}

static uint32_t cause_of(const tracer_type_verdict *t, int64_t grew_shareable)
{
    bool regions = t->grew_blocks != TRACER_UNKNOWN && t->grew_blocks >= MOST_REGIONS_QUIET;

    if (!strcmp(t->type, "stack") && t->grew_threads != TRACER_UNKNOWN && t->grew_threads <= 1)
        return TRACER_CAUSE_STACKS;
    if (t->measure == TRACER_MEASURE_SIZE)
        return regions ? TRACER_CAUSE_REGIONS : TRACER_CAUSE_RESERVATION;
    return cause_of_held(t, grew_shareable);
}

int mt_judging_cause(struct mt_judging *j, unsigned k)
{
    tracer_type_verdict *t = &j->out->types[k];
    int64_t shareable = TRACER_UNKNOWN;
    const struct {
        enum mt_series_of of;
        int64_t type;
        int64_t *out;
    } wanted[] = {
        {MT_SERIES_COMMITTED, j->s->types[k].id, &t->grew_committed},
        {MT_SERIES_SIZE, j->s->types[k].id, &t->grew_size},
        {MT_SERIES_HUGE, j->s->types[k].id, &t->grew_huge},
        {MT_SERIES_LAZY_FREE, j->s->types[k].id, &t->grew_lazy_free},
        {MT_SERIES_BLOCKS, j->s->types[k].id, &t->grew_blocks},
        {MT_SERIES_WS_SHAREABLE, j->s->types[k].id, &shareable},
        {MT_SERIES_COUNTER, COUNTER_HEAP_IN_USE, &t->grew_in_use},
        {MT_SERIES_COUNTER, COUNTER_HEAP_FREE, &t->grew_free},
        {MT_SERIES_COUNTER, COUNTER_THREADS, &t->grew_threads},
    };
    int error = TRACER_OK;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && !error; i++)
        error = grew(j, wanted[i].of, wanted[i].type, t->onset_wall_ns, wanted[i].out);
    if (error || !t->growing)
        return error;
    t->cause = cause_of(t, shareable);
    t->leak = t->cause != TRACER_CAUSE_FILE && t->cause != TRACER_CAUSE_RETENTION &&
              t->cause != TRACER_CAUSE_LAZY_FREE;
    return TRACER_OK;
}
