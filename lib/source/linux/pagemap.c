/* SPDX-License-Identifier: MIT */
/* source/linux: page table words → counts of pages, interval by interval.
 * In: an address range. Out: sums in the intervals it crosses.
 * Called by count.c. Must not be used for private anonymous memory where the page scan works: a
 * word does not tell the page of zeros (no memory) from an anonymous page shared by a fork.
 * Uses: pread of /proc/PID/pagemap; bits 63 present, 62 swapped, 61 file or shared (3.5), 56 mapped
 * once (4.2), 58 guard marker (6.15). */
#define _GNU_SOURCE
#include "source/linux/pagemap.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/os/os.h"

#define LEAST_ENTRIES 512

void mt_pagemap_init(struct mt_pagemap *p, int fd, uint64_t *entries, struct mt_pace *pace)
{
    *p = (struct mt_pagemap){.fd = fd, .entries = entries, .pace = pace};
    p->page_bytes = mt_os_page_bytes();
    p->slice = (struct mt_slice){MT_PAGEMAP_ENTRIES, LEAST_ENTRIES, MT_PAGEMAP_ENTRIES};
}

/* Without a branch: the words of neighbours are alike in long runs and then not at all. */
void mt_pagemap_tally(const uint64_t *entries, uint64_t n, uint64_t page_bytes,
                      struct mt_pages *pages)
{
    uint64_t present = 0, anonymous = 0, shared = 0, swapped = 0, guards = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t e = entries[i], here = e >> 63;
        uint64_t guard = (e >> 58 & 1u) & ~here;

        present += here;
        anonymous += here & ~(e >> 61);
        shared += here & ~(e >> 56);
        swapped += (e >> 62 & 1u) & ~guard;
        guards += guard;
    }
    pages->bytes[MT_PAGE_RESIDENT] += present * page_bytes;
    pages->bytes[MT_PAGE_ANONYMOUS] += anonymous * page_bytes;
    pages->bytes[MT_PAGE_SHARED] += shared * page_bytes;
    pages->bytes[MT_PAGE_SWAP] += swapped * page_bytes;
    pages->bytes[MT_PAGE_GUARD] += guards * page_bytes;
}

/* Reads the next entries of [start, end), one at least. */
static int read_entries(struct mt_pagemap *p, uint64_t start, uint64_t end)
{
    off_t offset = (off_t)(start / p->page_bytes * sizeof(uint64_t));
    uint64_t wanted = (end - start) / p->page_bytes, n;
    ssize_t got;
    int64_t ns;

    if (!mt_os_descriptor_is_ours(p->fd))
        return mt_error_set(TRACER_EIO, "the host closed the descriptor of pagemap");
    if (wanted > p->slice.units)
        wanted = p->slice.units;
    do {
        mt_pace_begin(p->pace);
        got = pread(p->fd, p->entries, wanted * sizeof(uint64_t), offset);
        ns = mt_pace_end(p->pace);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == ESRCH)
        return mt_error_set(TRACER_ESTATE, "the process has ended");
    if (got < (ssize_t)sizeof(uint64_t))
        return mt_error_set(TRACER_EIO, "pagemap ended: %s", got < 0 ? strerror(errno) : "empty");
    n = (uint64_t)got / sizeof(uint64_t);
    p->start = start;
    p->end = start + n * p->page_bytes;
    mt_slice_adapt(&p->slice, n, ns);
    return TRACER_OK;
}

/* Gives the entries to the intervals, which begin with one that does not lie wholly below them.
 * Returns how many of the intervals are done. */
static uint32_t share_out(const struct mt_pagemap *p, struct mt_interval *intervals, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct mt_interval *v = &intervals[i];
        uint64_t from = v->base > p->start ? v->base : p->start;
        uint64_t to = v->end < p->end ? v->end : p->end;

        if (from < to)
            mt_pagemap_tally(p->entries + (from - p->start) / p->page_bytes,
                             (to - from) / p->page_bytes, p->page_bytes, &v->pages);
        if (v->end > p->end)
            return i;
    }
    return n;
}

int mt_pagemap_count(struct mt_pagemap *p, uint64_t start, uint64_t end,
                     struct mt_interval *intervals, uint32_t n_intervals)
{
    uint32_t done = 0;

    for (; start < end; start = p->end) {
        int error = read_entries(p, start, end);

        if (error)
            return error;
        done += share_out(p, intervals + done, n_intervals - done);
    }
    return TRACER_OK;
}
