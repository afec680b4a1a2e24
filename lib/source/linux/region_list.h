/* SPDX-License-Identifier: MIT */
/* Lines one after the other → a snapshot: sorted, without overlaps. */
#ifndef MT_SOURCE_LINUX_REGION_LIST_H
#define MT_SOURCE_LINUX_REGION_LIST_H

#include "base/snapshot.h"

/* Empties the list. */
void mt_region_list_begin(struct mt_snapshot *s);

/* Appends a region; NULL when there is no room (MT_SAMPLE_TRUNCATED is then set). */
struct mt_region *mt_region_list_add(struct mt_snapshot *s, const struct mt_region *region,
                                     const char *name, size_t name_bytes);

/* Counts `n` lines that were not understood. */
void mt_region_list_reject(struct mt_snapshot *s, uint32_t n);

/* Sorts, cuts overlaps down to the union (MT_SAMPLE_TORN), and tells the bounds of the space. */
void mt_region_list_finish(struct mt_snapshot *s, uint64_t lowest_address);

#endif
