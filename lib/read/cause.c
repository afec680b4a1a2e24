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

/* Parts of the life over which a level is looked for: the allocator's counters are read ten times
 * less often, and in the midst of work. */
#define PARTS_FOR_LEVELS 16
#define PARTS_FOR_COUNTERS 8

/* From the last point not after the onset (the first one, where the newest life began later) one
 * of `n_parts` of the life, and its last one, less its very end: a program that ends gives back
 * what it held. */
static struct mt_series_span span_from(const struct mt_series *s, int64_t onset_ns, size_t n_parts)
{
    const struct mt_series_life *life = &s->lives[s->n_lives - 1];
    size_t low = life->first_slot, high = life->end_slot, head;
    size_t part = (high - low) / n_parts, last = (high - low) / 64;
    const struct mt_series_slot *at;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (s->t_ns[middle * s->per_slot] <= onset_ns)
            low = middle;
        else
            high = middle;
    }
    at = &s->slots[low];
    head = low + part < life->end_slot ? low + part : life->end_slot - 1;
    return (struct mt_series_span){
        .run = life->run,
        .onset = s->t_ns[low * s->per_slot + s->per_slot - 1] <= onset_ns ? at->last : at->first,
        .head = s->slots[head].first,
        .tail = s->slots[life->end_slot - part - 1].first,
        .end = s->slots[life->end_slot - last - 1].last};
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

static int find_growth(struct mt_judging *j, unsigned k, int64_t *out_shareable)
{
    tracer_type_verdict *t = &j->out->types[k];
    struct mt_series_span span = span_from(j->s, t->onset_wall_ns, PARTS_FOR_LEVELS);
    int64_t grew[MT_SERIES_COLUMNS];
    int error = mt_series_grew(j->r, &span, j->s->types[k].id, grew);

    if (error)
        return error;
    t->grew_committed = grew[MT_SERIES_COMMITTED];
    t->grew_size = grew[MT_SERIES_SIZE];
    t->grew_huge = grew[MT_SERIES_HUGE];
    t->grew_lazy_free = grew[MT_SERIES_LAZY_FREE];
    t->grew_blocks = grew[MT_SERIES_BLOCKS];
    *out_shareable = grew[MT_SERIES_WS_SHAREABLE];
    span = span_from(j->s, t->onset_wall_ns, PARTS_FOR_COUNTERS);
    error = mt_series_counter_grew(j->r, &span, COUNTER_HEAP_IN_USE, false, &t->grew_in_use);
    if (!error)
        error = mt_series_counter_grew(j->r, &span, COUNTER_HEAP_FREE, true, &t->grew_free);
    if (!error)
        error = mt_series_counter_grew(j->r, &span, COUNTER_THREADS, false, &t->grew_threads);
    return error;
}

int mt_judging_cause(struct mt_judging *j, unsigned k)
{
    tracer_type_verdict *t = &j->out->types[k];
    int64_t shareable = TRACER_UNKNOWN;
    int error;

    t->grew_committed = t->grew_size = t->grew_huge = t->grew_lazy_free = TRACER_UNKNOWN;
    t->grew_blocks = t->grew_in_use = t->grew_free = t->grew_threads = TRACER_UNKNOWN;
    if (!t->growing)
        return TRACER_OK;
    error = find_growth(j, k, &shareable);
    if (error)
        return error;
    t->cause = cause_of(t, shareable);
    t->leak = t->cause != TRACER_CAUSE_FILE && t->cause != TRACER_CAUSE_RETENTION &&
              t->cause != TRACER_CAUSE_LAZY_FREE;
    return TRACER_OK;
}
