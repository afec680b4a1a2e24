/* SPDX-License-Identifier: MIT */
/* sampler: opens and closes the stages. In: options. Out: struct mt_work, whose lists
 * have room for the system's limit, or where address space is short begin small and double.
 * Called by sampler.c in the sampler thread, at its start and end, and by observe.c to grow; but
 * for that nothing is allocated. The source comes first: a process that cannot be watched must not
 * leave a file. */
#include "sampler/stages.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "sampler/drain.h"
#include "sampler/sampler.h"

#define REGIONS_LEAST 1024u
#define REGIONS_USUAL 65536u
#define REGIONS_MOST 1048576u
#define STRINGS 131072u
#define STRING_BYTES (16u * 1024 * 1024)

/* What the lists are sized for when there are so many regions. */
static uint32_t claims_for(uint32_t regions)
{
    return regions * 2;
}

static uint32_t intervals_for(uint32_t regions)
{
    return regions * 2;
}

static uint32_t modules_for(uint32_t regions)
{
    return regions / 8;
}

static uint32_t threads_for(uint32_t regions)
{
    return regions / 2;
}

static int open_lists(struct mt_work *w, uint32_t regions)
{
    int error = mt_snapshot_init(&w->snapshot, w->strings, regions);

    for (unsigned i = 0; i < 2 && !error; i++) {
        error = mt_claim_set_init(&w->claims[i], claims_for(regions), modules_for(regions),
                                  threads_for(regions));
        if (!error)
            error = mt_interval_list_init(&w->intervals[i], intervals_for(regions));
    }
    if (!error)
        error = mt_change_list_init(&w->changes, intervals_for(regions));
    if (error)
        return error;
    w->sweep_scratch = mt_memory_alloc(claims_for(regions) * 2 * sizeof(*w->sweep_scratch));
    w->ended_modules = mt_memory_alloc(modules_for(regions) * sizeof(*w->ended_modules));
    w->ended_threads = mt_memory_alloc(threads_for(regions) * sizeof(*w->ended_threads));
    if (!w->sweep_scratch || !w->ended_modules || !w->ended_threads)
        return mt_error_set(TRACER_ENOMEM, "no address space for lists of %u regions", regions);
    w->regions = regions;
    return TRACER_OK;
}

/* Scratch lists hold nothing between two uses. */
static bool renew(void **p, size_t bytes)
{
    return mt_memory_grow(p, 0, bytes);
}

static bool grow_scratch(struct mt_work *w, uint32_t regions)
{
    void *sweep = w->sweep_scratch, *modules = w->ended_modules, *threads = w->ended_threads;
    bool grown = renew(&sweep, claims_for(regions) * 2 * sizeof(*w->sweep_scratch)) &&
                 renew(&modules, modules_for(regions) * sizeof(*w->ended_modules)) &&
                 renew(&threads, threads_for(regions) * sizeof(*w->ended_threads));

    w->sweep_scratch = sweep;
    w->ended_modules = modules;
    w->ended_threads = threads;
    return grown;
}

/* Scratch first: no list may ever be longer than its scratch. */
static bool grow_lists(struct mt_work *w, uint32_t regions)
{
    if (!grow_scratch(w, regions) || !mt_change_list_grow(&w->changes, intervals_for(regions)))
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (!mt_claim_set_grow(&w->claims[i], claims_for(regions), modules_for(regions),
                               threads_for(regions)) ||
            !mt_interval_list_grow(&w->intervals[i], intervals_for(regions)))
            return false;
    if (!mt_snapshot_grow(&w->snapshot, regions))
        return false;
    w->regions = regions;
    return true;
}

/* Other tables than these may be full, too: they do not grow. */
static bool is_short(const struct mt_work *w)
{
    const struct mt_claim_set *set = &w->claims[w->now];
    const struct mt_interval_list *list = &w->intervals[w->now];
    const struct mt_snapshot *s = &w->snapshot;

    return ((s->flags & MT_SAMPLE_TRUNCATED) &&
            (s->n_regions == s->capacity || s->n_wanted > s->capacity)) ||
           list->truncated ||
           (set->truncated &&
            (set->n_claims == set->claim_capacity || set->n_modules == set->module_capacity ||
             set->n_threads == set->thread_capacity));
}

bool mt_stages_grow(struct mt_work *w)
{
    uint64_t regions = w->regions * 2, wanted = (uint64_t)w->snapshot.n_wanted * 5 / 4;

    if (!is_short(w))
        return false;
    while (regions < wanted)
        regions *= 2;
    if (regions > REGIONS_MOST)
        regions = REGIONS_MOST;
    return regions > w->regions && grow_lists(w, (uint32_t)regions);
}

static void close_lists(struct mt_work *w)
{
    mt_snapshot_release(&w->snapshot);
    for (unsigned i = 0; i < 2; i++) {
        mt_claim_set_release(&w->claims[i]);
        mt_interval_list_release(&w->intervals[i]);
    }
    mt_change_list_release(&w->changes);
    mt_memory_free(w->sweep_scratch);
    mt_memory_free(w->ended_modules);
    mt_memory_free(w->ended_threads);
    w->sweep_scratch = NULL;
    w->ended_modules = w->ended_threads = NULL;
}

static int open_recorder(struct tracer *t, struct mt_work *w, const struct mt_os_facts *facts,
                         uint32_t pid)
{
    const struct mt_run_info info = {
        .label = t->options.label,
        .pid = pid,
        .interval_ms = t->options.interval_ms,
        .commit_ms = t->options.commit_ms,
        .flags = t->options.flags,
        .budget_ns = t->options.budget_ns,
        .max_file_bytes = t->options.max_file_bytes,
        .start_monotonic_ns = t->start_monotonic_ns,
        .start_wall_ns = t->start_wall_ns,
        .facts = facts,
    };

    return mt_recorder_open(t->path, &info, w->strings, &w->recorder);
}

/* Untouched lists cost address space only. Where that is not limited there is room at once for as
 * many regions as the system lets the process have: at that limit no list could grow any more. */
static uint32_t regions_at_first(const struct mt_os_facts *facts)
{
    if (facts->address_limit_bytes >= 0)
        return REGIONS_LEAST;
    if (facts->max_regions < REGIONS_USUAL)
        return REGIONS_USUAL;
    return facts->max_regions < REGIONS_MOST ? (uint32_t)facts->max_regions + 64 : REGIONS_MOST;
}

int mt_stages_open(struct tracer *t)
{
    uint32_t pid = t->options.pid ? t->options.pid : mt_os_process_id();
    struct mt_work *w = mt_memory_alloc(sizeof(*w) + sizeof(struct mt_os_facts));
    struct mt_os_facts *facts;
    int error;

    if (!w)
        return mt_error_set(TRACER_ENOMEM, "no memory for the sampler");
    facts = (struct mt_os_facts *)(void *)(w + 1);
    t->work = w;
    w->n_regions = -1;
    w->clock_offset_ns = t->start_wall_ns - t->start_monotonic_ns;
    mt_os_facts_read(pid, facts);
    error = mt_strings_new(STRINGS, STRING_BYTES, &w->strings);
    if (!error)
        mt_rules_keep_kinds(w->strings);
    if (!error)
        error = mt_source_open_process(t->options.pid, &w->source);
    if (!error)
        error = mt_claimer_open(t->options.pid, &t->symbols, w->strings, &w->claimer);
    if (!error)
        error = open_lists(w, regions_at_first(facts));
    if (!error)
        error = mt_drain_open(t, &w->drain);
    if (!error) {
        snprintf(facts->allocator, sizeof(facts->allocator), "%s",
                 mt_claimer_allocator(w->claimer));
        error = open_recorder(t, w, facts, pid);
    }
    if (!error && !t->options.pid)
        mt_claimer_own_address(w->claimer, mt_recorder_own_address(w->recorder));
    return error;
}

int mt_stages_close(struct tracer *t, const char *state, const char *detail)
{
    struct mt_work *w = t->work;
    int error = TRACER_OK;

    if (!w)
        return TRACER_OK;
    mt_drain_close(w->drain);
    if (w->recorder)
        error = mt_recorder_close(w->recorder, state, detail);
    mt_claimer_close(w->claimer);
    if (w->source)
        w->source->ops->close(w->source);
    close_lists(w);
    mt_strings_free(w->strings);
    mt_memory_free(w);
    t->work = NULL;
    return error;
}
