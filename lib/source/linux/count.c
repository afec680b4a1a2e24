/* SPDX-License-Identifier: MIT */
/* source/linux: intervals without page counts → intervals with them.
 * In: a snapshot and its intervals. Out: pages, equal to smaps where smaps speaks of the same.
 * Called by open_process.c as an operation of the source. Private anonymous memory is scanned,
 * runs of neighbours in one call (count_anonymous.c); what has a file or is the kernel's is read
 * word by word, since there "private or shared?" matters (count_files.c). Must not hold the lock
 * for long: pace.h. */
#define _GNU_SOURCE
#include "source/linux/count.h"

#include <string.h>
#include <sys/sysinfo.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/os/os.h"

/* Swap is seldom made or given up; asked by each look it would cost a tenth of a small one. */
#define SWAP_AGE_NS (INT64_C(1) * 1000000000)

enum method { METHOD_NONE, METHOD_SCAN, METHOD_READ };

void mt_count_init(struct mt_count *c, int pagemap_fd, struct mt_scan_region *regions,
                   uint64_t *entries, struct mt_pace *pace)
{
    uint64_t page = mt_os_page_bytes();

    *c = (struct mt_count){.huge_bytes = page * (page / sizeof(uint64_t))};
    mt_scan_init(&c->scan, pagemap_fd, regions, pace);
    mt_pagemap_init(&c->pagemap, pagemap_fd, entries, pace);
}

/* Names in brackets are the kernel's own pages, all but these. /dev/zero, mapped privately, is
 * anonymous memory under a file's name. */
static bool is_anonymous(const struct mt_count *c, const struct mt_region *r)
{
    const char *name;

    if (r->flags & (MT_REGION_SHARED | MT_REGION_HUGETLB | MT_REGION_DEVICE | MT_REGION_MIXED))
        return false;
    if (r->name == 0)
        return !(r->flags & MT_REGION_FILE);
    name = mt_strings_get(c->snapshot->strings, r->name, NULL);
    if (r->flags & MT_REGION_FILE)
        return !strcmp(name, "/dev/zero");
    return !strcmp(name, "[heap]") || !strncmp(name, "[stack", 6) || !strncmp(name, "[anon:", 6);
}

static enum method method_of(const struct mt_count *c, const struct mt_interval *v)
{
    const struct mt_region *r = &c->snapshot->regions[v->region];

    if (v->pages.known || (r->flags & MT_REGION_OUTSIDE) || c->pagemap.fd < 0)
        return METHOD_NONE;
    if (is_anonymous(c, r))
        return c->scan.works ? METHOD_SCAN : METHOD_NONE;
    return METHOD_READ;
}

/* Intervals [first, end) go through one method together. Those to be read must also be close, and
 * no more than one reading holds: between two runs the clock is looked at. */
static uint32_t run_end(const struct mt_count *c, uint32_t first, uint32_t n, enum method method)
{
    const struct mt_interval *v = c->intervals;
    uint64_t hole = MT_COUNT_HOLE_PAGES * c->pagemap.page_bytes;
    uint64_t most = MT_PAGEMAP_ENTRIES * c->pagemap.page_bytes;
    uint32_t end = first + 1;

    if (method == METHOD_READ && mt_count_is_sparse(c, &v[first]))
        return end;
    while (end < n && method_of(c, &v[end]) == method) {
        if (method == METHOD_READ &&
            (end - first == MT_COUNT_RUN || v[end].base - v[end - 1].end > hole ||
             mt_count_is_sparse(c, &v[end]) || v[end].end - v[first].base > most))
            break;
        end++;
    }
    return end;
}

/* The kernel adds up its sums over all processors for this. */
static void ask_for_swap(struct mt_count *c)
{
    int64_t now_ns = mt_os_monotonic_ns();
    struct sysinfo info;

    if (c->swaps_asked_ns && now_ns - c->swaps_asked_ns < SWAP_AGE_NS)
        return;
    c->system_swaps = sysinfo(&info) != 0 || info.totalswap > 0;
    c->swaps_asked_ns = now_ns;
}

int mt_count_intervals(struct mt_count *c, const struct mt_snapshot *snapshot,
                       struct mt_interval *intervals, uint32_t n_intervals, uint32_t *next)
{
    int error = TRACER_OK;

    c->snapshot = snapshot;
    c->intervals = intervals;
    ask_for_swap(c);
    while (*next < n_intervals && error != TRACER_ESTATE) {
        enum method method = method_of(c, &intervals[*next]);
        uint32_t end = run_end(c, *next, n_intervals, method);

        switch (method) {
        case METHOD_NONE: *next = end; continue;
        case METHOD_SCAN: error = mt_count_scan_run(c, *next, end, next); break;
        case METHOD_READ: error = mt_count_read_run(c, *next, end, next); break;
        }
        if (mt_count_is_late(c))
            return TRACER_OK;
    }
    return error == TRACER_ESTATE ? error : TRACER_OK;
}
