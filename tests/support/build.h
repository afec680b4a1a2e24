/* SPDX-License-Identifier: MIT */
/* Snapshots written by hand: each line of a test is a line of a map. */
#ifndef TEST_SUPPORT_BUILD_H
#define TEST_SUPPORT_BUILD_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/snapshot.h"

static struct mt_snapshot built;

static inline int build_begin(void **state)
{
    struct mt_strings *strings;

    (void)state;
    if (mt_strings_new(256, 65536, &strings) || mt_snapshot_init(&built, strings, 64))
        return -1;
    built.space_base = 0x10000;
    built.space_end = 0x7ffffffff000;
    return 0;
}

static inline int build_end(void **state)
{
    (void)state;
    mt_strings_free(built.strings);
    mt_snapshot_release(&built);
    return 0;
}

/* Appends a region; `rights` as in maps ("rw-p"). */
static inline struct mt_region *build_region(uint64_t base, uint64_t end, const char *rights,
                                             const char *name)
{
    struct mt_region *r = &built.regions[built.n_regions++];

    memset(r, 0, sizeof(*r));
    r->base = base;
    r->end = end;
    r->protection = (rights[0] == 'r' ? MT_PROT_READ : 0) | (rights[1] == 'w' ? MT_PROT_WRITE : 0) |
                    (rights[2] == 'x' ? MT_PROT_EXECUTE : 0);
    r->flags = rights[3] == 's' ? MT_REGION_SHARED : 0;
    if (name[0] == '/' || !strncmp(name, "anon_inode:", 11) || !strncmp(name, "socket:", 7))
        r->flags |= MT_REGION_FILE;
    r->name = mt_strings_add(built.strings, name, strlen(name));
    r->inode = r->flags & MT_REGION_FILE ? 1000 + r->name : 0;
    return r;
}

/* After this no name that was not there before has room. */
static inline void build_fill_names(void)
{
    for (unsigned i = 0; !mt_strings_has_refused(built.strings); i++)
        mt_strings_addf(built.strings, "name %u", i);
}

static inline void build_pages(struct mt_region *r, unsigned kind, uint64_t bytes)
{
    r->pages.known |= 1u << kind;
    r->pages.bytes[kind] = bytes;
}

#endif
