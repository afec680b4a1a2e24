/* SPDX-License-Identifier: MIT */
/* source/linux: intervals of files, shared memory and the kernel's own pages → their page counts.
 * In: a run of intervals close to each other, with what they had at the last count. Out: pages.
 * Called by count.c. To read a word of the page map the kernel looks at that page's descriptor,
 * which is slow; where none of the process's own pages can come or go unseen it is only asked what
 * is resident, and words are read when that differs. Must not do so for memory that may be written
 * privately: a page of the file becomes one of the process's own, and as much is resident. */
#define _GNU_SOURCE
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "source/linux/count.h"

#define KIND(name) (1u << MT_PAGE_##name)
#define READ (KIND(RESIDENT) | KIND(ANONYMOUS) | KIND(SHARED) | KIND(GUARD))
#define HUGETLB (KIND(HUGETLB_PRIVATE) | KIND(HUGETLB_SHARED))

/* From here on an interval is scanned first, and read only where it has pages: the cost of reading
 * follows the size, be it empty or not. */
#define SPARSE_BYTES (UINT64_C(64) << 20)

/* Fewer pages are read as quickly as asked about. */
#define WORTH_PAGES 16

bool mt_count_is_sparse(const struct mt_count *c, const struct mt_interval *v)
{
    return c->scan.works && v->end - v->base > SPARSE_BYTES;
}

/* Memory objects without a disk: what is swapped out of them only smaps tells. */
static bool is_shmem(const struct mt_count *c, const struct mt_region *r)
{
    static const char *const prefixes[] = {"/memfd:",   "/SYSV",        "/dev/zero (",
                                           "/dev/shm/", "[anon_shmem:", "/dev/ashmem"};
    const char *name;

    if ((r->flags & MT_REGION_SHARED) && !(r->flags & MT_REGION_FILE))
        return true;
    name = mt_strings_get(c->snapshot->strings, r->name, NULL);
    for (unsigned i = 0; i < MT_COUNT_OF(prefixes); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static int scan_to(struct mt_count *c, uint64_t at, uint64_t end, uint64_t any)
{
    uint64_t page = c->pagemap.page_bytes;
    uint64_t bytes = c->scan.bytes.units / page * page;

    return mt_scan_step(&c->scan, at, at + (bytes < end - at ? bytes : end - at), any);
}

/* ---- what stands as it was ---- */

/* Shared memory holds nothing of the process's own, and what cannot be written only what was
 * written before it became so. Whose else a page is no counter tells: that stands until smaps is
 * read, as far as as much is resident. */
static bool is_steady(const struct mt_count *c, const struct mt_interval *v)
{
    const uint32_t special = MT_REGION_HUGETLB | MT_REGION_DEVICE | MT_REGION_MIXED;
    const struct mt_region *r = &c->snapshot->regions[v->region];

    if (r->flags & special)
        return false;
    return (r->flags & MT_REGION_SHARED) ||
           ((r->flags & MT_REGION_FILE) && !(r->protection & MT_PROT_WRITE));
}

static bool is_worth_asking(const struct mt_count *c, const struct mt_interval *v, uint32_t n)
{
    uint64_t steady = 0;

    for (uint32_t i = 0; i < n; i++)
        if (is_steady(c, &v[i]))
            steady += v[i].pages.bytes[MT_PAGE_RESIDENT];
    return c->scan.works && steady >= WORTH_PAGES * c->pagemap.page_bytes;
}

/* What the scan sees in each of the intervals, without a look at whose the pages are. */
static int see(struct mt_count *c, const struct mt_interval *v, uint32_t n, struct mt_pages *seen)
{
    uint32_t i = 0;

    for (uint64_t at = v[0].base; at < v[n - 1].end; at = c->scan.next) {
        int error = scan_to(c, at, v[n - 1].end, MT_SCAN_PRESENT | MT_SCAN_SWAPPED);

        if (error)
            return error;
        for (uint32_t k = 0; k < c->scan.n; k++) {
            const struct mt_scan_region *r = &c->scan.regions[k];

            while (i < n && v[i].end <= r->start)
                i++;
            for (uint32_t j = i; j < n && v[j].base < r->end; j++)
                mt_scan_add(&seen[j], r->categories,
                            (r->end < v[j].end ? r->end : v[j].end) -
                                (r->start > v[j].base ? r->start : v[j].base));
        }
    }
    return TRACER_OK;
}

static bool is_as_seen(const struct mt_pages *last, const struct mt_pages *seen)
{
    static const uint8_t kinds[] = {MT_PAGE_RESIDENT, MT_PAGE_SWAP, MT_PAGE_GUARD};

    for (unsigned i = 0; i < MT_COUNT_OF(kinds); i++)
        if (last->bytes[kinds[i]] != seen->bytes[kinds[i]])
            return false;
    return true;
}

/* What pagemap and the scan know of swap: not what is swapped out of a memory object. */
static uint32_t swap_known(const struct mt_count *c, const struct mt_interval *v)
{
    const struct mt_region *r = &c->snapshot->regions[v->region];

    return !c->system_swaps || !is_shmem(c, r) ? KIND(SWAP) : 0;
}

/* Leaves the intervals known that stand as they were, and the others without anything. */
static int recall(struct mt_count *c, struct mt_interval *v, uint32_t n)
{
    struct mt_pages seen[MT_COUNT_RUN];
    bool asks = is_worth_asking(c, v, n);
    int error;

    memset(seen, 0, n * sizeof(seen[0]));
    error = asks ? see(c, v, n, seen) : TRACER_OK;
    for (uint32_t i = 0; i < n; i++) {
        struct mt_pages *last = &v[i].pages;

        if (!asks || error || !is_steady(c, &v[i]) || !is_as_seen(last, &seen[i])) {
            *last = (struct mt_pages){.known = 0};
            continue;
        }
        last->bytes[MT_PAGE_HUGE] = seen[i].bytes[MT_PAGE_HUGE];
        last->known = READ | KIND(HUGE) | swap_known(c, &v[i]);
    }
    return error;
}

/* ---- what is read ---- */

static int read_sparse(struct mt_count *c, struct mt_interval *v)
{
    const uint64_t hole = MT_COUNT_HOLE_PAGES * c->pagemap.page_bytes;
    uint64_t from = v->base, to = v->base; /* pages seen, not read yet */

    for (uint64_t at = v->base; at < v->end; at = c->scan.next) {
        int error = scan_to(c, at, v->end, MT_SCAN_PRESENT | MT_SCAN_SWAPPED);

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

static int count_huge(struct mt_count *c, struct mt_interval *v)
{
    for (uint64_t at = v->base; at < v->end; at = c->scan.next) {
        int error = scan_to(c, at, v->end, MT_SCAN_HUGE);

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

/* pagemap said nothing of huge pages. */
static int finish_read(struct mt_count *c, struct mt_interval *v)
{
    bool huge = may_hold_huge(c, v);
    int error = TRACER_OK;

    if (c->snapshot->regions[v->region].flags & MT_REGION_HUGETLB) {
        finish_hugetlb(&v->pages);
        return TRACER_OK;
    }
    v->pages.known = READ | swap_known(c, v);
    if (huge && c->scan.works)
        error = count_huge(c, v);
    if (!huge || (c->scan.works && !error))
        v->pages.known |= KIND(HUGE);
    return error;
}

/* Neighbours in one reading, holes between them included. */
static int read_together(struct mt_count *c, struct mt_interval *v, uint32_t n)
{
    int error = mt_count_is_sparse(c, v)
                    ? read_sparse(c, v)
                    : mt_pagemap_count(&c->pagemap, v->base, v[n - 1].end, v, n);

    for (uint32_t i = 0; i < n && !error; i++)
        error = finish_read(c, &v[i]);
    return error;
}

int mt_count_read_run(struct mt_count *c, uint32_t first, uint32_t end, uint32_t *out_done)
{
    struct mt_interval *v = c->intervals;
    int error = recall(c, &v[first], end - first);

    *out_done = end;
    for (uint32_t i = first; i < end && !error;) {
        uint32_t next = i + 1;

        if (v[i].pages.known) {
            i = next;
            continue;
        }
        while (next < end && !v[next].pages.known)
            next++;
        error = read_together(c, &v[i], next - i);
        i = next;
    }
    if (error)
        mt_count_forget(&v[first], end - first);
    return error;
}
