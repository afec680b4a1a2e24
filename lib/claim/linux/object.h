/* SPDX-License-Identifier: MIT */
/* One ELF object in memory: where its segments are. */
#ifndef MT_CLAIM_LINUX_OBJECT_H
#define MT_CLAIM_LINUX_OBJECT_H

#include "base/region.h"
#include "claim/linux/remote.h"

#define MT_OBJECT_SPANS 12
#define MT_OBJECT_PARTS 12

struct mt_object {
    uint64_t bias;    /* added to the addresses in the file */
    uint64_t dynamic; /* address of the dynamic section, 0 = none */
    uint32_t n_spans;
    struct {
        uint64_t base, end; /* whole pages, by address, not overlapping */
    } spans[MT_OBJECT_SPANS];
    uint32_t n_parts;
    struct {
        uint64_t base, end; /* whole pages */
        uint32_t flags;     /* MT_CLAIM_RELRO, MT_CLAIM_BSS */
    } parts[MT_OBJECT_PARTS]; /* of the spans, what is not plain text or data */
    uint8_t build_id[MT_BUILD_ID_BYTES];
    uint8_t build_id_bytes;
};

/* Reads the headers of the object whose ELF header is at `header`. False when they are not there,
 * not present in memory, or make no sense. */
bool mt_object_read(struct mt_remote *r, uint64_t header, struct mt_object *out);

#endif
