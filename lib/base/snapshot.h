/* SPDX-License-Identifier: MIT */
/* The regions of one moment, as source/ fills them and claim/ and classify/ read them. */
#ifndef MT_BASE_SNAPSHOT_H
#define MT_BASE_SNAPSHOT_H

#include "base/region.h"
#include "base/sample.h"
#include "base/strings.h"

/* The list of regions of one moment: sorted by base, not overlapping. */
struct mt_snapshot {
    struct mt_region *regions;
    uint32_t n_regions;
    uint32_t capacity;
    uint32_t n_wanted;   /* places that the list would have needed, 0 = not known; see TRUNCATED */
    uint32_t flags;      /* MT_SAMPLE_TORN, _TRUNCATED, _NO_PAGES, _REJECTED */
    uint32_t n_rejected; /* lines not understood */
    int64_t keep_until_ns;      /* monotonic: until then the source may follow it; 0 = may not */
    uint64_t space_base;        /* lowest and … */
    uint64_t space_end;         /* … highest (exclusive) address a program may map */
    struct mt_strings *strings; /* where names go */
};

int mt_snapshot_init(struct mt_snapshot *out, struct mt_strings *strings, uint32_t capacity);

/* Makes room for more; what is in the list stays. False = no memory, nothing changed. */
bool mt_snapshot_grow(struct mt_snapshot *s, uint32_t capacity);
void mt_snapshot_release(struct mt_snapshot *s);

/* The index of the region that holds `address`, or n_regions. */
uint32_t mt_snapshot_find(const struct mt_snapshot *s, uint64_t address);

#endif
