/* SPDX-License-Identifier: MIT */
/* The regions of a living process from its maps, for tests of the rooms behind source/: fields by
 * sscanf, nothing clever, so that it is right by looking at it. */
#ifndef TEST_SUPPORT_LIVE_MAPS_H
#define TEST_SUPPORT_LIVE_MAPS_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/snapshot.h"

/* pid 0 = this process. Returns false when the file cannot be read or does not fit. */
static inline bool live_maps_read(uint32_t pid, struct mt_snapshot *out)
{
    char path[64] = "/proc/self/maps", line[4400];
    FILE *file;

    if (pid)
        snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
    file = fopen(path, "r");
    out->n_regions = 0;
    while (file && fgets(line, sizeof(line), file) && out->n_regions < out->capacity) {
        struct mt_region *r = &out->regions[out->n_regions];
        unsigned major, minor;
        char rights[5], *end = strchr(line, '\n');
        int name = 0;

        memset(r, 0, sizeof(*r));
        if (end)
            *end = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &r->base,
                   &r->end, rights, &r->offset, &major, &minor, &r->inode, &name) != 7)
            break;
        r->device = major << 20 | minor;
        r->protection = (rights[0] == 'r' ? MT_PROT_READ : 0) |
                        (rights[1] == 'w' ? MT_PROT_WRITE : 0) |
                        (rights[2] == 'x' ? MT_PROT_EXECUTE : 0);
        r->flags = (rights[3] == 's' ? MT_REGION_SHARED : 0) | (r->inode ? MT_REGION_FILE : 0);
        r->name = mt_strings_add(out->strings, line + name, strlen(line + name));
        out->n_regions++;
    }
    if (file)
        fclose(file);
    return out->n_regions > 0 && out->n_regions < out->capacity;
}

#endif
