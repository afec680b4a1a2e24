/* SPDX-License-Identifier: MIT */
/* One line of maps; the first line of a record of smaps is the same. */
#ifndef MT_SOURCE_LINUX_MAPS_H
#define MT_SOURCE_LINUX_MAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/region.h"

/* Fills all of `out` but `name`; the name's bytes lie inside the line. False = not understood. */
bool mt_maps_parse(const char *line, size_t n_bytes, struct mt_region *out, const char **out_name,
                   size_t *out_name_bytes);

#endif
