/* SPDX-License-Identifier: MIT */
/* source/linux: an address → the mapping there, without reading the list.
 * In: a kept descriptor of maps. Out: a region, or the line that maps has of it.
 * Called by follow.c. A mapping costs twice what it does in the text, so this is for a few of them.
 * Uses: ioctl PROCMAP_QUERY on /proc/PID/maps, since 6.11. */
#define _GNU_SOURCE
#include "source/linux/mapping_query.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/os/os.h"

/* As <linux/fs.h> of 6.11 has it. */
struct query {
    uint64_t size;
    uint64_t flags;
    uint64_t address;
    uint64_t start, end;
    uint64_t vma_flags;
    uint64_t page_bytes;
    uint64_t offset;
    uint64_t inode;
    uint32_t major, minor;
    uint32_t name_bytes;     /* in: room; out: length with its end, 0 = nameless */
    uint32_t build_id_bytes; /* in: room, 0 = not wanted */
    uint64_t name;
    uint64_t build_id;
};

#define QUERY _IOWR('f', 17, struct query)
#define IS_READABLE 1u
#define IS_WRITABLE 2u
#define IS_EXECUTABLE 4u
#define IS_SHARED 8u
#define OR_NEXT 16u

/* Where names begin in a line of maps. */
#define NAME_COLUMN 73

/* 1, 0 and -1 as mt_mapping_query(). */
static int ask(int maps, struct query *q)
{
    q->size = sizeof(*q);
    if (maps < 0 || !mt_os_descriptor_is_ours(maps))
        return -1;
    if (ioctl(maps, QUERY, q) >= 0)
        return 1;
    return errno == ENOENT ? 0 : -1;
}

int mt_mapping_query(int maps, uint64_t address, struct mt_region *out)
{
    struct query q = {.address = address, .flags = OR_NEXT};
    int got = ask(maps, &q);

    if (got <= 0)
        return got;
    *out = (struct mt_region){
        .base = q.start,
        .end = q.end,
        .protection = (q.vma_flags & IS_READABLE ? MT_PROT_READ : 0) |
                      (q.vma_flags & IS_WRITABLE ? MT_PROT_WRITE : 0) |
                      (q.vma_flags & IS_EXECUTABLE ? MT_PROT_EXECUTE : 0),
        .flags = q.vma_flags & IS_SHARED ? MT_REGION_SHARED : 0,
    };
    return 1;
}

size_t mt_mapping_line(int maps, uint64_t base, char *line, size_t bytes)
{
    struct query q = {.address = base};
    size_t n, name;

    if (bytes <= NAME_COLUMN * 2)
        return 0;
    q.name = (uintptr_t)(line + NAME_COLUMN * 2);
    q.name_bytes = (uint32_t)(bytes - NAME_COLUMN * 2);
    if (ask(maps, &q) != 1 || q.start != base)
        return 0;
    name = q.name_bytes > 0 ? q.name_bytes - 1 : 0;
    if (memchr(line + NAME_COLUMN * 2, '\n', name))
        return 0;
    n = (size_t)snprintf(
        line, NAME_COLUMN * 2, "%08llx-%08llx %c%c%c%c %08llx %02x:%02x %llu ",
        (unsigned long long)q.start, (unsigned long long)q.end,
        q.vma_flags & IS_READABLE ? 'r' : '-', q.vma_flags & IS_WRITABLE ? 'w' : '-',
        q.vma_flags & IS_EXECUTABLE ? 'x' : '-', q.vma_flags & IS_SHARED ? 's' : 'p',
        (unsigned long long)q.offset, q.major, q.minor, (unsigned long long)q.inode);
    if (n >= NAME_COLUMN * 2)
        return 0;
    if (name == 0)
        return n;
    while (n < NAME_COLUMN)
        line[n++] = ' ';
    memmove(line + n, line + NAME_COLUMN * 2, name);
    return n + name;
}
