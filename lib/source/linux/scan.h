/* SPDX-License-Identifier: MIT */
/* Ranges of pages of one kind, by the kernel's page scan. */
#ifndef MT_SOURCE_LINUX_SCAN_H
#define MT_SOURCE_LINUX_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/region.h"
#include "source/linux/pace.h"
#include "source/linux/scan_abi.h"

/* With more than 512 the kernel's walk_end is stale; fewer than 512 back means done. */
#define MT_SCAN_REGIONS 512u

struct mt_scan {
    int fd;                         /* pagemap, -1 = none */
    bool works;                     /* the kernel scans */
    bool guards;                    /* and tells guard markers from swap */
    struct mt_scan_region *regions; /* room for MT_SCAN_REGIONS */
    struct mt_pace *pace;
    struct mt_slice bytes; /* mapped bytes of one call */
    struct mt_slice pages; /* matching pages of one call; learned from small ones */
    struct mt_slice dense; /* mapped bytes of one call that asks for what is missing */

    /* what the last step found */
    uint32_t n;    /* of regions */
    uint64_t next; /* where to go on */
    int64_t ns;    /* it took */
};

/* Tries what the kernel can. */
void mt_scan_init(struct mt_scan *s, int fd, struct mt_scan_region *regions, struct mt_pace *pace);

/* Fills `regions` with the pages of [start, end) that are in any category of `any`, and sets `n`
 * and `next` (`end` = done). TRACER_EIO when the kernel refuses. */
int mt_scan_step(struct mt_scan *s, uint64_t start, uint64_t end, uint64_t any);

/* The same the other way round: fills `regions` with all that is not plainly resident small pages.
 * What has no mapping is in neither, so the caller must know what is mapped. */
int mt_scan_rest(struct mt_scan *s, uint64_t start, uint64_t end);

/* After it: so many of its bytes were resident in small pages. Only these tell what a call of full
 * tables will take; tables that were never made cost nothing. */
void mt_scan_learn_rest(struct mt_scan *s, uint64_t resident);

/* Adds `bytes` of one region's kind to the counts of private anonymous memory. */
void mt_scan_add(struct mt_pages *pages, uint64_t categories, uint64_t bytes);

#endif
