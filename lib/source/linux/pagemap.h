/* SPDX-License-Identifier: MIT */
/* One 64-bit word a page, from /proc/PID/pagemap. */
#ifndef MT_SOURCE_LINUX_PAGEMAP_H
#define MT_SOURCE_LINUX_PAGEMAP_H

#include <stdint.h>

#include "base/region.h"
#include "source/linux/pace.h"

#define MT_PAGEMAP_ENTRIES 8192u

struct mt_pagemap {
    int fd;            /* -1 = none */
    uint64_t *entries; /* room for MT_PAGEMAP_ENTRIES */
    uint64_t page_bytes;
    struct mt_pace *pace;
    struct mt_slice slice; /* entries of one read */
    uint64_t start, end;   /* addresses of the entries read last */
};

void mt_pagemap_init(struct mt_pagemap *p, int fd, uint64_t *entries, struct mt_pace *pace);

/* Adds the pages of [start, end) to RESIDENT, ANONYMOUS, SHARED, SWAP and GUARD of the intervals
 * they lie in. The intervals are sorted; pages outside them are passed over. `known` is left to
 * the caller. TRACER_EIO, TRACER_ESTATE (the process is gone). */
int mt_pagemap_count(struct mt_pagemap *p, uint64_t start, uint64_t end,
                     struct mt_interval *intervals, uint32_t n_intervals);

/* Adds `n` entries to `pages`. */
void mt_pagemap_tally(const uint64_t *entries, uint64_t n, uint64_t page_bytes,
                      struct mt_pages *pages);

#endif
