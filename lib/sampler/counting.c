/* SPDX-License-Identifier: MIT */
/* sampler: which intervals a look counts, within its budget.
 * In: this tick's intervals, the last look's, a depth. Out: their pages; what the budget did not
 * reach keeps its last count, marked as old, and the next look goes on there.
 * Called by observe.c. Must not let one end of the address space wait for ever: counting begins
 * where it stopped. */
#include "sampler/sampler.h"
#include "sampler/stages.h"

/* A budget below this would end after one slice of 100 µs, and a look costs more than that. */
#define BUDGET_LEAST_NS INT64_C(1000000)

static bool all_counted(const struct mt_interval_list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (!list->items[i].pages.known)
            return false;
    return true;
}

/* Page faults so far, where they are counted. */
static uint64_t faults(const struct mt_counters *c)
{
    static const uint64_t both =
        UINT64_C(1) << MT_COUNTER_MINOR_FAULTS | UINT64_C(1) << MT_COUNTER_MAJOR_FAULTS;

    return (c->known & both) == both
               ? c->value[MT_COUNTER_MINOR_FAULTS] + c->value[MT_COUNTER_MAJOR_FAULTS]
               : 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* True when the resident pages of all intervals are those that the kernel counts now: then what
 * was carried over cannot have changed, but for equal and opposite moves within one kind. What the
 * host touched since `faults_before` may be on either side, and would be after any other look; the
 * next tick looks again then, or a host that falls silent would leave it so. */
static bool accounts_for_all(struct mt_work *w, uint64_t faults_before)
{
    static const uint64_t needed =
        UINT64_C(1) << MT_COUNTER_RSS_ANON | UINT64_C(1) << MT_COUNTER_RSS_FILE |
        UINT64_C(1) << MT_COUNTER_RSS_SHMEM | UINT64_C(1) << MT_COUNTER_SWAP;
    const struct mt_interval_list *list = &w->intervals[w->now];
    struct mt_counters *now = &w->counters[w->now];
    uint64_t anonymous = 0, resident = 0, swap = 0, off, slack;

    w->source->ops->counters(w->source, now);
    mt_add_allocator_counters(w);
    if ((now->known & needed) != needed)
        return false;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct mt_pages *p = &list->items[i].pages;

        if (!p->known)
            return false;
        anonymous += p->bytes[MT_PAGE_ANONYMOUS];
        resident += p->bytes[MT_PAGE_RESIDENT];
        swap += p->bytes[MT_PAGE_SWAP];
    }
    off = distance(anonymous, now->value[MT_COUNTER_RSS_ANON]) +
          distance(resident - anonymous,
                   now->value[MT_COUNTER_RSS_FILE] + now->value[MT_COUNTER_RSS_SHMEM]) +
          distance(swap, now->value[MT_COUNTER_SWAP]);
    slack = faults_before && faults(now) > faults_before
                ? (faults(now) - faults_before) * mt_os_page_bytes()
                : 0;
    w->is_off = off > 0;
    return off <= slack;
}

/* What is shared cannot be what a sum is missing, so its hint may stay. */
static void forget_counts(struct mt_interval_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->items[i].region_flags & MT_REGION_SHARED)
            list->items[i].pages.known = 0;
        else
            list->items[i].pages = (struct mt_pages){.known = 0};
    }
}

static uint32_t first_above(const struct mt_interval_list *list, uint64_t address)
{
    uint32_t low = 0, high = list->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (list->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Counts what is not known from where the last look stopped, round to there. False = late. */
static bool count_unknown(struct mt_work *w, int64_t deadline_ns)
{
    struct mt_interval_list *list = &w->intervals[w->now];
    uint32_t first = first_above(list, w->count_from);
    const struct {
        uint32_t begin, end;
    } parts[] = {{first, list->n}, {0, first}};

    for (unsigned i = 0; i < MT_COUNT_OF(parts); i++) {
        uint32_t next = parts[i].begin;

        w->source->ops->count(w->source, &w->snapshot, list->items, parts[i].end, &next,
                              deadline_ns);
        if (next < parts[i].end) {
            w->count_from = list->items[next].base;
            return false;
        }
    }
    return true;
}

/* Most that changes without a change in shape is in the same few places each time: a heap that
 * grows within its mapping, the data of a program. */
static bool forget_restless(struct mt_interval_list *list)
{
    bool any = false;

    for (uint32_t i = 0; i < list->n; i++) {
        if (!list->items[i].restless || !list->items[i].pages.known)
            continue;
        list->items[i].pages.known = 0;
        any = true;
    }
    return any;
}

/* Until what is counted accounts for what the kernel counts: what is restless, then everything,
 * but that of a list that was not read: it may be why. False = late. */
static bool count_more(struct mt_work *w, struct mt_sample *sample, uint64_t faults_before,
                       int64_t deadline_ns)
{
    struct mt_interval_list *list = &w->intervals[w->now];

    if (accounts_for_all(w, faults_before))
        return true;
    if (forget_restless(list)) {
        if (!count_unknown(w, deadline_ns))
            return false;
        if (accounts_for_all(w, faults_before)) {
            mt_classify_note_restless(&w->intervals[1 - w->now], list);
            return true;
        }
    }
    if (sample->flags & MT_SAMPLE_LIST_KEPT) {
        w->doubts_list = true;
        return true;
    }
    /* the counters are of before what follows: the next tick sees what it missed */
    w->is_off = false;
    forget_counts(list);
    sample->depth = MT_DEPTH_WHOLE;
    return count_unknown(w, deadline_ns);
}

/* Counts what changed or is old, and what the kernel's sums ask for. Where pages cannot be counted
 * the next look is a full one. */
static bool count_in_time(struct mt_work *w, struct mt_sample *sample, int64_t deadline_ns)
{
    struct mt_interval_list *list = &w->intervals[w->now];
    uint64_t faults_before = faults(&w->counters[w->now]);

    w->is_off = false;
    if (!count_unknown(w, deadline_ns) ||
        (sample->depth == MT_DEPTH_PAGES && !count_more(w, sample, faults_before, deadline_ns)))
        return false;
    if (sample->depth != MT_DEPTH_PAGES)
        mt_classify_note_restless(&w->intervals[1 - w->now], list);
    if (sample->depth == MT_DEPTH_WHOLE && !all_counted(list))
        w->cannot_count = true;
    return true;
}

static int64_t deadline(const struct tracer *t, const struct mt_sample *sample)
{
    int64_t budget_ns = (int64_t)t->options.budget_ns;

    if ((sample->flags & MT_SAMPLE_EXPLICIT) || sample->depth == MT_DEPTH_FULL)
        return 0;
    return mt_os_monotonic_ns() + (budget_ns > BUDGET_LEAST_NS ? budget_ns : BUDGET_LEAST_NS);
}

void mt_count_pages(struct tracer *t, struct mt_sample *sample)
{
    struct mt_work *w = t->work;
    const struct mt_interval_list *before = &w->intervals[1 - w->now];
    struct mt_interval_list *list = &w->intervals[w->now];

    if (t->options.flags & TRACER_F_NO_PAGES)
        return;
    if (sample->depth < MT_DEPTH_PAGES) {
        mt_classify_carry(before, list, MT_CARRY_ALL);
        return;
    }
    mt_classify_carry(before, list,
                      sample->depth == MT_DEPTH_PAGES ? MT_CARRY_FRESH : MT_CARRY_HINTS);
    if (count_in_time(w, sample, deadline(t, sample)))
        return;
    mt_classify_carry(before, list, MT_CARRY_ALL);
    sample->flags |= MT_SAMPLE_PARTIAL;
}
