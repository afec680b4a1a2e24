/* SPDX-License-Identifier: MIT */
/* claim/linux: what the providers ask about regions. In: a snapshot. Out: yes or no.
 * Called by the providers. Pure. */
#include "claim/linux/provider.h"

#include <string.h>

#include "base/compiler.h"

/* File-backed by name only: private mappings of them are ordinary memory. */
static const char *const anonymous_files[] = {"/dev/zero", "/anon_hugepage"};

bool mt_look_has_name(const struct mt_look *look, const struct mt_region *r, const char *name)
{
    return r->name && !strcmp(mt_strings_get(look->strings, r->name, NULL), name);
}

bool mt_look_is_anonymous(const struct mt_look *look, const struct mt_region *r)
{
    const char *name;

    if (r->flags & (MT_REGION_SHARED | MT_REGION_DEVICE | MT_REGION_MIXED | MT_REGION_OUTSIDE |
                    MT_REGION_UFFD | MT_REGION_GROWSDOWN))
        return false;
    if (!r->name)
        return true;
    name = mt_strings_get(look->strings, r->name, NULL);
    if (!name[0] || !strncmp(name, "[anon:", 6))
        return true;
    for (size_t i = 0; i < MT_COUNT_OF(anonymous_files); i++)
        if (!strncmp(name, anonymous_files[i], strlen(anonymous_files[i])))
            return true;
    return false;
}

bool mt_look_is_data(const struct mt_look *look, const struct mt_region *r)
{
    return r->protection == (MT_PROT_READ | MT_PROT_WRITE) && mt_look_is_anonymous(look, r);
}

bool mt_look_same_file(const struct mt_region *a, const struct mt_region *b)
{
    return (a->flags & b->flags & MT_REGION_FILE) && a->name == b->name && a->inode == b->inode &&
           a->device == b->device;
}

bool mt_look_is_mapped(const struct mt_look *look, uint64_t base, uint64_t end)
{
    uint32_t i = mt_snapshot_find(look->snapshot, base);

    for (; i < look->snapshot->n_regions; i++) {
        const struct mt_region *r = &look->snapshot->regions[i];

        if (r->base > base)
            return false;
        if (r->end >= end)
            return true;
        base = r->end;
    }
    return false;
}

uint64_t mt_look_page_up(const struct mt_look *look, uint64_t address)
{
    uint64_t page = look->remote->page_bytes;

    return (address + page - 1) / page * page;
}

uint32_t mt_look_string(const struct mt_look *look, const char *text)
{
    return mt_strings_add(look->strings, text, strlen(text));
}
