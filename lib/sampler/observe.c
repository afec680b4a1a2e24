/* SPDX-License-Identifier: MIT */
/* sampler: the first half of a tick, OS memory → regions → owners → typed intervals → levels.
 * In: a depth; pages are counted by counting.c. Out: this tick's intervals, claims and levels in
 * struct mt_work, flags in the sample, and the depth that was really needed. Called by tick.c. Must
 * not touch the recorder. */
#include "sampler/plan.h"
#include "sampler/sampler.h"
#include "sampler/stages.h"

/* The allocator's counters take its locks: so every tenth tick, and less often where they are
 * slow. What they cost is CPU time: one reading that lost its core, or waited for a lock of the
 * host, would else be the last for a thousand times as long. */
#define ALLOCATOR_AGE_TICKS 10
#define ALLOCATOR_COST_SHARE 1000

static void read_allocator(struct tracer *t, int64_t now_ns, bool asked)
{
    struct mt_work *w = t->work;
    int64_t age = now_ns - w->last_allocator_ns, begun_ns;

    if (t->options.pid || (t->options.flags & TRACER_F_NO_ALLOCATOR))
        return;
    if (w->has_sample && !asked &&
        (age < (int64_t)t->options.interval_ms * 1000000 * ALLOCATOR_AGE_TICKS ||
         age < w->allocator_cost_ns * ALLOCATOR_COST_SHARE))
        return;
    w->allocator.known = 0;
    begun_ns = mt_os_thread_cpu_ns();
    mt_claimer_counters(w->claimer, &w->allocator);
    w->last_allocator_ns = now_ns;
    w->allocator_cost_ns = mt_os_thread_cpu_ns() - begun_ns;
}

void mt_add_allocator_counters(struct mt_work *w)
{
    struct mt_counters *now = &w->counters[w->now];

    for (unsigned i = 0; i < MT_COUNTER_CAPACITY; i++)
        if (w->allocator.known >> i & 1u)
            now->value[i] = w->allocator.value[i];
    now->known |= w->allocator.known;
}

/* Who asks for a sample gets a whole one, but for the first: what is there by then may be much. */
static int claim(struct tracer *t, bool asked)
{
    struct mt_work *w = t->work;
    struct mt_claim_set *set = &w->claims[w->now];
    int error;

    set->deadline_ns =
        asked && w->has_sample ? 0 : mt_os_monotonic_ns() + (int64_t)t->options.budget_ns;
    error = mt_claimer_collect(w->claimer, &w->snapshot, set);
    if (error)
        return error;
    mt_requests_claim(t);
    if (!t->options.pid)
        mt_claim_own(set, w->strings);
    return TRACER_OK;
}

/* Who asks for a sample gets to know why pages of images are private: that takes a while. */
static void explain(struct tracer *t, const struct mt_sample *sample)
{
    struct mt_work *w = t->work;
    struct mt_interval_list *list = &w->intervals[w->now];

    if (!(sample->flags & MT_SAMPLE_EXPLICIT) || (t->options.flags & TRACER_F_NO_REGIONS))
        return;
    mt_claimer_explain(w->claimer, list->items, list->n,
                       mt_os_monotonic_ns() + (int64_t)t->options.budget_ns);
}

/* Where pages are counted they tell a list that was kept too long, so it may be kept. */
static int list(struct mt_work *w, struct mt_sample *sample)
{
    const struct mt_source_ops *ops = w->source->ops;

    sample->flags &= ~MT_SAMPLE_LIST_KEPT;
    if (sample->depth == MT_DEPTH_PAGES && !w->doubts_list && ops->follow &&
        ops->follow(w->source, &w->snapshot)) {
        sample->flags |= MT_SAMPLE_LIST_KEPT;
        return TRACER_OK;
    }
    return ops->list(w->source, &w->snapshot, sample->depth == MT_DEPTH_FULL);
}

static int list_and_claim(struct tracer *t, struct mt_sample *sample)
{
    int error = list(t->work, sample);

    return error ? error : claim(t, (sample->flags & MT_SAMPLE_EXPLICIT) != 0);
}

/* Whose some new memory is, only the deepest look can tell: it is had now, where it is cheap. */
static bool must_be_full(const struct tracer *t, const struct mt_sample *sample)
{
    const struct mt_work *w = t->work;

    return w->claims[w->now].wants_flags && sample->depth < MT_DEPTH_FULL &&
           !(t->options.flags & TRACER_F_NO_PAGES) && w->credit_ns >= 0 &&
           mt_plan_may_be_full(mt_os_monotonic_ns() - w->last_full_ns, w->full_cost_ns);
}

/* List, claims and the intervals they make, all anew when a list had to grow for them. */
static int lay_out(struct tracer *t, struct mt_sample *sample)
{
    struct mt_work *w = t->work;
    struct mt_claim_set *set = &w->claims[w->now];
    int error;

    /* the first look of all: what is dear is not to be done twice for want of room */
    if (sample->depth == MT_DEPTH_FULL && !w->has_sample &&
        !w->source->ops->list(w->source, &w->snapshot, false))
        mt_stages_grow(w);
    do {
        error = list_and_claim(t, sample);
        if (!error && must_be_full(t, sample)) {
            sample->depth = MT_DEPTH_FULL;
            error = list_and_claim(t, sample);
        }
        if (error)
            return error;
        mt_classify_overlay(&w->snapshot, set->claims, set->n_claims, w->sweep_scratch,
                            &w->intervals[w->now]);
    } while (mt_stages_grow(w));
    return TRACER_OK;
}

/* Whether something goes by the name of its kind, its own having found no room. */
static bool lacks_names(const struct mt_work *w)
{
    const struct mt_interval_list *list = &w->intervals[w->now];
    const struct mt_claim_set *set = &w->claims[w->now];
    const struct mt_strings *s = w->strings;

    if (!mt_strings_has_refused(s))
        return false;
    for (uint32_t i = 0; i < list->n; i++)
        if (mt_strings_stands_in(s, list->items[i].name) ||
            mt_strings_stands_in(s, list->items[i].owner))
            return true;
    for (uint32_t i = 0; i < set->n_modules; i++)
        if (mt_strings_stands_in(s, set->modules[i].path))
            return true;
    for (uint32_t i = 0; i < set->n_threads; i++)
        if (mt_strings_stands_in(s, set->threads[i].name))
            return true;
    return false;
}

/* A kept list that does not account for what is resident is read after all. */
static int list_and_count(struct tracer *t, struct mt_sample *sample)
{
    struct mt_work *w = t->work;
    int error;

    w->doubts_list = false;
    do {
        error = lay_out(t, sample);
        if (error)
            return error;
        mt_count_pages(t, sample);
    } while (w->doubts_list && (sample->flags & MT_SAMPLE_LIST_KEPT));
    return TRACER_OK;
}

/* The sample's time is when it was complete: what it shows was there before every later mark. */
int mt_observe(struct tracer *t, struct mt_sample *sample, int64_t begun_ns)
{
    struct mt_work *w = t->work;
    struct mt_interval_list *list = &w->intervals[w->now];
    struct mt_claim_set *set = &w->claims[w->now];
    int error;

    read_allocator(t, begun_ns, (sample->flags & MT_SAMPLE_EXPLICIT) != 0);
    mt_add_allocator_counters(w);
    error = list_and_count(t, sample);
    if (error) {
        sample->flags |= MT_SAMPLE_FAILED;
        return error;
    }
    mt_classify_settle(&w->snapshot, list);
    explain(t, sample);
    sample->flags |= w->snapshot.flags;
    sample->flags |=
        mt_classify_totals(&w->snapshot, list, &w->counters[w->now], &w->levels[w->now]);
    if (sample->depth < MT_DEPTH_FULL)
        mt_classify_carry_levels(&w->levels[1 - w->now], &w->levels[w->now],
                                 (sample->flags & MT_SAMPLE_PARTIAL) != 0);
    if (list->truncated || set->truncated || lacks_names(w))
        sample->flags |= MT_SAMPLE_TRUNCATED;
    if (set->partial)
        sample->flags |= MT_SAMPLE_PARTIAL;
    sample->t_ns = mt_os_monotonic_ns() - t->start_monotonic_ns;
    sample->wall_ns = mt_os_wall_ns();
    return TRACER_OK;
}
