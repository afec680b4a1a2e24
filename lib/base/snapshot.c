/* SPDX-License-Identifier: MIT */
/* base: room for the regions of one moment, and finding one by address.
 * In: a capacity. Out: an empty snapshot. Called by sampler/. */
#include "base/snapshot.h"

#include "base/error.h"
#include "base/memory.h"

int mt_snapshot_init(struct mt_snapshot *out, struct mt_strings *strings, uint32_t capacity)
{
    struct mt_region *regions = mt_memory_alloc((size_t)capacity * sizeof(*regions));

    if (!regions)
        return mt_error_set(TRACER_ENOMEM, "no address space for a list of %u regions", capacity);
    *out = (struct mt_snapshot){.regions = regions, .capacity = capacity, .strings = strings};
    return TRACER_OK;
}

bool mt_snapshot_grow(struct mt_snapshot *s, uint32_t capacity)
{
    void *regions = s->regions;

    if (!mt_memory_grow(&regions, s->n_regions * sizeof(*s->regions),
                        (size_t)capacity * sizeof(*s->regions)))
        return false;
    s->regions = regions;
    s->capacity = capacity;
    return true;
}

void mt_snapshot_release(struct mt_snapshot *s)
{
    mt_memory_free(s->regions);
    *s = (struct mt_snapshot){.regions = NULL};
}

uint32_t mt_snapshot_find(const struct mt_snapshot *s, uint64_t address)
{
    uint32_t low = 0, high = s->n_regions;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (s->regions[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n_regions && s->regions[low].base <= address ? low : s->n_regions;
}
