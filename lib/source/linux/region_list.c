/* SPDX-License-Identifier: MIT */
/* source/linux: regions as they were read → a sorted partition of the address space.
 * In: parsed lines in any order. Out: the snapshot with its flags and bounds.
 * Called by listing.c. Must not count an address twice: a list torn by another thread's mmap
 * shows the same range in two shapes, and the sum of both would look like growth. */
#include "source/linux/region_list.h"

#include "base/compiler.h"

/* Highest addresses (exclusive) that programs may map, by kind of process. The stack lies close
 * below it, so the lowest one that holds all regions is the right one: a 47-bit program stays one
 * on a kernel with five-level page tables until it maps above. */
static const uint64_t space_ends[] = {
#if defined(__aarch64__)
    UINT64_C(1) << 32, UINT64_C(1) << 39, UINT64_C(1) << 42,
    UINT64_C(1) << 47, UINT64_C(1) << 48, UINT64_C(1) << 52,
#else
    0xffffe000,
    UINT64_C(0x7ffffffff000),
    UINT64_C(0xfffffffffff000),
#endif
};

void mt_region_list_begin(struct mt_snapshot *s)
{
    s->n_regions = 0;
    s->n_rejected = 0;
    s->n_wanted = 0;
    s->keep_until_ns = 0;
    s->flags = 0;
}

struct mt_region *mt_region_list_add(struct mt_snapshot *s, const struct mt_region *region,
                                     const char *name, size_t name_bytes)
{
    struct mt_region *r;

    s->n_wanted++;
    if (s->n_regions == s->capacity) {
        s->flags |= MT_SAMPLE_TRUNCATED;
        return NULL;
    }
    r = &s->regions[s->n_regions++];
    *r = *region;
    r->name = name_bytes > 0 ? mt_strings_add(s->strings, name, name_bytes) : 0;
    return r;
}

void mt_region_list_reject(struct mt_snapshot *s, uint32_t n)
{
    if (n == 0)
        return;
    s->n_rejected += n;
    s->flags |= MT_SAMPLE_REJECTED;
}

/* Lists come sorted, or nearly so when torn: then an insertion sort is the quickest. */
static void sort_by_base(struct mt_snapshot *s)
{
    for (uint32_t i = 1; i < s->n_regions; i++) {
        struct mt_region moved;
        uint32_t j = i;

        if (s->regions[i - 1].base <= s->regions[i].base)
            continue;
        moved = s->regions[i];
        for (; j > 0 && s->regions[j - 1].base > moved.base; j--)
            s->regions[j] = s->regions[j - 1];
        s->regions[j] = moved;
    }
}

/* Leaves of `r` what lies at or above `from`. What was counted of the whole is not known of the
 * rest. */
static void cut_below(struct mt_region *r, uint64_t from)
{
    if (r->flags & MT_REGION_FILE)
        r->offset += from - r->base;
    r->base = from;
    r->pages.known = 0;
}

static void cut_overlaps(struct mt_snapshot *s)
{
    uint32_t kept = 0;
    uint64_t end = 0;

    for (uint32_t i = 0; i < s->n_regions; i++) {
        struct mt_region *r = &s->regions[i];

        if (r->base < end) {
            s->flags |= MT_SAMPLE_TORN;
            if (r->end <= end)
                continue;
            cut_below(r, end);
        }
        end = r->end;
        if (kept != i)
            s->regions[kept] = *r;
        kept++;
    }
    s->n_regions = kept;
}

static uint64_t highest_end(const struct mt_snapshot *s)
{
    for (uint32_t i = s->n_regions; i > 0; i--)
        if (!(s->regions[i - 1].flags & MT_REGION_OUTSIDE))
            return s->regions[i - 1].end;
    return 0;
}

void mt_region_list_finish(struct mt_snapshot *s, uint64_t lowest_address)
{
    uint64_t highest;

    sort_by_base(s);
    cut_overlaps(s);
    highest = highest_end(s);
    s->space_base = lowest_address;
    s->space_end = highest;
    for (unsigned i = 0; i < MT_COUNT_OF(space_ends); i++) {
        if (space_ends[i] < highest)
            continue;
        s->space_end = space_ends[i];
        break;
    }
}
