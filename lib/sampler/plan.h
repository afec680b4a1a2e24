/* SPDX-License-Identifier: MIT */
/* sampler/plan: how deep does the next tick look? Pure: no clock, no OS. */
#ifndef MT_SAMPLER_PLAN_H
#define MT_SAMPLER_PLAN_H

#include "base/sample.h"

struct mt_plan_input {
    const struct mt_counters *before; /* of the last tick */
    const struct mt_counters *now;
    bool first;        /* no sample yet */
    bool explicit_;    /* asked for: start, stop, tracer_sample() */
    bool no_pages;     /* TRACER_F_NO_PAGES */
    int64_t now_ns;    /* monotonic */
    int64_t last_whole_ns; /* when all pages were counted last */
    int64_t whole_cost_ns; /* what that cost, 0 = unknown */
    int64_t interval_ns;
    int64_t budget_ns;
};

enum mt_depth mt_plan_depth(const struct mt_plan_input *in);

#endif
