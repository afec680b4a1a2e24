/* SPDX-License-Identifier: MIT */
/* source/linux: page tables → ranges of present, swapped, huge, guarded pages.
 * In: an address range. Out: up to 512 ranges a call, and where to go on.
 * Called by count.c. Must not ask for the category FILE (the kernel then touches each page's
 * descriptor and is as slow as smaps), nor believe walk_end.
 * Uses: ioctl PAGEMAP_SCAN on /proc/PID/pagemap, since 6.7; category GUARD later. */
#define _GNU_SOURCE
#include "source/linux/scan.h"

#include "base/error.h"
#include "base/os/os.h"

#define MIB (UINT64_C(1) << 20)

static bool accepts(const struct mt_scan *s, uint64_t categories)
{
    struct mt_scan_arg arg = {
        .size = sizeof(arg),
        .vec = (uintptr_t)s->regions,
        .vec_len = 1,
        .category_anyof_mask = categories,
        .return_mask = categories,
    };

    return ioctl(s->fd, MT_SCAN_IOCTL, &arg) >= 0;
}

void mt_scan_init(struct mt_scan *s, int fd, struct mt_scan_region *regions, struct mt_pace *pace)
{
    *s = (struct mt_scan){.fd = fd, .regions = regions, .pace = pace};
    s->bytes = (struct mt_slice){16 * MIB, MIB, 16384 * MIB};
    s->pages = (struct mt_slice){8192, 1024, 65536};
    s->dense = s->bytes;
    if (fd < 0)
        return;
    s->works = accepts(s, MT_SCAN_PRESENT | MT_SCAN_SWAPPED | MT_SCAN_ZERO | MT_SCAN_HUGE);
    s->guards = s->works && accepts(s, MT_SCAN_GUARD);
}

static uint64_t pages_found(const struct mt_scan *s, uint32_t n)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < n; i++)
        bytes += s->regions[i].end - s->regions[i].start;
    return bytes / mt_os_page_bytes();
}

/* A slice of address space may hold holes, which cost nothing: no more is learned from it than
 * was meant to be mapped. */
static void adapt(struct mt_scan *s, uint64_t covered, uint64_t found, int64_t ns)
{
    mt_slice_adapt(&s->bytes, covered < s->bytes.units ? covered : s->bytes.units, ns);
    mt_slice_adapt(&s->pages, found, ns);
}

/* Returns the number of ranges and the time, -1 when the kernel refuses. */
static int ask(struct mt_scan *s, struct mt_scan_arg *arg, int64_t *out_ns)
{
    int n;

    arg->size = sizeof(*arg);
    arg->vec = (uintptr_t)s->regions;
    arg->vec_len = MT_SCAN_REGIONS;
    arg->return_mask = MT_SCAN_PRESENT | MT_SCAN_SWAPPED | MT_SCAN_ZERO | MT_SCAN_HUGE |
                       (s->guards ? MT_SCAN_GUARD : 0);
    mt_pace_begin(s->pace);
    n = ioctl(s->fd, MT_SCAN_IOCTL, arg);
    *out_ns = mt_pace_end(s->pace);
    if (n < 0)
        mt_error_set(TRACER_EIO, "the kernel refused to scan pages");
    s->n = n > 0 ? (uint32_t)n : 0;
    s->next = s->n == MT_SCAN_REGIONS ? s->regions[n - 1].end : arg->end;
    return n;
}

int mt_scan_step(struct mt_scan *s, uint64_t start, uint64_t end, uint64_t any)
{
    struct mt_scan_arg arg = {
        .start = start,
        .end = end,
        .max_pages = s->pages.units,
        .category_anyof_mask = any,
    };
    uint64_t found;
    int64_t ns;

    if (ask(s, &arg, &ns) < 0)
        return TRACER_EIO;
    found = pages_found(s, s->n);
    if (found >= arg.max_pages)
        s->next = s->regions[s->n - 1].end;
    adapt(s, s->next - start, found, ns);
    return TRACER_OK;
}

/* Without a limit on pages: those of a hole in the page tables cost nothing. */
int mt_scan_rest(struct mt_scan *s, uint64_t start, uint64_t end)
{
    struct mt_scan_arg arg = {
        .start = start,
        .end = end,
        .category_inverted = MT_SCAN_PRESENT,
        .category_anyof_mask = MT_SCAN_PRESENT | MT_SCAN_SWAPPED | MT_SCAN_ZERO | MT_SCAN_HUGE,
    };
    uint64_t covered;
    int64_t ns;

    if (ask(s, &arg, &ns) < 0)
        return TRACER_EIO;
    covered = s->next - start;
    mt_slice_adapt(&s->dense, covered < s->dense.units ? covered : s->dense.units, ns);
    return TRACER_OK;
}

void mt_scan_add(struct mt_pages *pages, uint64_t categories, uint64_t bytes)
{
    if (categories & MT_SCAN_GUARD) {
        pages->bytes[MT_PAGE_GUARD] += bytes;
    } else if (categories & MT_SCAN_SWAPPED) {
        pages->bytes[MT_PAGE_SWAP] += bytes;
    } else if ((categories & MT_SCAN_PRESENT) && !(categories & MT_SCAN_ZERO)) {
        pages->bytes[MT_PAGE_RESIDENT] += bytes;
        pages->bytes[MT_PAGE_ANONYMOUS] += bytes;
        if (categories & MT_SCAN_HUGE)
            pages->bytes[MT_PAGE_HUGE] += bytes;
    }
}
