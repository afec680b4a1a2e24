/* SPDX-License-Identifier: MIT */
/* sampler: opens and closes the stages. In: options. Out: struct mt_work, sized for the process.
 * Called by sampler.c in the sampler thread, at its start and end; between them nothing is
 * allocated. The source comes first: a process that cannot be watched must not leave a file. */
#include "sampler/stages.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "sampler/drain.h"
#include "sampler/sampler.h"

#define REGIONS_DEFAULT 65536u
#define REGIONS_MOST 1048576u
#define REGIONS_LEAST 4096u
#define MODULES 4096u
#define THREADS 32768u
#define STRINGS 131072u
#define STRING_BYTES (16u * 1024 * 1024)

static int open_lists(struct mt_work *w, uint32_t regions)
{
    uint32_t claims = regions * 2, intervals = regions * 2;
    int error = mt_snapshot_init(&w->snapshot, w->strings, regions);

    for (unsigned i = 0; i < 2 && !error; i++) {
        error = mt_claim_set_init(&w->claims[i], claims, MODULES, THREADS);
        if (!error)
            error = mt_interval_list_init(&w->intervals[i], intervals);
    }
    if (!error)
        error = mt_change_list_init(&w->changes, intervals);
    if (error)
        return error;
    w->sweep_scratch = mt_memory_alloc((size_t)claims * 2 * sizeof(*w->sweep_scratch));
    w->ended_modules = mt_memory_alloc(MODULES * sizeof(*w->ended_modules));
    w->ended_threads = mt_memory_alloc(THREADS * sizeof(*w->ended_threads));
    if (!w->sweep_scratch || !w->ended_modules || !w->ended_threads)
        return mt_error_set(TRACER_ENOMEM, "no address space for lists of %u regions", regions);
    return TRACER_OK;
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

/* Room for as many regions as the system lets the process have; where address space is short
 * (RLIMIT_AS), for fewer: a truncated list is flagged and better than none. */
static int open_lists_that_fit(struct mt_work *w, int64_t max_regions)
{
    uint32_t regions = REGIONS_DEFAULT;
    int error;

    if (max_regions > REGIONS_DEFAULT)
        regions = max_regions < REGIONS_MOST ? (uint32_t)max_regions + 64 : REGIONS_MOST;
    while ((error = open_lists(w, regions)) == TRACER_ENOMEM && regions / 2 >= REGIONS_LEAST) {
        close_lists(w);
        regions /= 2;
    }
    return error;
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

int mt_stages_open(struct tracer *t)
{
    uint32_t pid = t->options.pid ? t->options.pid : mt_os_process_id();
    struct mt_work *w = mt_memory_alloc(sizeof(*w) + sizeof(struct mt_os_facts));
    struct mt_os_facts *facts = (struct mt_os_facts *)(void *)(w + 1);
    int error;

    if (!w)
        return mt_error_set(TRACER_ENOMEM, "no memory for the sampler");
    t->work = w;
    w->clock_offset_ns = t->start_wall_ns - t->start_monotonic_ns;
    mt_os_facts_read(pid, facts);
    error = mt_strings_new(STRINGS, STRING_BYTES, &w->strings);
    if (!error)
        error = mt_source_open_process(t->options.pid, &w->source);
    if (!error)
        error = mt_claimer_open(t->options.pid, w->strings, &w->claimer);
    if (!error)
        error = open_lists_that_fit(w, facts->max_regions);
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
