/* SPDX-License-Identifier: MIT */
/* record: memory for a SQLite that is ours alone. In: SQLite's requests. Out: blocks of size
 * classes, cut from pages of base/memory.h and used again for ever: no lock, no system call and
 * nothing of the host's allocator once it has warmed up.
 * Linked only where SQLite's archive is part of the same object (the preload library): in a shared
 * copy sqlite3_config() would be the host's to call. One thread at a time, the sampler's. */
#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

#define N_CLASSES 48u /* four a power of two: 32, 40, 48, 56, 64, 80 … 65536 … 114688 */
#define CHUNK_BYTES ((size_t)1 << 20)
#define ALONE N_CLASSES /* a block with pages of its own */

struct block {
    _Alignas(8) struct block *next; /* while it is free */
    uint32_t kind;
    uint32_t room; /* bytes behind this header */
};

static struct block *free_blocks[N_CLASSES];
static char *chunk;
static size_t chunk_left;

static uint32_t class_bytes(uint32_t kind)
{
    return 8u * (4u + kind % 4u) << kind / 4u;
}

static uint32_t class_of(int bytes)
{
    uint32_t kind = 0;

    while (kind < ALONE && class_bytes(kind) < (uint32_t)bytes)
        kind++;
    return kind;
}

/* What is left of the chunk before is given up: less than one block. */
static struct block *cut(uint32_t kind)
{
    size_t bytes = sizeof(struct block) + class_bytes(kind);
    struct block *b;

    if (chunk_left < bytes) {
        char *fresh = mt_memory_alloc(CHUNK_BYTES);

        if (!fresh)
            return NULL;
        chunk = fresh;
        chunk_left = CHUNK_BYTES;
    }
    b = (struct block *)(void *)chunk;
    chunk += bytes;
    chunk_left -= bytes;
    b->kind = kind;
    b->room = class_bytes(kind);
    return b;
}

static struct block *take_alone(int bytes)
{
    struct block *b = mt_memory_alloc(sizeof(*b) + (size_t)bytes);

    if (b) {
        b->kind = ALONE;
        b->room = (uint32_t)bytes;
    }
    return b;
}

static void *take(int bytes)
{
    uint32_t kind = class_of(bytes);
    struct block *b;

    if (kind == ALONE) {
        b = take_alone(bytes);
    } else if (free_blocks[kind]) {
        b = free_blocks[kind];
        free_blocks[kind] = b->next;
    } else {
        b = cut(kind);
    }
    return b ? b + 1 : NULL;
}

static void give(void *p)
{
    struct block *b = (struct block *)p - 1;

    if (b->kind == ALONE) {
        mt_memory_free(b);
        return;
    }
    b->next = free_blocks[b->kind];
    free_blocks[b->kind] = b;
}

static int room_of(void *p)
{
    return p ? (int)((struct block *)p - 1)->room : 0;
}

static void *take_again(void *p, int bytes)
{
    int room = room_of(p);
    void *larger;

    if (bytes <= room)
        return p;
    larger = take(bytes);
    if (!larger)
        return NULL;
    memcpy(larger, p, (size_t)room);
    give(p);
    return larger;
}

static int round_up(int bytes)
{
    uint32_t kind = class_of(bytes);

    return kind == ALONE ? (bytes + 7) & ~7 : (int)class_bytes(kind);
}

static int begin(void *unused)
{
    (void)unused;
    return SQLITE_OK;
}

static void end(void *unused)
{
    (void)unused;
}

/* Before the preload library begins to record, which is in a constructor, too. */
__attribute__((constructor(101))) static void give_to_sqlite(void)
{
    static const sqlite3_mem_methods methods = {
        .xMalloc = take,
        .xFree = give,
        .xRealloc = take_again,
        .xSize = room_of,
        .xRoundup = round_up,
        .xInit = begin,
        .xShutdown = end,
    };

    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}
