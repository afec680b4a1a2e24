/* SPDX-License-Identifier: MIT */
/* sampler/plan: chooses how deep a tick looks.
 * In: cheap counters of now and of the last look, times and costs. Out: a depth.
 * Called by tick.c. Pure, so that each rule below is a unit test. */
#include "sampler/plan.h"

/* Pages cannot appear without a fault nor vanish without one of the sizes moving; only a move of
 * memory within the process leaves all of these equal, which LIST_AGE bounds. */
static const uint8_t gates[] = {
    MT_COUNTER_VM_SIZE,      MT_COUNTER_RSS_ANON,   MT_COUNTER_RSS_FILE,
    MT_COUNTER_RSS_SHMEM,    MT_COUNTER_SWAP,       MT_COUNTER_MINOR_FAULTS,
    MT_COUNTER_MAJOR_FAULTS, MT_COUNTER_PAGE_TABLE, MT_COUNTER_THREADS,
};

/* With equal counters the list is still read this often. */
#define LIST_AGE_NS (INT64_C(10) * 1000000000)

/* Pages are counted anew this often even where the counters account for all of them: equal and
 * opposite moves within one kind of memory leave no other trace. */
#define WHOLE_AGE_NS (INT64_C(30) * 1000000000)

/* The columns that only smaps has are renewed this often, and not oftener than lets their cost
 * stay within this share of the budget. */
#define FULL_AGE_NS (INT64_C(60) * 1000000000)
#define FULL_SHARE 4

static bool counters_equal(const struct mt_counters *a, const struct mt_counters *b)
{
    for (unsigned i = 0; i < MT_COUNT_OF(gates); i++) {
        unsigned c = gates[i];

        if (!(a->known >> c & 1u) || !(b->known >> c & 1u) || a->value[c] != b->value[c])
            return false;
    }
    return true;
}

static bool full_is_due(const struct mt_plan_input *in)
{
    int64_t age = in->now_ns - in->last_full_ns;

    return age >= FULL_AGE_NS && in->full_cost_ns <= in->budget_ns * FULL_SHARE;
}

static enum mt_depth by_what_moved(const struct mt_plan_input *in)
{
    if (in->now_ns - in->last_list_ns < LIST_AGE_NS && counters_equal(in->before, in->now))
        return MT_DEPTH_COUNTERS;
    if (in->cannot_count || full_is_due(in))
        return MT_DEPTH_FULL;
    return in->now_ns - in->last_whole_ns >= WHOLE_AGE_NS ? MT_DEPTH_WHOLE : MT_DEPTH_PAGES;
}

enum mt_depth mt_plan_depth(const struct mt_plan_input *in)
{
    enum mt_depth depth = in->asked ? MT_DEPTH_FULL : by_what_moved(in);

    if (depth < (enum mt_depth)in->at_least)
        depth = (enum mt_depth)in->at_least;
    if (depth > MT_DEPTH_LIST && in->no_pages)
        depth = MT_DEPTH_LIST;
    return depth;
}
