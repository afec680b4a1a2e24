/* SPDX-License-Identifier: MIT */
/* One mapping, asked for by address. */
#ifndef MT_SOURCE_LINUX_MAPPING_QUERY_H
#define MT_SOURCE_LINUX_MAPPING_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "base/region.h"

/* The mapping that holds `address` or else the next above it: range, rights, and whether it is
 * shared; all else is left 0. 1 = there it is, 0 = there is
 * none, -1 = the kernel does not say. */
int mt_mapping_query(int maps, uint64_t address, struct mt_region *out);

/* The mapping that begins at `base` as a line of maps without its newline, for a buffer of `bytes`.
 * Returns its length; 0 = the kernel does not say, it does not fit, or its name has a newline,
 * which maps writes otherwise. */
size_t mt_mapping_line(int maps, uint64_t base, char *line, size_t bytes);

#endif
