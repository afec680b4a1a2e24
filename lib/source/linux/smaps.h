/* SPDX-License-Identifier: MIT */
/* The lines of smaps below a region's first one: "Key:  value kB" and VmFlags. */
#ifndef MT_SOURCE_LINUX_SMAPS_H
#define MT_SOURCE_LINUX_SMAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/region.h"

#define MT_SMAPS_FIELDS 24

/* Where the lines that matter stand in a record: the same place in most, for the kernel pads its
 * numbers. */
struct mt_smaps_layout {
    unsigned n;
    uint32_t bytes; /* from the record's second line to its VmFlags */
    struct {
        uint32_t at, bytes; /* a line, without its newline */
        unsigned key;
    } fields[MT_SMAPS_FIELDS];
};

struct mt_smaps {
    struct mt_region *region; /* whose lines come; NULL = none wanted */
    uint32_t impossible;      /* kinds of page of which a value cannot be */
    unsigned guess;           /* the key that will come next, if kernels keep their order */
    uint32_t flags;           /* of the VmFlags read last, whose text is … */
    size_t flags_bytes;
    char flags_text[96];
    uint32_t at;                     /* of the next line in its record */
    bool at_once;                    /* the record stood as the layout says */
    struct mt_smaps_layout learning; /* from the record that is read now */
    struct mt_smaps_layout layout;   /* of the last one that was read to its VmFlags; n 0 = none */
};

/* Closes the record before (if any) and opens that of `region`, NULL = nobody's. */
void mt_smaps_open(struct mt_smaps *s, struct mt_region *region);

/* One line of the record. False = not a line of smaps. Unknown keys are fine. */
bool mt_smaps_line(struct mt_smaps *s, const char *line, size_t n_bytes);

/* How much text mt_smaps_body() wants to see, 0 = nothing: no record is open, or none was learned
 * from, or the record's lines have begun to be read. */
size_t mt_smaps_body_wanted(const struct mt_smaps *s);

/* All lines of the record up to VmFlags at once. Returns how much of `text` they are; 0 = they do
 * not stand where they stood in the last record, read line by line. */
size_t mt_smaps_body(struct mt_smaps *s, const char *text, size_t n_bytes);

#endif
