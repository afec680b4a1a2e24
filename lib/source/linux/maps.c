/* SPDX-License-Identifier: MIT */
/* source/linux: "base-end perms offset major:minor inode   name" → a region.
 * In: one line as the kernel prints it. Out: region and name, byte for byte as printed.
 * Called by listing.c for maps and smaps. Pure. Must not trust columns: names hold blanks, old
 * kernels pad differently, other kernels leave columns out (such lines are refused). */
#include "source/linux/maps.h"

#include <string.h>

#include "source/linux/cursor.h"

#define DELETED_SUFFIX " (deleted)"
#define KERNEL_HALF (UINT64_C(1) << 63)
#define MAJOR_MOST 0xfffu
#define MINOR_MOST 0xfffffu

static bool parse_range(struct mt_cursor *c, struct mt_region *out)
{
    return mt_cursor_number(c, 16, &out->base) && mt_cursor_char(c, '-') &&
           mt_cursor_number(c, 16, &out->end) && mt_cursor_char(c, ' ') && out->base < out->end;
}

/* WSL1 prints '-' where others print 'p'. */
static bool parse_permissions(struct mt_cursor *c, struct mt_region *out)
{
    static const char letters[3] = {'r', 'w', 'x'};
    static const uint32_t bits[3] = {MT_PROT_READ, MT_PROT_WRITE, MT_PROT_EXECUTE};

    if (c->end - c->at < 5)
        return false;
    for (unsigned i = 0; i < 3; i++, c->at++) {
        if (*c->at == letters[i])
            out->protection |= bits[i];
        else if (*c->at != '-')
            return false;
    }
    if (*c->at == 's')
        out->flags |= MT_REGION_SHARED;
    else if (*c->at != 'p' && *c->at != '-')
        return false;
    c->at++;
    return mt_cursor_char(c, ' ');
}

/* A number that no kernel of ours has (12 and 20 bits) is unknown, never cut to another one. */
static bool parse_device(struct mt_cursor *c, struct mt_region *out)
{
    uint64_t major, minor;

    if (!mt_cursor_number(c, 16, &major) || !mt_cursor_char(c, ':') ||
        !mt_cursor_number(c, 16, &minor) || !mt_cursor_char(c, ' '))
        return false;
    if (major <= MAJOR_MOST && minor <= MINOR_MOST)
        out->device = (uint32_t)(major << 20 | minor);
    return true;
}

static bool ends_with(const char *text, size_t n, const char *suffix)
{
    size_t m = strlen(suffix);

    return n > m && !memcmp(text + n - m, suffix, m);
}

/* A name in brackets is the kernel's word for memory without an object; any other name, also
 * "anon_inode:[io_uring]" and "socket:[7]", is that of an object. Inodes decide nothing where
 * there is a name: some kernels print 0 for all files. */
static uint32_t flags_of_name(const struct mt_region *r, const char *name, size_t n)
{
    uint32_t flags = 0;

    if (n > 0 ? name[0] != '[' : r->inode != 0)
        flags |= MT_REGION_FILE;
    if ((flags & MT_REGION_FILE) && ends_with(name, n, DELETED_SUFFIX))
        flags |= MT_REGION_DELETED;
    if (r->base >= KERNEL_HALF || (n == 10 && !memcmp(name, "[vsyscall]", 10)))
        flags |= MT_REGION_OUTSIDE;
    return flags;
}

bool mt_maps_parse(const char *line, size_t n_bytes, struct mt_region *out, const char **out_name,
                   size_t *out_name_bytes)
{
    struct mt_cursor c = {line, line + n_bytes};
    struct mt_region r = {.base = 0};

    if (!parse_range(&c, &r) || !parse_permissions(&c, &r) ||
        !mt_cursor_number(&c, 16, &r.offset) || !mt_cursor_char(&c, ' ') || !parse_device(&c, &r) ||
        !mt_cursor_number(&c, 10, &r.inode))
        return false;
    if (c.at < c.end && *c.at != ' ')
        return false;
    while (c.at < c.end && *c.at == ' ')
        c.at++;
    r.flags |= flags_of_name(&r, c.at, (size_t)(c.end - c.at));
    *out_name = c.at;
    *out_name_bytes = (size_t)(c.end - c.at);
    *out = r;
    return true;
}
