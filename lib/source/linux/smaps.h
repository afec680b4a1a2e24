/* SPDX-License-Identifier: MIT */
/* The lines of smaps below a region's first one: "Key:  value kB" and VmFlags. */
#ifndef MT_SOURCE_LINUX_SMAPS_H
#define MT_SOURCE_LINUX_SMAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/region.h"

struct mt_smaps {
    struct mt_region *region; /* whose lines come; NULL = none wanted */
    uint32_t impossible;      /* kinds of page of which a value cannot be */
    unsigned guess;           /* the key that will come next, if kernels keep their order */
    uint32_t flags;           /* of the VmFlags read last, whose text is … */
    size_t flags_bytes;
    char flags_text[96];
};

/* Closes the record before (if any) and opens that of `region`, NULL = nobody's. */
void mt_smaps_open(struct mt_smaps *s, struct mt_region *region);

/* One line of the record. False = not a line of smaps. Unknown keys are fine. */
bool mt_smaps_line(struct mt_smaps *s, const char *line, size_t n_bytes);

#endif
