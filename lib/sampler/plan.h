/* SPDX-License-Identifier: MIT */
/* sampler/plan: how deep does the next tick look? Pure: no clock, no OS. */
#ifndef MT_SAMPLER_PLAN_H
#define MT_SAMPLER_PLAN_H

#include "base/compiler.h"
#include "base/sample.h"

struct mt_plan_input {
    const struct mt_counters *before; /* of the last tick that looked deeper than counters */
    const struct mt_counters *now;
    bool asked;            /* first, last, or by tracer_sample() */
    uint8_t at_least;      /* enum mt_depth the caller insists on */
    bool no_pages;         /* TRACER_F_NO_PAGES */
    bool cannot_count;     /* pages can be had from smaps only */
    int64_t now_ns;        /* monotonic */
    int64_t last_list_ns;  /* when the list was read last */
    int64_t list_due_ns;   /* the last look kept the list, which may be kept until then; or 0 */
    int64_t last_whole_ns; /* when all pages were counted last */
    int64_t last_full_ns;  /* when smaps was read last */
    int64_t full_cost_ns;  /* what that cost */
    int64_t credit_ns;     /* CPU time that looks may still cost; mt_plan_credit() */
    bool left;             /* the last look did not get through */
    bool wants_flags;      /* whose some memory is only smaps can tell */
    int64_t budget_ns;
};

/* `out_deferred`: something moved, but looking at it now would cost more than its share. */
enum mt_depth mt_plan_depth(const struct mt_plan_input *in, bool *out_deferred);

/* True when smaps, read `age_ns` ago at `cost_ns`, may be read now for what only it tells. */
bool mt_plan_may_be_full(int64_t age_ns, int64_t cost_ns);

/* What is left of the credit after a tick that cost `cost_ns`, `elapsed_ns` after the one before.
 */
int64_t mt_plan_credit(int64_t credit_ns, int64_t elapsed_ns, int64_t cost_ns);

#endif
