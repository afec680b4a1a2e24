/* SPDX-License-Identifier: MIT */
/* The dynamic loader's own list of objects, as debuggers read it. */
#ifndef MT_CLAIM_LINUX_LINK_MAP_H
#define MT_CLAIM_LINUX_LINK_MAP_H

#include "claim/linux/remote.h"

#define MT_LINK_MAPS_MOST 4096u

struct mt_link_map {
    uint64_t bias, dynamic;
};

/* What the kernel told the program at its start; 0 = unknown. */
struct mt_start_vector {
    uint64_t program_headers; /* AT_PHDR */
    uint64_t header_bytes;    /* AT_PHENT */
    uint64_t interpreter;     /* AT_BASE */
    uint64_t random;          /* AT_RANDOM: differs after exec */
};

/* pid 0 = this process. */
void mt_start_vector_read(uint32_t pid, struct mt_start_vector *out);

/* Finds the loader's structure by the program's dynamic section; 0 = none. */
uint64_t mt_link_map_find(struct mt_remote *r, uint64_t dynamic);

/* The objects of all namespaces. False when the list is being changed, is not readable or does
 * not end: then the list of the last time is the better one. */
bool mt_link_map_read(struct mt_remote *r, uint64_t debug, struct mt_link_map *out,
                      uint32_t *out_n);

#endif
