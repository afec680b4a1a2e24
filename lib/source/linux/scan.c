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

/* Where pages were given back, the tables for so much that are left take 100 µs to walk. */
#define EMPTY_TABLES_BYTES (512 * MIB)

/* Full tables for so much take 50 µs to walk while they are in the caches, whence slices learn, and
 * 150 when they are not: a call of what would fit in 100 µs by what was learned took 350. */
#define FULL_TABLES_BYTES (64 * MIB)

static bool accepts(const struct mt_scan *s, uint64_t categories)
{
    struct mt_scan_arg arg = {
        .size = sizeof(arg),
        .vec = (uintptr_t)s->regions,
        .vec_len = 1,
        .category_anyof_mask = categories,
        .return_mask = categories,
    };

    return mt_os_descriptor_is_ours(s->fd) && ioctl(s->fd, MT_SCAN_IOCTL, &arg) >= 0;
}

void mt_scan_init(struct mt_scan *s, int fd, struct mt_scan_region *regions, struct mt_pace *pace)
{
    *s = (struct mt_scan){.fd = fd, .regions = regions, .pace = pace};
    s->bytes = (struct mt_slice){16 * MIB, MIB, EMPTY_TABLES_BYTES};
    s->pages = (struct mt_slice){8192, 1024, 65536};
    s->dense = (struct mt_slice){16 * MIB, MIB, FULL_TABLES_BYTES};
    if (fd < 0)
        return;
    s->works = accepts(s, MT_SCAN_PRESENT | MT_SCAN_SWAPPED | MT_SCAN_ZERO | MT_SCAN_HUGE);
    s->guards = s->works && accepts(s, MT_SCAN_GUARD);
}

static uint64_t pages_found(const struct mt_scan *s, uint64_t but)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < s->n; i++)
        bytes += s->regions[i].categories & but ? 0 : s->regions[i].end - s->regions[i].start;
    return bytes / mt_os_page_bytes();
}

/* Returns the number of ranges, -1 when the kernel refuses or the descriptor is lost. */
static int ask(struct mt_scan *s, struct mt_scan_arg *arg)
{
    int n;

    arg->size = sizeof(*arg);
    arg->vec = (uintptr_t)s->regions;
    arg->vec_len = MT_SCAN_REGIONS;
    arg->return_mask = MT_SCAN_PRESENT | MT_SCAN_SWAPPED | MT_SCAN_ZERO | MT_SCAN_HUGE |
                       (s->guards ? MT_SCAN_GUARD : 0);
    mt_pace_begin(s->pace);
    n = mt_os_descriptor_is_ours(s->fd) ? ioctl(s->fd, MT_SCAN_IOCTL, arg) : -1;
    s->ns = mt_pace_end(s->pace);
    if (n < 0)
        mt_error_set(TRACER_EIO, "pages cannot be scanned");
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
    uint64_t covered;

    if (ask(s, &arg) < 0)
        return TRACER_EIO;
    if (pages_found(s, 0) >= arg.max_pages)
        s->next = s->regions[s->n - 1].end;
    covered = s->next - start;
    mt_slice_adapt(&s->bytes, covered < s->bytes.units ? covered : s->bytes.units, s->ns);
    mt_slice_adapt(&s->pages, pages_found(s, MT_SCAN_HUGE), s->ns);
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

    return ask(s, &arg) < 0 ? TRACER_EIO : TRACER_OK;
}

void mt_scan_learn_rest(struct mt_scan *s, uint64_t resident)
{
    mt_slice_adapt(&s->dense, resident, s->ns);
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
