/* SPDX-License-Identifier: MIT */
/* source/linux: intervals of private anonymous memory → their page counts, by the page scan.
 * In: a run of intervals without others between them. Out: pages of those that were reached.
 * Called by count.c. Where most is resident, the kernel is asked for what is not, which is half the
 * work; such an interval must prove to be mapped still. Must not be given memory of the kernel's or
 * of devices: the scan passes over it, and it would count as resident.
 * Uses: msync with MS_ASYNC, as a question only. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "base/error.h"
#include "base/os/os.h"
#include "source/linux/count.h"

#define KIND(name) (1u << MT_PAGE_##name)
#define SCANNED (KIND(RESIDENT) | KIND(ANONYMOUS) | KIND(SWAP) | KIND(HUGE) | KIND(GUARD))

/* Half a megabyte of pages listed one by one costs the kernel what another call does. */
#define ALONG_BYTES (UINT64_C(512) << 10)

/* Address space without tables that one call passes over at most. */
#define EMPTY_BYTES (UINT64_C(16) << 30)

void mt_count_forget(struct mt_interval *intervals, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        intervals[i].pages = (struct mt_pages){.known = 0};
}

bool mt_count_is_late(const struct mt_count *c)
{
    return c->deadline_ns != 0 && mt_os_monotonic_ns() >= c->deadline_ns;
}

/* Kernels that scan but do not tell guards from swap may tell them in pagemap. */
static int add_swapped(struct mt_count *c, struct mt_pages *to, uint64_t start, uint64_t end)
{
    struct mt_interval v = {.base = start, .end = end};
    int error = mt_pagemap_count(&c->pagemap, start, end, &v, 1);

    if (error)
        return error;
    to->bytes[MT_PAGE_SWAP] += v.pages.bytes[MT_PAGE_SWAP];
    to->bytes[MT_PAGE_GUARD] += v.pages.bytes[MT_PAGE_GUARD];
    return TRACER_OK;
}

/* Adds one range of the last step to what interval `v` has of it. After a scan for the rest, the
 * range is first taken out of what is resident. */
static int add_range(struct mt_count *c, struct mt_interval *v, const struct mt_scan_region *r,
                     bool rest)
{
    uint64_t from = r->start > v->base ? r->start : v->base;
    uint64_t to = r->end < v->end ? r->end : v->end;

    if (rest) {
        v->pages.bytes[MT_PAGE_RESIDENT] -= to - from;
        v->pages.bytes[MT_PAGE_ANONYMOUS] -= to - from;
    }
    if ((r->categories & MT_SCAN_SWAPPED) && !c->scan.guards)
        return add_swapped(c, &v->pages, from, to);
    mt_scan_add(&v->pages, r->categories, to - from);
    return TRACER_OK;
}

/* Gives the ranges of the last step to the intervals [i, end). */
static int share_out(struct mt_count *c, uint32_t i, uint32_t end, bool rest)
{
    for (uint32_t k = 0; k < c->scan.n; k++) {
        const struct mt_scan_region *r = &c->scan.regions[k];

        while (i < end && c->intervals[i].end <= r->start)
            i++;
        for (uint32_t j = i; j < end && c->intervals[j].base < r->end; j++) {
            int error = add_range(c, &c->intervals[j], r, rest);

            if (error)
                return error;
        }
    }
    return TRACER_OK;
}

/* The kernel says nothing of addresses without a mapping, and a scan for the rest takes them for
 * resident: what another thread has unmapped since the list was read. This form of msync does no
 * more than look whether all of a range is mapped. */
static bool is_mapped(uint64_t base, uint64_t end)
{
    return msync((void *)(uintptr_t)base, end - base, MS_ASYNC) == 0;
}

/* What the step from `at` covered of the intervals from `i` on is resident until told otherwise. */
static void presume(struct mt_count *c, uint64_t at, uint32_t i, uint32_t end)
{
    for (; i < end && c->intervals[i].base < c->scan.next; i++) {
        struct mt_interval *v = &c->intervals[i];
        uint64_t from = at > v->base ? at : v->base;
        uint64_t to = c->scan.next < v->end ? c->scan.next : v->end;

        v->pages.bytes[MT_PAGE_RESIDENT] += to - from;
        v->pages.bytes[MT_PAGE_ANONYMOUS] += to - from;
    }
    c->presumed_end = c->scan.next;
}

/* ---- how to ask ---- */

/* Where an interval's base is noted when little of it is resident: by its address, and without
 * chains, for what is lost here costs no more than one slow call. */
static uint64_t *note_of(struct mt_count *c, uint64_t base)
{
    return &c->sparse[(base / c->pagemap.page_bytes * UINT64_C(0x9e3779b97f4a7c15)) >>
                      (64 - MT_COUNT_SPARSE_BITS)];
}

static void note_interval(struct mt_count *c, const struct mt_interval *v)
{
    uint64_t *note = note_of(c, v->base);

    if (v->pages.bytes[MT_PAGE_RESIDENT] < (v->end - v->base) / 2)
        *note = v->base;
    else if (*note == v->base)
        *note = 0;
}

static bool is_sparse(struct mt_count *c, const struct mt_interval *v)
{
    return *note_of(c, v->base) == v->base;
}

static bool is_reserved(const struct mt_count *c, const struct mt_interval *v)
{
    return c->snapshot->regions[v->region].protection == 0;
}

/* Reservations have no page tables as a rule, and small intervals are not worth a call of their
 * own: both are asked for along with their neighbours. */
static bool goes_along(const struct mt_count *c, const struct mt_interval *v)
{
    return is_reserved(c, v) || v->end - v->base < ALONG_BYTES;
}

static bool wants_rest(struct mt_count *c, uint32_t i, uint32_t end)
{
    while (i + 1 < end && goes_along(c, &c->intervals[i]))
        i++;
    return c->own && !is_sparse(c, &c->intervals[i]);
}

/* What the step from `at` tells of the calls to come: the next pages of an interval that was not
 * done will be alike, and where there was nothing, a call may go further than tables would allow.
 */
static void note_density(struct mt_count *c, uint64_t at, uint32_t i, uint32_t end, bool rest)
{
    uint64_t mapped = 0, listed = 0;

    for (; i < end && c->intervals[i].base < c->scan.next; i++) {
        const struct mt_interval *v = &c->intervals[i];
        uint64_t from = at > v->base ? at : v->base;

        mapped += (c->scan.next < v->end ? c->scan.next : v->end) - from;
    }
    for (uint32_t k = 0; k < c->scan.n; k++)
        listed += c->scan.regions[k].end - c->scan.regions[k].start;
    c->dense = c->own && (rest ? listed < mapped / 2 : listed > mapped / 2);
    c->empty_bytes = !rest && listed == 0 ? c->scan.next - at : 0;
    if (rest && listed < mapped)
        mt_scan_learn_rest(&c->scan, mapped - listed);
}

/* Mapped bytes of one call. Within an interval, a stretch without pages may grow fourfold. */
static uint64_t call_bytes(const struct mt_count *c, bool within, bool rest)
{
    uint64_t bytes = rest ? c->scan.dense.units : c->scan.bytes.units;
    uint64_t empty = c->empty_bytes < EMPTY_BYTES / 4 ? 4 * c->empty_bytes : EMPTY_BYTES;

    if (within && !rest && empty > bytes)
        bytes = empty;
    return bytes / c->pagemap.page_bytes * c->pagemap.page_bytes;
}

/* Where a call that begins at `at`, in interval `i`, should end: so many mapped bytes further, or
 * where the other way of asking is better. Holes cost nothing and are not counted, nor are
 * reservations: where these have pages the limit on pages holds, and a scan for the rest, which has
 * no such limit, counts those it does not know to be empty. */
static uint64_t slice_end(struct mt_count *c, uint64_t at, uint32_t i, uint32_t end, bool rest)
{
    uint64_t left = call_bytes(c, at > c->intervals[i].base, rest);

    for (;; i++) {
        const struct mt_interval *v = &c->intervals[i];
        uint64_t from = at > v->base ? at : v->base;
        bool costs = !is_reserved(c, v) || (rest && !is_sparse(c, v));

        if (costs && v->end - from >= left)
            return from + left;
        if (i + 1 == end ||
            (!goes_along(c, &c->intervals[i + 1]) && wants_rest(c, i + 1, end) != rest))
            return v->end;
        left -= costs ? v->end - from : 0;
    }
}

/* One call of the kernel from `at` in interval `i`, given to the intervals it covers: for what is
 * there, or for the rest. */
static int scan_once(struct mt_count *c, uint64_t at, uint32_t i, uint32_t end, bool rest)
{
    uint64_t to = slice_end(c, at, i, end, rest);
    int error = rest ? mt_scan_rest(&c->scan, at, to)
                     : mt_scan_step(&c->scan, at, to, MT_SCAN_PRESENT | MT_SCAN_SWAPPED);

    if (error)
        return error;
    if (rest)
        presume(c, at, i, end);
    error = share_out(c, i, end, rest);
    note_density(c, at, i, end, rest);
    return error;
}

/* Counts one interval by what is there. */
static int scan_again(struct mt_count *c, struct mt_interval *v, uint32_t i)
{
    int error = TRACER_OK;

    v->pages = (struct mt_pages){.known = 0};
    for (uint64_t at = v->base; at < v->end && !error; at = c->scan.next)
        error = scan_once(c, at, i, i + 1, false);
    return error;
}

static int finish_interval(struct mt_count *c, uint32_t i, bool proven)
{
    struct mt_interval *v = &c->intervals[i];
    int error = TRACER_OK;

    if (!proven && !is_mapped(v->base, v->end))
        error = scan_again(c, v, i);
    v->pages.known = error ? 0 : SCANNED;
    if (!error)
        note_interval(c, v);
    return error;
}

/* Finishes the intervals from `i` on that end at or below `at`, and returns how many there are.
 * Neighbours without a hole between them are proven by one call. */
static uint32_t finish_scanned(struct mt_count *c, uint32_t i, uint32_t end, uint64_t at,
                               int *out_error)
{
    const struct mt_interval *v = c->intervals;
    uint32_t first = i;

    while (i < end && v[i].end <= at && !*out_error) {
        uint32_t run = i + 1;
        bool proven;

        while (run < end && v[run].end <= at && v[run].base == v[run - 1].end)
            run++;
        proven = v[i].base >= c->presumed_end || is_mapped(v[i].base, v[run - 1].end);
        for (; i < run && !*out_error; i++)
            *out_error = finish_interval(c, i, proven);
    }
    return i - first;
}

/* Goes on past the deadline until one interval is done, or a large one would never be. */
int mt_count_scan_run(struct mt_count *c, uint32_t first, uint32_t end, uint32_t *out_done)
{
    struct mt_interval *v = c->intervals;
    uint64_t at = v[first].base;
    uint32_t i = first;
    int error = TRACER_OK;

    c->presumed_end = 0;
    mt_count_forget(v + first, end - first);
    while (i < end && !error && !(i > first && mt_count_is_late(c))) {
        error = scan_once(c, at, i, end, at > v[i].base ? c->dense : wants_rest(c, i, end));
        if (error)
            break;
        at = c->scan.next;
        i += finish_scanned(c, i, end, at, &error);
        if (i < end && at < v[i].base)
            at = v[i].base;
    }
    mt_count_forget(v + i, end - i);
    *out_done = error ? end : i;
    return error;
}
