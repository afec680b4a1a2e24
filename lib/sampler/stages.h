/* SPDX-License-Identifier: MIT */
/* sampler: what the stages keep between two ticks. Sampler thread only. */
#ifndef MT_SAMPLER_STAGES_H
#define MT_SAMPLER_STAGES_H

#include "claim/claim.h"
#include "classify/classify.h"
#include "record/recorder.h"
#include "sampler/sampler.h"
#include "source/source.h"

struct mt_work {
    struct mt_strings *strings;
    struct mt_source *source;
    struct mt_claimer *claimer;
    struct mt_recorder *recorder;
    struct mt_drain *drain; /* of exact events; NULL = not asked for */

    struct mt_snapshot snapshot;
    uint32_t regions; /* what the lists below have room for */
    uint32_t *sweep_scratch;
    struct mt_change_list changes;
    int64_t *ended_modules, *ended_threads;

    /* [now] of this tick, [1 - now] of the last that looked deeper than counters */
    unsigned now;
    struct mt_claim_set claims[2];
    struct mt_interval_list intervals[2];
    struct mt_levels levels[2];
    struct mt_counters counters[2];

    struct mt_mark marks[MT_MARKS_CAPACITY]; /* written since the last commit, oldest first */
    uint32_t n_marks;
    uint32_t n_types; /* of the host's own, written since the last commit */

    uint32_t claims_number;       /* of the host's own, as of the last look */
    struct mt_counters allocator; /* its counters, as of when it was last asked */

    int64_t n_regions;   /* listed by the last deep look, -1 = there was none */
    int source_error;    /* of the last tick; ESTATE = the watched process is gone */
    bool has_sample;     /* at least one deep look is recorded */
    bool cannot_count;   /* pages can be had from smaps only */
    bool is_partial;     /* the last look left something: its claims or pages */
    bool wants_flags;    /* the last look did not learn whose some memory is */
    bool doubts_list;    /* of this tick: was not read, and does not account for what is resident */
    bool is_off;         /* the last count is not what the kernel's sums say, by the host's churn */
    uint64_t count_from; /* address where counting was stopped last */
    int64_t credit_ns;   /* see mt_plan_credit() */
    int64_t measured_ns; /* when the last tick ended, 0 = there was none */
    int64_t list_due_ns; /* see struct mt_plan_input */
    int64_t last_list_ns, last_whole_ns, last_full_ns, full_cost_ns;
    int64_t last_allocator_ns, allocator_cost_ns;
    int64_t last_cpu_ns;     /* of the thread at the end of the last tick */
    int64_t clock_offset_ns; /* wall − monotonic at the last tick */
};

/* True when a list of this tick was too short for what there was and has become longer: then the
 * look is to be repeated. stages.c. */
bool mt_stages_grow(struct mt_work *w);

/* Adds what the allocator said last to this tick's counters; observe.c. */
void mt_add_allocator_counters(struct mt_work *w);

#endif
