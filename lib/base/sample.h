/* SPDX-License-Identifier: MIT */
/* One sample: what a tick hands from the stages to the recorder. */
#ifndef MT_BASE_SAMPLE_H
#define MT_BASE_SAMPLE_H

#include "base/region.h"

/* How deep a tick looked; stored as sample.depth. Each includes the ones before it. */
enum mt_depth {
    MT_DEPTH_COUNTERS = 0, /* kernel counters only: nothing had changed, values are carried over */
    MT_DEPTH_LIST = 1,     /* the list of mappings; page counts are carried over */
    MT_DEPTH_PAGES = 2,    /* pages of what changed; the rest is carried over */
    MT_DEPTH_WHOLE = 3,    /* every page counted */
    MT_DEPTH_FULL = 4      /* and every column that only the slowest interface has (smaps) */
};

/* sample.flags; 0 is a perfect sample. */
#define MT_SAMPLE_SUM_OFF (1u << 0)    /* types do not add up to regions: a fault of memtracer */
#define MT_SAMPLE_TORN (1u << 1)       /* the list changed while it was read; overlaps cut away */
#define MT_SAMPLE_TRUNCATED (1u << 2)  /* more regions, claims or names than there is room for */
#define MT_SAMPLE_NO_PAGES (1u << 3)   /* resident columns are unknown */
#define MT_SAMPLE_PARTIAL (1u << 4)    /* the budget ended before all that changed was counted */
#define MT_SAMPLE_GAP (1u << 5)        /* before it nothing was seen for a while: see missed */
#define MT_SAMPLE_FAILED (1u << 6)     /* nothing could be seen; values are carried over */
#define MT_SAMPLE_REJECTED (1u << 7)   /* lines of the kernel's text were not understood */
#define MT_SAMPLE_CLOCK (1u << 8)      /* the wall clock jumped against the monotonic one */
#define MT_SAMPLE_EXPLICIT (1u << 9)   /* asked for by tracer_sample(), start or stop */
#define MT_SAMPLE_LIST_KEPT (1u << 10) /* the list of mappings was not read again: the counters */
                                       /* account for it, with one change at most */

struct mt_sample {
    int64_t t_ns;         /* monotonic, since the run's start */
    int64_t wall_ns;      /* since 1970 */
    uint8_t depth;        /* enum mt_depth */
    uint32_t flags;       /* MT_SAMPLE_… */
    uint32_t n_missed;    /* ticks whose moment passed unused before this one */
    int64_t cost_wall_ns; /* of this tick; -1 = unknown */
    int64_t cost_cpu_ns;  /* of the sampler thread since the sample before; -1 = unknown */
    uint64_t own_bytes;
    int64_t n_regions;     /* mappings as the OS listed them last, -1 = never */
    bool news;             /* gets a row of its own even where no type changed */
    const char *allocator; /* who serves malloc, a constant; NULL = not known in this sample */
    const struct mt_levels *levels;
    const struct mt_counters *counters;
    const struct mt_counter_words *counter_words; /* of counter USER_FIRST on; NULL = none known */

    /* region list: NULL when not recorded in this sample */
    struct mt_interval *intervals; /* `row` 0 = new; the recorder sets it */
    uint32_t n_intervals;
    const int64_t *ended_regions; /* rows whose region is gone or continued by another row */
    const int64_t *continued;     /* per interval: the row it continues, 0 = none; may be NULL */
    uint32_t n_ended_regions;
    const int64_t *merged_regions; /* rows whose memory is part of rows that continue others */
    uint32_t n_merged_regions;

    struct mt_module *modules; /* `row` 0 = new */
    uint32_t n_modules;
    const int64_t *ended_modules;
    uint32_t n_ended_modules;

    struct mt_thread *threads; /* `row` 0 = new */
    uint32_t n_threads;
    const int64_t *ended_threads;
    uint32_t n_ended_threads;
};

#endif
