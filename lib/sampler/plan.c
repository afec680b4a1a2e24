/* SPDX-License-Identifier: MIT */
/* sampler/plan: chooses how deep a tick looks.
 * In: cheap counters of now and of the last look, times and costs. Out: a depth.
 * Called by tick.c. Pure, so that each rule below is a unit test. */
#include "sampler/plan.h"

/* Pages cannot appear without a fault nor vanish without one of the sizes moving; only a move of
 * memory within the process leaves all of these equal, which LIST_AGE bounds. Each system has its
 * own counters: the first set that is known decides. */
#define BIT(counter) (UINT64_C(1) << MT_COUNTER_##counter)

static const uint64_t gates[] = {
    BIT(VM_SIZE) | BIT(RSS_ANON) | BIT(RSS_FILE) | BIT(RSS_SHMEM) | BIT(SWAP) | BIT(MINOR_FAULTS) |
        BIT(MAJOR_FAULTS) | BIT(PAGE_TABLE) | BIT(THREADS),
    BIT(WORKING_SET) | BIT(PRIVATE_CHARGE) | BIT(PAGE_FAULTS) | BIT(THREADS),
};

/* With equal counters the list is still read this often. */
#define LIST_AGE_NS (INT64_C(10) * 1000000000)

/* Pages are counted anew this often even where the counters account for all of them: equal and
 * opposite moves within one kind of memory leave no other trace. */
#define WHOLE_AGE_NS (INT64_C(30) * 1000000000)

/* The columns that only smaps has are renewed this often, and so seldom that it costs one part in
 * FULL_COST_TIMES of the time. */
#define FULL_AGE_NS (INT64_C(60) * 1000000000)
#define FULL_COST_TIMES 200

/* In the long run the sampler costs one part in COST_TIMES of the time, and what its thread does
 * beside looks makes that a twentieth at most; what it did not use up in quiet times lets it
 * follow a burst tick by tick. */
#define COST_TIMES 22
#define CREDIT_MOST_NS (INT64_C(200) * 1000000)

static bool equal_in(uint64_t set, const struct mt_counters *a, const struct mt_counters *b)
{
    for (unsigned c = 0; c < MT_COUNTER_CAPACITY; c++)
        if ((set >> c & 1u) && a->value[c] != b->value[c])
            return false;
    return true;
}

static bool counters_equal(const struct mt_counters *a, const struct mt_counters *b)
{
    for (unsigned i = 0; i < MT_COUNT_OF(gates); i++)
        if ((a->known & b->known & gates[i]) == gates[i])
            return equal_in(gates[i], a, b);
    return false;
}

bool mt_plan_may_be_full(int64_t age_ns, int64_t cost_ns)
{
    return age_ns / FULL_COST_TIMES >= cost_ns;
}

static bool full_is_due(const struct mt_plan_input *in)
{
    int64_t age = in->now_ns - in->last_full_ns;

    return age >= FULL_AGE_NS && mt_plan_may_be_full(age, in->full_cost_ns);
}

/* Of a list that was kept the sums do not say all: it is read in time also where the host fell
 * silent. */
static bool list_is_due(const struct mt_plan_input *in)
{
    return in->now_ns - in->last_list_ns >= LIST_AGE_NS ||
           (in->list_due_ns && in->now_ns >= in->list_due_ns);
}

static enum mt_depth by_what_moved(const struct mt_plan_input *in)
{
    if (in->wants_flags && !in->no_pages &&
        mt_plan_may_be_full(in->now_ns - in->last_full_ns, in->full_cost_ns))
        return MT_DEPTH_FULL;
    if (!in->left && !list_is_due(in) && counters_equal(in->before, in->now))
        return MT_DEPTH_COUNTERS;
    if (in->cannot_count || full_is_due(in))
        return MT_DEPTH_FULL;
    return in->now_ns - in->last_whole_ns >= WHOLE_AGE_NS ? MT_DEPTH_WHOLE : MT_DEPTH_PAGES;
}

int64_t mt_plan_credit(int64_t credit_ns, int64_t elapsed_ns, int64_t cost_ns)
{
    credit_ns += elapsed_ns / COST_TIMES - cost_ns;
    return credit_ns < CREDIT_MOST_NS ? credit_ns : CREDIT_MOST_NS;
}

enum mt_depth mt_plan_depth(const struct mt_plan_input *in, bool *out_deferred)
{
    enum mt_depth depth = in->asked ? MT_DEPTH_FULL : by_what_moved(in);

    *out_deferred = !in->asked && !in->at_least && depth > MT_DEPTH_COUNTERS && in->credit_ns < 0;
    if (*out_deferred)
        return MT_DEPTH_COUNTERS;

    if (depth < (enum mt_depth)in->at_least)
        depth = (enum mt_depth)in->at_least;
    if (depth > MT_DEPTH_LIST && in->no_pages)
        depth = MT_DEPTH_LIST;
    return depth;
}
