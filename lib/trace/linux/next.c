/* SPDX-License-Identifier: MIT */
/* trace/linux: the functions behind ours, found on the first call whichever that is.
 * In: calls of the loader and of constructors that come before ours. Out: mt_next. While the
 * dynamic linker looks them up it may allocate itself: that comes from a small arena.
 * Uses: dlsym(RTLD_NEXT) (glibc, musl). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "trace/linux/interpose.h"

#define ARENA_BYTES 32768u
#define ALIGNMENT 16u

static _Alignas(ALIGNMENT) char arena[ARENA_BYTES];
static _Atomic size_t arena_used;

/* Zeroed, as calloc() needs it; never given back. The size stands before the block. */
static void *arena_take(size_t bytes)
{
    size_t room = (bytes + 2 * ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    size_t at = atomic_fetch_add(&arena_used, room);

    if (bytes > ARENA_BYTES || at + room > ARENA_BYTES)
        return NULL;
    memcpy(arena + at, &bytes, sizeof(bytes));
    return arena + at + ALIGNMENT;
}

bool mt_next_is_early(const void *p, size_t *out_bytes)
{
    const char *block = p;

    if (block < arena || block >= arena + ARENA_BYTES)
        return false;
    memcpy(out_bytes, block - ALIGNMENT, sizeof(*out_bytes));
    return true;
}

void mt_next_suspect_early(void)
{
    mt_live_suspect(arena, ARENA_BYTES);
}

static bool is_bound(void)
{
    static _Atomic int binding;

    if (atomic_exchange(&binding, 1))
        return false;
    mt_next_bind();
    atomic_store(&binding, 0);
    return true;
}

static void *first_malloc(size_t bytes)
{
    return is_bound() ? mt_next.malloc(bytes) : arena_take(bytes);
}

static void *first_calloc(size_t n, size_t bytes)
{
    if (is_bound())
        return mt_next.calloc(n, bytes);
    return bytes && n > ARENA_BYTES / bytes ? NULL : arena_take(n * bytes);
}

static void *first_realloc(void *p, size_t bytes)
{
    void *moved;
    size_t old = 0;
    bool early = p && mt_next_is_early(p, &old);

    if (!early && is_bound())
        return mt_next.realloc(p, bytes);
    moved = arena_take(bytes);
    if (moved && early)
        memcpy(moved, p, old < bytes ? old : bytes);
    return moved;
}

/* Nothing but blocks of the arena can come here before the functions are bound. */
static void first_free(void *p)
{
    if (is_bound())
        mt_next.free(p);
}

static void *first_aligned_alloc(size_t alignment, size_t bytes)
{
    return is_bound() ? mt_next.aligned_alloc(alignment, bytes) : NULL;
}

static int first_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    return is_bound() ? mt_next.posix_memalign(out, alignment, bytes) : 12;
}

static void *first_memalign(size_t alignment, size_t bytes)
{
    return is_bound() ? mt_next.memalign(alignment, bytes) : NULL;
}

static void *first_valloc(size_t bytes)
{
    return is_bound() ? mt_next.valloc(bytes) : NULL;
}

struct mt_next mt_next = {
    .malloc = first_malloc,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .free = first_free,
    .aligned_alloc = first_aligned_alloc,
    .posix_memalign = first_posix_memalign,
    .memalign = first_memalign,
    .valloc = first_valloc,
};

/* A function goes into place last of all, and only once: others may be calling it now. */
#define BIND(name)                                                                                 \
    do {                                                                                           \
        void *found = dlsym(RTLD_NEXT, #name);                                                     \
        if (found)                                                                                 \
            memcpy(&next.name, &found, sizeof(found));                                             \
    } while (0)

void mt_next_bind(void)
{
    struct mt_next next = mt_next;

    mt_next_suspect_early();
    BIND(mmap);
    BIND(munmap);
    BIND(mremap);
    BIND(mprotect);
    BIND(brk);
    BIND(sbrk);
    BIND(shmat);
    BIND(shmdt);
    BIND(dlclose);
    BIND(posix_memalign);
    BIND(aligned_alloc);
    BIND(memalign);
    BIND(valloc);
    BIND(realloc);
    BIND(calloc);
    BIND(free);
    BIND(malloc);
    mt_next = next;
}
