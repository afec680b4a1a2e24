/* SPDX-License-Identifier: MIT */
/* Page counts of intervals, each by the cheapest interface that is exact for its kind. */
#ifndef MT_SOURCE_LINUX_COUNT_H
#define MT_SOURCE_LINUX_COUNT_H

#include "base/snapshot.h"
#include "source/linux/pagemap.h"
#include "source/linux/scan.h"

#define MT_COUNT_SPARSE_BITS 8

/* Holes up to this are read along with their neighbours: cheaper than another call. */
#define MT_COUNT_HOLE_PAGES 64

/* So many intervals of files go together at most. */
#define MT_COUNT_RUN 64

struct mt_count {
    struct mt_scan scan;
    struct mt_pagemap pagemap;
    uint64_t huge_bytes; /* size of a transparent huge page */
    int64_t deadline_ns; /* monotonic, 0 = none; set before a call */
    bool own;            /* the process is this one */
    bool dense;          /* most of what was scanned last is resident: ask for the rest */
    uint64_t sparse[1 << MT_COUNT_SPARSE_BITS]; /* bases of intervals of which little is resident */
    uint64_t empty_bytes;                       /* the last call passed so many and found nothing */
    uint64_t presumed_end; /* below it, what the last run counted must prove to be mapped */

    /* of one call */
    const struct mt_snapshot *snapshot;
    struct mt_interval *intervals;
    bool system_swaps;      /* as of … */
    int64_t swaps_asked_ns; /* … 0 = never asked */
};

/* Tells what can be counted through `pagemap_fd` (-1 = nothing). */
void mt_count_init(struct mt_count *c, int pagemap_fd, struct mt_scan_region *regions,
                   uint64_t *entries, struct mt_pace *pace);

/* See mt_source_ops.count. Private anonymous memory needs the page scan; without it, it stays
 * unknown, so that smaps is used: pagemap would count zero pages as memory. */
int mt_count_intervals(struct mt_count *c, const struct mt_snapshot *snapshot,
                       struct mt_interval *intervals, uint32_t n_intervals, uint32_t *next);

/* ---- count_anonymous.c ---- */

/* Scans the intervals [first, end), all private and anonymous, and says which was done last. Goes
 * on past the deadline until one is done. */
int mt_count_scan_run(struct mt_count *c, uint32_t first, uint32_t end, uint32_t *out_done);

/* ---- count_files.c ---- */

/* Intervals from here on are runs of their own. */
bool mt_count_is_sparse(const struct mt_count *c, const struct mt_interval *v);

/* Reads the intervals [first, end), none of them private and anonymous, at most MT_COUNT_RUN. */
int mt_count_read_run(struct mt_count *c, uint32_t first, uint32_t end, uint32_t *out_done);

void mt_count_forget(struct mt_interval *intervals, uint32_t n);
bool mt_count_is_late(const struct mt_count *c);

#endif
