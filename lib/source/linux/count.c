/* SPDX-License-Identifier: MIT */
/* source/linux: intervals without page counts → intervals with them.
 * In: a snapshot and its intervals. Out: pages, equal to smaps where smaps speaks of the same.
 * Called by open_process.c as an operation of the source. Private anonymous memory is scanned,
 * runs of neighbours in one call; what has a file or is the kernel's is read word by word, since
 * there "private or shared?" matters and is cheap. Must not hold the lock for long: pace.h. */
#define _GNU_SOURCE
#include "source/linux/count.h"

#include <string.h>
#include <sys/sysinfo.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/os/os.h"

#define KIND(name) (1u << MT_PAGE_##name)
#define READ (KIND(RESIDENT) | KIND(ANONYMOUS) | KIND(SHARED) | KIND(GUARD))
#define HUGETLB (KIND(HUGETLB_PRIVATE) | KIND(HUGETLB_SHARED))

/* Holes up to this are read along with their neighbours: cheaper than another call. */
#define HOLE_PAGES 64

/* From here on a file's interval is scanned first, and read only where it has pages: the cost of
 * reading follows the size, be it empty or not. */
#define SPARSE_BYTES (UINT64_C(64) << 20)

enum method { METHOD_NONE, METHOD_SCAN, METHOD_READ };

void mt_count_init(struct mt_count *c, int pagemap_fd, struct mt_scan_region *regions,
                   uint64_t *entries, struct mt_pace *pace)
{
    uint64_t page = mt_os_page_bytes();

    *c = (struct mt_count){.huge_bytes = page * (page / sizeof(uint64_t))};
    mt_scan_init(&c->scan, pagemap_fd, regions, pace);
    mt_pagemap_init(&c->pagemap, pagemap_fd, entries, pace);
}

static const char *name_of(const struct mt_count *c, const struct mt_region *r)
{
    return mt_strings_get(c->snapshot->strings, r->name, NULL);
}

static bool starts_with(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
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
    name = name_of(c, r);
    if (r->flags & MT_REGION_FILE)
        return !strcmp(name, "/dev/zero");
    return !strcmp(name, "[heap]") || starts_with(name, "[stack") || starts_with(name, "[anon:");
}

/* Memory objects without a disk: what is swapped out of them only smaps tells. */
static bool is_shmem(const struct mt_count *c, const struct mt_region *r)
{
    static const char *const prefixes[] = {"/memfd:",   "/SYSV",        "/dev/zero (",
                                           "/dev/shm/", "[anon_shmem:", "/dev/ashmem"};
    const char *name = name_of(c, r);

    if ((r->flags & MT_REGION_SHARED) && !(r->flags & MT_REGION_FILE))
        return true;
    for (unsigned i = 0; i < MT_COUNT_OF(prefixes); i++)
        if (starts_with(name, prefixes[i]))
            return true;
    return false;
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

static bool is_sparse(const struct mt_count *c, const struct mt_interval *v)
{
    return c->scan.works && v->end - v->base > SPARSE_BYTES;
}

/* Intervals [first, end) go through one method together. Those to be read must also be close, and
 * no more than one reading holds: between two runs the clock is looked at. */
static uint32_t run_end(const struct mt_count *c, uint32_t first, uint32_t n, enum method method)
{
    const struct mt_interval *v = c->intervals;
    uint64_t hole = HOLE_PAGES * c->pagemap.page_bytes;
    uint64_t most = MT_PAGEMAP_ENTRIES * c->pagemap.page_bytes;
    uint32_t end = first + 1;

    if (method == METHOD_READ && is_sparse(c, &v[first]))
        return end;
    while (end < n && method_of(c, &v[end]) == method) {
        if (method == METHOD_READ && (v[end].base - v[end - 1].end > hole ||
                                      is_sparse(c, &v[end]) || v[end].end - v[first].base > most))
            break;
        end++;
    }
    return end;
}

/* ---- files, shared memory, the kernel's pages: read ---- */

/* One step of a scan of `v`, from `at`. */
static int scan_from(struct mt_count *c, const struct mt_interval *v, uint64_t at, uint64_t any)
{
    uint64_t page = c->pagemap.page_bytes;
    uint64_t bytes = c->scan.bytes.units / page * page;

    return mt_scan_step(&c->scan, at, at + (bytes < v->end - at ? bytes : v->end - at), any);
}

static int read_sparse(struct mt_count *c, struct mt_interval *v)
{
    const uint64_t hole = HOLE_PAGES * c->pagemap.page_bytes;
    uint64_t from = v->base, to = v->base; /* pages seen, not read yet */

    for (uint64_t at = v->base; at < v->end; at = c->scan.next) {
        int error = scan_from(c, v, at, MT_SCAN_PRESENT | MT_SCAN_SWAPPED);

        for (uint32_t k = 0; k < c->scan.n && !error; k++) {
            const struct mt_scan_region *r = &c->scan.regions[k];

            if (r->start - to > hole) {
                error = mt_pagemap_count(&c->pagemap, from, to, v, 1);
                from = r->start;
            }
            to = r->end;
        }
        if (error)
            return error;
    }
    return mt_pagemap_count(&c->pagemap, from, to, v, 1);
}

/* Memory that is mapped shared holds nothing of the process's own, and of whose else it is no
 * counter tells: where as much of it is resident as at the last count, the last count's share
 * stands until smaps is read. The kernel tells what is resident without a look at each page's
 * descriptor. */
static bool is_large_shared(const struct mt_count *c, const struct mt_interval *v)
{
    const uint32_t special = MT_REGION_HUGETLB | MT_REGION_DEVICE | MT_REGION_MIXED;
    uint32_t flags = c->snapshot->regions[v->region].flags;

    return (flags & MT_REGION_SHARED) && !(flags & special) && is_sparse(c, v);
}

static int count_shared(struct mt_count *c, struct mt_interval *v, const struct mt_pages *last,
                        bool *out_done)
{
    uint64_t present = 0;

    for (uint64_t at = v->base; at < v->end; at = c->scan.next) {
        int error = scan_from(c, v, at, MT_SCAN_PRESENT);

        if (error)
            return error;
        for (uint32_t k = 0; k < c->scan.n; k++)
            present += c->scan.regions[k].end - c->scan.regions[k].start;
    }
    *out_done = present == last->bytes[MT_PAGE_RESIDENT];
    if (*out_done) {
        v->pages.bytes[MT_PAGE_RESIDENT] = present;
        v->pages.bytes[MT_PAGE_SHARED] = last->bytes[MT_PAGE_SHARED];
    }
    return TRACER_OK;
}

/* An interval that is a run of its own. */
static int read_alone(struct mt_count *c, struct mt_interval *v, const struct mt_pages *last)
{
    bool done = false;
    int error = is_large_shared(c, v) ? count_shared(c, v, last, &done) : TRACER_OK;

    return error || done ? error : read_sparse(c, v);
}

static int count_huge(struct mt_count *c, struct mt_interval *v)
{
    for (uint64_t at = v->base; at < v->end; at = c->scan.next) {
        int error = scan_from(c, v, at, MT_SCAN_HUGE);

        if (error)
            return error;
        for (uint32_t k = 0; k < c->scan.n; k++)
            v->pages.bytes[MT_PAGE_HUGE] += c->scan.regions[k].end - c->scan.regions[k].start;
    }
    return TRACER_OK;
}

/* Resident memory of hugetlb is no part of the kernel's Rss, nor anonymous, nor a THP. */
static void finish_hugetlb(struct mt_pages *p)
{
    uint64_t present = p->bytes[MT_PAGE_RESIDENT], shared = p->bytes[MT_PAGE_SHARED];

    memset(p->bytes, 0, sizeof(p->bytes));
    p->bytes[MT_PAGE_HUGETLB_PRIVATE] = present - shared;
    p->bytes[MT_PAGE_HUGETLB_SHARED] = shared;
    p->known = READ | HUGETLB | KIND(SWAP) | KIND(HUGE);
}

static bool may_hold_huge(const struct mt_count *c, const struct mt_interval *v)
{
    uint64_t first = (v->base + c->huge_bytes - 1) / c->huge_bytes * c->huge_bytes;

    return first + c->huge_bytes <= v->end && v->pages.bytes[MT_PAGE_RESIDENT] >= c->huge_bytes;
}

/* pagemap said nothing of huge pages, and of swap only where the words hold it. */
static int finish_read(struct mt_count *c, struct mt_interval *v)
{
    const struct mt_region *r = &c->snapshot->regions[v->region];
    bool huge = may_hold_huge(c, v);
    int error = TRACER_OK;

    if (r->flags & MT_REGION_HUGETLB) {
        finish_hugetlb(&v->pages);
        return TRACER_OK;
    }
    v->pages.known = READ;
    if (huge && c->scan.works)
        error = count_huge(c, v);
    if (!huge || (c->scan.works && !error))
        v->pages.known |= KIND(HUGE);
    if (!c->system_swaps || !is_shmem(c, r))
        v->pages.known |= KIND(SWAP);
    return error;
}

/* `last` is what the run's first interval had at the last count; zeros where that is not known. */
static int read_run(struct mt_count *c, uint32_t first, uint32_t end, const struct mt_pages *last,
                    uint32_t *out_done)
{
    struct mt_interval *v = &c->intervals[first];
    uint32_t n = end - first;
    int error = is_sparse(c, v) ? read_alone(c, v, last)
                                : mt_pagemap_count(&c->pagemap, v->base, v[n - 1].end, v, n);

    *out_done = end;
    if (error) {
        mt_count_forget(v, n);
        return error;
    }
    for (uint32_t i = 0; i < n && !error; i++)
        error = finish_read(c, &v[i]);
    return error;
}

/* ---- all ---- */

static bool system_swaps(void)
{
    struct sysinfo info;

    return sysinfo(&info) != 0 || info.totalswap > 0;
}

int mt_count_intervals(struct mt_count *c, const struct mt_snapshot *snapshot,
                       struct mt_interval *intervals, uint32_t n_intervals, uint32_t *next)
{
    int error = TRACER_OK;

    c->snapshot = snapshot;
    c->intervals = intervals;
    c->system_swaps = system_swaps();
    while (*next < n_intervals && error != TRACER_ESTATE) {
        enum method method = method_of(c, &intervals[*next]);
        uint32_t end = run_end(c, *next, n_intervals, method);
        const struct mt_pages last = intervals[*next].pages;

        if (method != METHOD_NONE)
            mt_count_forget(intervals + *next, end - *next);
        switch (method) {
        case METHOD_NONE: *next = end; continue;
        case METHOD_SCAN: error = mt_count_scan_run(c, *next, end, next); break;
        case METHOD_READ: error = read_run(c, *next, end, &last, next); break;
        }
        if (mt_count_is_late(c))
            return TRACER_OK;
    }
    return error == TRACER_ESTATE ? error : TRACER_OK;
}
