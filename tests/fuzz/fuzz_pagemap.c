/* SPDX-License-Identifier: MIT */
/* Description: whatever a kernel answers to a scan or writes into pagemap, counting ends, stays
 * inside its intervals and counts no page twice. A scan's answers obey what the kernel promises
 * (ascending, inside what was asked) or, by the first byte, nothing at all. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os/os.h"
#include "fuzz.h"
#include "source/linux/count.h"

#define INTERVALS 8u
#define PAGES_MOST 512u
#define CALLS_MOST 100000u

static struct fuzz_input input;
static int obeys;
static unsigned n_calls;

static uint32_t answer(struct mt_scan_arg *arg)
{
    struct mt_scan_region *out = (struct mt_scan_region *)(uintptr_t)arg->vec;
    uint64_t page = mt_os_page_bytes(), at = arg->start, found = 0;
    uint64_t most = arg->max_pages ? arg->max_pages : UINT64_MAX;
    uint32_t n = 0;

    while (input.left && n < arg->vec_len && at < arg->end && found < most) {
        uint64_t skip = fuzz_take(&input, 1), pages = fuzz_take(&input, 1) + 1;
        uint64_t start = at + skip * page, end = start + pages * page;

        if (obeys && start >= arg->end)
            break;
        if (obeys && end > arg->end)
            end = arg->end;
        if (obeys && end - start > (most - found) * page)
            end = start + (most - found) * page;
        if (!obeys && skip == 255)
            start = fuzz_take(&input, 8), end = fuzz_take(&input, 8);
        out[n++] = (struct mt_scan_region){start, end, fuzz_take(&input, 2)};
        found += (end - start) / page;
        at = end;
    }
    return n;
}

/* In the place of libc's: the scan of the kernel that the input describes. */
int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    struct mt_scan_arg *arg;

    (void)fd;
    va_start(args, request);
    arg = va_arg(args, struct mt_scan_arg *);
    va_end(args);
    FUZZ_CHECK(++n_calls < CALLS_MOST);
    if (request != MT_SCAN_IOCTL || arg->start == arg->end)
        return 0;
    return !obeys && input.left && *input.at == 0 ? -1 : (int)answer(arg);
}

static void fill_pagemap(int fd, uint64_t pages)
{
    static uint64_t words[PAGES_MOST * INTERVALS];

    for (uint64_t i = 0; i < pages; i++)
        words[i] = fuzz_take(&input, 1) << 56;
    if (ftruncate(fd, 0) || pwrite(fd, words, pages * 8, 0) < 0)
        abort();
}

static uint32_t make_intervals(struct mt_snapshot *s, struct mt_interval *v, uint64_t *out_pages)
{
    static const char *const names[] = {"", "/lib/a.so", "[heap]", "/dev/zero", "[anon:x]"};
    uint64_t page = mt_os_page_bytes(), at = 0;
    uint32_t n = (uint32_t)fuzz_take(&input, 1) % INTERVALS;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t hole = fuzz_take(&input, 1) % 64 * page;
        uint64_t bytes = (fuzz_take(&input, 2) % (PAGES_MOST - 64) + 1) * page;
        const char *name = names[fuzz_take(&input, 1) % 5];
        struct mt_region *r = &s->regions[i];

        memset(r, 0, sizeof(*r));
        r->base = at + hole;
        r->end = at = r->base + bytes;
        r->flags = (name[0] == '/' ? MT_REGION_FILE : 0) | (fuzz_take(&input, 1) & 0x71);
        r->name = mt_strings_add(s->strings, name, strlen(name));
        v[i] = (struct mt_interval){.base = r->base, .end = r->end, .region = i};
    }
    s->n_regions = n;
    *out_pages = at / page;
    return n;
}

static void check(const struct mt_interval *v, uint32_t n)
{
    for (uint32_t i = 0; i < n && obeys; i++)
        for (unsigned k = 0; k < MT_PAGE_COUNT; k++)
            FUZZ_CHECK(!(v[i].pages.known >> k & 1u) ||
                       v[i].pages.bytes[k] <= v[i].end - v[i].base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static struct mt_scan_region regions[MT_SCAN_REGIONS];
    static uint64_t entries[MT_PAGEMAP_ENTRIES];
    static int fd = -1;
    struct mt_pace pace = {.held_ns = 0, .gap_from_ns = INT64_MAX};
    struct mt_interval v[INTERVALS];
    struct mt_snapshot snapshot;
    struct mt_strings *strings;
    struct mt_count count;
    uint32_t next = 0, n;
    uint64_t pages;

    if (fd < 0)
        fd = memfd_create("pagemap", MFD_CLOEXEC);
    if (fd < 0 || mt_strings_new(16, 1024, &strings) ||
        mt_snapshot_init(&snapshot, strings, INTERVALS))
        abort();
    input = (struct fuzz_input){data, n_bytes};
    n_calls = 0;
    obeys = !(fuzz_take(&input, 1) & 1);
    n = make_intervals(&snapshot, v, &pages);
    fill_pagemap(fd, pages);
    mt_count_init(&count, fd, regions, entries, &pace);
    mt_count_intervals(&count, &snapshot, v, n, &next);
    FUZZ_CHECK(next <= n);
    check(v, n);
    mt_snapshot_release(&snapshot);
    mt_strings_free(strings);
    return 0;
}
