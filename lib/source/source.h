/* SPDX-License-Identifier: MIT */
/* source: the operating system's memory → regions, page counts, counters.
 *
 * The seam of a port, and of the tests: a source is a table of functions, so that text in files
 * (tests/data) and fakes stand in for the kernel. One thread uses a source. After opening, no
 * function allocates; buffers are sized at open from mt_memory. */
#ifndef MT_SOURCE_SOURCE_H
#define MT_SOURCE_SOURCE_H

#include "base/region.h"
#include "base/snapshot.h"

struct mt_source;

struct mt_source_ops {
    /* Reads the cheap counters. */
    int (*counters)(struct mt_source *s, struct mt_counters *out);

    /* Lists all regions. With `pages` each region's page counts are filled as far as the slowest
     * interface tells (smaps); else pages.known is 0. An empty list is an error (EIO): a process
     * that can ask has memory. ESTATE: the process is gone. What did not change may be left in
     * `out` as the call before put it there: between two calls its regions are not written to. */
    int (*list)(struct mt_source *s, struct mt_snapshot *out, bool pages);

    /* Brings the list that `list` left in `out` to what the counters read last account for, without
     * reading it: as it was, or with one region more, less or of another size. False: more changed,
     * or it cannot be told; `out` is as it was, and to be listed. NULL = not had. */
    bool (*follow)(struct mt_source *s, struct mt_snapshot *out);

    /* Counts the pages of each interval whose pages.known is 0 (its bytes are those of the last
     * count, or 0), in order from `*next`, and moves `*next` behind the last one done. Stops early
     * when `deadline_ns` (monotonic, 0 = none) has passed. Fills at least RESIDENT, ANONYMOUS,
     * SWAP, HUGE where it can; an interval that cannot be counted keeps known = 0. Holds the
     * address-space lock in short slices only. */
    int (*count)(struct mt_source *s, const struct mt_snapshot *snapshot,
                 struct mt_interval *intervals, uint32_t n_intervals, uint32_t *next,
                 int64_t deadline_ns);

    void (*close)(struct mt_source *s);
};

/* What every source begins with. */
struct mt_source {
    const struct mt_source_ops *ops;
};

/* The process `pid`, 0 = this one. EDENIED, ESTATE (no such process), EUNSUPPORTED, each with a
 * detail that says what to do. The descriptors it opens live in the calling thread's table. */
int mt_source_open_process(uint32_t pid, struct mt_source **out);

/* Text files as the kernel would print them, in a directory: maps or smaps, status, pagemap (all
 * but one of maps and smaps optional). For tests and for post-mortem copies of /proc. */
int mt_source_open_files(const char *directory, struct mt_source **out);

#endif
