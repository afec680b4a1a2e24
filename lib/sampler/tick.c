/* SPDX-License-Identifier: MIT */
/* sampler: one tick, the data's way from a page to a row:
 *
 *   OS memory ──source──▶ regions ──claim──▶ owners ──classify──▶ typed totals
 *             ──diff──▶ rows ──record──▶ file
 *
 * The left half is observe.c. In: what the host asked for. Out: rows in the open transaction, and
 * the newest totals for tracer_get_totals(). Called by sampler.c. Allocates nothing; a failure
 * leaves the last values standing and is a flag of the next sample. */
#include "base/error.h"
#include "base/memory.h"
#include "sampler/plan.h"
#include "sampler/sampler.h"
#include "sampler/stages.h"

#define CLOCK_JUMP_NS (INT64_C(500) * 1000000)

/* What the last look left is looked at, though nothing changed since. */
static enum mt_depth plan(const struct tracer *t, const struct mt_tick_request *request,
                          int64_t now_ns, bool *out_deferred)
{
    const struct mt_work *w = t->work;
    const struct mt_plan_input in = {
        .before = &w->counters[1 - w->now],
        .now = &w->counters[w->now],
        .asked = request->explicit_sample || !w->has_sample,
        .at_least = request->at_least,
        .left = w->is_partial || w->is_off,
        .wants_flags = w->wants_flags,
        .no_pages = (t->options.flags & TRACER_F_NO_PAGES) != 0,
        .cannot_count = w->cannot_count,
        .now_ns = now_ns,
        .last_list_ns = w->last_list_ns,
        .list_due_ns = w->list_due_ns,
        .last_whole_ns = w->last_whole_ns,
        .last_full_ns = w->last_full_ns,
        .full_cost_ns = w->full_cost_ns,
        .credit_ns = w->credit_ns,
        .budget_ns = (int64_t)t->options.budget_ns,
    };

    return mt_plan_depth(&in, out_deferred);
}

/* What differs from the last look, as the recorder wants it. */
static void compare(struct tracer *t, struct mt_sample *sample)
{
    struct mt_work *w = t->work;
    struct mt_claim_set *now = &w->claims[w->now], *before = &w->claims[1 - w->now];
    struct mt_interval_list *list = &w->intervals[w->now];

    if (!(t->options.flags & TRACER_F_NO_REGIONS)) {
        mt_classify_diff(&w->intervals[1 - w->now], list, &w->changes);
        sample->intervals = list->items;
        sample->n_intervals = list->n;
        sample->ended_regions = w->changes.ended;
        sample->n_ended_regions = w->changes.n_ended;
        sample->merged_regions = w->changes.merged;
        sample->n_merged_regions = w->changes.n_merged;
        sample->continued = w->changes.continued;
    }
    sample->n_ended_modules = mt_classify_diff_modules(
        before->modules, before->n_modules, now->modules, now->n_modules, w->ended_modules);
    sample->ended_modules = w->ended_modules;
    sample->modules = now->modules;
    sample->n_modules = now->n_modules;
    sample->n_ended_threads = mt_classify_diff_threads(
        before->threads, before->n_threads, now->threads, now->n_threads, w->ended_threads);
    sample->ended_threads = w->ended_threads;
    sample->threads = now->threads;
    sample->n_threads = now->n_threads;
}

static uint32_t clock_flags(struct tracer *t, const struct mt_sample *sample)
{
    int64_t offset = sample->wall_ns - sample->t_ns - t->start_monotonic_ns;
    int64_t jump = offset - t->work->clock_offset_ns;

    t->work->clock_offset_ns = offset;
    return jump > CLOCK_JUMP_NS || jump < -CLOCK_JUMP_NS ? MT_SAMPLE_CLOCK : 0;
}

/* The tick's own cost ends here: what the recorder does is in the next tick's CPU time. */
static void measure(struct tracer *t, struct mt_sample *sample, int64_t begun_ns)
{
    struct mt_work *w = t->work;
    int64_t cpu = mt_os_thread_cpu_ns(), now_ns = mt_os_monotonic_ns();
    bool asked = (sample->flags & MT_SAMPLE_EXPLICIT) != 0;

    sample->cost_wall_ns = now_ns - begun_ns;
    sample->cost_cpu_ns = cpu < 0 ? -1 : cpu - w->last_cpu_ns;
    w->credit_ns = mt_plan_credit(w->credit_ns, w->measured_ns ? now_ns - w->measured_ns : 0,
                                  asked || cpu < 0 ? 0 : sample->cost_cpu_ns);
    w->measured_ns = now_ns;
    w->last_cpu_ns = cpu;
    sample->own_bytes = mt_memory_held();
}

static void publish(struct tracer *t, const struct mt_sample *sample)
{
    tracer_stats *stats = &t->stats;

    mt_os_lock_acquire(t->lock);
    t->levels = *sample->levels;
    t->levels_flags = sample->flags;
    t->levels_t_ns = sample->t_ns;
    t->levels_wall_ns = sample->wall_ns;
    stats->n_ticks++;
    stats->n_missed += sample->n_missed;
    stats->n_failed += (sample->flags & MT_SAMPLE_FAILED) != 0;
    stats->cost_wall_ns += (uint64_t)sample->cost_wall_ns;
    if (sample->cost_cpu_ns > 0)
        stats->cost_cpu_ns += (uint64_t)sample->cost_cpu_ns;
    if ((uint64_t)sample->cost_wall_ns > stats->longest_tick_ns)
        stats->longest_tick_ns = (uint64_t)sample->cost_wall_ns;
    stats->own_bytes = sample->own_bytes;
    mt_os_lock_release(t->lock);
}

static void tell_problems(struct tracer *t, uint32_t flags, int error)
{
    if (error == TRACER_ESTATE)
        mt_sampler_problem(t, MT_PROBLEM_PROCESS_GONE, TRACER_LOG_INFO,
                           "the watched process has ended; recording ends with it");
    else if (error)
        mt_sampler_problem(t, MT_PROBLEM_SAMPLE_FAILED, TRACER_LOG_WARNING, mt_error_detail());
    if (flags & MT_SAMPLE_TRUNCATED)
        mt_sampler_problem(t, MT_PROBLEM_TRUNCATED, TRACER_LOG_WARNING,
                           "more regions, owners or names than there is room for; the rest is "
                           "counted with its neighbours, or under the name of its kind");
    if ((flags & MT_SAMPLE_NO_PAGES) && !(t->options.flags & TRACER_F_NO_PAGES))
        mt_sampler_problem(t, MT_PROBLEM_NO_PAGES, TRACER_LOG_WARNING,
                           "page counts cannot be read (no smaps); resident columns are NULL");
}

/* Keeps what a deep look costs for the planner, and makes this look "the last one". */
static void remember(struct mt_work *w, const struct mt_sample *sample, int64_t begun_ns)
{
    enum mt_depth depth = (enum mt_depth)sample->depth;

    w->list_due_ns = sample->flags & MT_SAMPLE_LIST_KEPT ? w->snapshot.keep_until_ns : 0;
    if (!w->list_due_ns)
        w->last_list_ns = begun_ns;
    if (depth >= MT_DEPTH_WHOLE)
        w->last_whole_ns = begun_ns;
    if (depth == MT_DEPTH_FULL) {
        w->last_full_ns = begun_ns;
        w->full_cost_ns = mt_os_monotonic_ns() - begun_ns;
    }
    w->n_regions = sample->n_regions;
    w->is_partial = (sample->flags & MT_SAMPLE_PARTIAL) != 0;
    w->wants_flags = w->claims[w->now].wants_flags;
    w->has_sample = true;
    w->now = 1 - w->now;
}

/* The deep half of a tick. A sample that is not in the file does not become the one to compare
 * with: the next one then carries both differences. */
static int look_and_record(struct tracer *t, struct mt_sample *sample, int64_t begun_ns)
{
    struct mt_work *w = t->work;
    int error, record_error;

    error = mt_observe(t, sample, begun_ns);
    sample->flags |= clock_flags(t, sample); /* its clocks were read anew */
    sample->allocator = mt_claimer_allocator(w->claimer);
    if (!error) {
        sample->n_regions = w->snapshot.n_regions;
        compare(t, sample);
        sample->levels = &w->levels[w->now];
    }
    measure(t, sample, begun_ns);
    mt_requests_count(t);
    tell_problems(t, sample->flags, error); /* while the error's own words stand */
    record_error = mt_recorder_sample(w->recorder, sample);
    publish(t, sample);
    if (!error && !record_error)
        remember(w, sample, begun_ns);
    w->source_error = error;
    return record_error;
}

/* A host whose last thread ended must not go on living by ours. */
static bool is_deserted(const struct mt_counters *now)
{
    return now->known >> MT_COUNTER_THREADS & 1u &&
           mt_os_thread_is_deserted((uint64_t)now->value[MT_COUNTER_THREADS]);
}

int mt_tick(struct tracer *t, const struct mt_tick_request *request)
{
    struct mt_work *w = t->work;
    int64_t begun_ns = mt_os_monotonic_ns();
    bool deferred;
    struct mt_sample sample = {
        .t_ns = begun_ns - t->start_monotonic_ns,
        .wall_ns = mt_os_wall_ns(),
        .n_missed = request->n_missed,
        .counters = &w->counters[w->now],
        .counter_words = t->counter_words,
        .levels = &w->levels[1 - w->now],
        .n_regions = w->n_regions,
    };

    w->source_error = TRACER_OK;
    w->counters[w->now].known = 0;
    w->source->ops->counters(w->source, &w->counters[w->now]);
    if (!t->options.pid && is_deserted(&w->counters[w->now])) {
        w->source_error = mt_error_set(TRACER_ESTATE, "no thread of this program is left");
        return TRACER_OK;
    }
    mt_add_allocator_counters(w);
    sample.depth = (uint8_t)plan(t, request, begun_ns, &deferred);
    sample.flags = (deferred ? MT_SAMPLE_PARTIAL : 0) | clock_flags(t, &sample) |
                   (request->n_missed ? MT_SAMPLE_GAP : 0) |
                   (request->explicit_sample ? MT_SAMPLE_EXPLICIT : 0);
    if (sample.depth > MT_DEPTH_COUNTERS)
        return look_and_record(t, &sample, begun_ns);
    measure(t, &sample, begun_ns);
    publish(t, &sample);
    mt_requests_count(t);
    return mt_recorder_sample(w->recorder, &sample);
}
