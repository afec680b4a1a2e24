/* SPDX-License-Identifier: MIT */
/* base: the one pair of allocation functions, on whole pages from the OS.
 * In: sizes. Out: zeroed blocks, and the list of them for claim/own.c.
 * Called by every room at start and stop; a tick allocates nothing.
 * Must not use the host's allocator or a lock: a table of slots claimed by compare-and-swap stays
 * right in a child of fork(), whatever other threads were doing. */
#include "base/memory.h"

#include <stdatomic.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os/os.h"

#define N_SLOTS 4096 /* some 34 a tracer, of which a process may have 64; and what they grow by */

/* base 0 = free slot, 1 = being filled; bytes are written before base is published. */
static struct {
    atomic_uintptr_t base;
    atomic_size_t bytes;
} slots[N_SLOTS];

static atomic_size_t n_reached; /* those behind were never filled, and need no look */
static atomic_uint fail_at;

static bool must_fail(void)
{
    unsigned n = atomic_load(&fail_at);

    return n > 0 && atomic_fetch_sub(&fail_at, 1) == 1;
}

/* Puts a block into a free slot; false = none is free. */
static bool keep(void *p, size_t bytes)
{
    for (size_t i = 0; i < N_SLOTS; i++) {
        uintptr_t empty = 0;

        if (!atomic_compare_exchange_strong(&slots[i].base, &empty, 1))
            continue;
        for (size_t n = atomic_load(&n_reached); n <= i;)
            atomic_compare_exchange_weak(&n_reached, &n, i + 1);
        atomic_store(&slots[i].bytes, bytes);
        atomic_store(&slots[i].base, (uintptr_t)p);
        return true;
    }
    return false;
}

/* Takes a block out of its slot and says how long it is; 0 = it is in none. */
static size_t drop(void *p)
{
    for (size_t i = 0; i < atomic_load(&n_reached); i++) {
        uintptr_t base = (uintptr_t)p;
        size_t bytes = atomic_load(&slots[i].bytes);

        if (!atomic_compare_exchange_strong(&slots[i].base, &base, 1))
            continue;
        atomic_store(&slots[i].bytes, 0);
        atomic_store(&slots[i].base, 0);
        return bytes;
    }
    return 0;
}

void *mt_memory_alloc(size_t bytes)
{
    size_t page = mt_os_page_bytes();
    size_t rounded = (bytes + page - 1) / page * page;
    void *p;

    if (rounded < bytes || rounded == 0 || must_fail())
        return NULL;
    p = mt_os_pages_map(rounded);
    if (p && !keep(p, rounded)) {
        mt_os_pages_unmap(p, rounded);
        return NULL;
    }
    return p;
}

void mt_memory_free(void *p)
{
    size_t bytes = p ? drop(p) : 0;

    if (bytes)
        mt_os_pages_unmap(p, bytes);
}

bool mt_memory_grow(void **p, size_t used, size_t bytes)
{
    void *larger = mt_memory_alloc(bytes);

    if (!larger)
        return false;
    if (*p)
        memcpy(larger, *p, used);
    mt_memory_free(*p);
    *p = larger;
    return true;
}

void mt_memory_each(void (*visit)(void *user, uint64_t base, uint64_t bytes), void *user)
{
    for (size_t i = 0; i < atomic_load(&n_reached); i++) {
        uintptr_t base = atomic_load(&slots[i].base);
        size_t bytes = atomic_load(&slots[i].bytes);

        if (base > 1 && bytes > 0)
            visit(user, base, bytes);
    }
}

static void add_bytes(void *user, uint64_t base MT_UNUSED, uint64_t bytes)
{
    *(uint64_t *)user += bytes;
}

uint64_t mt_memory_held(void)
{
    uint64_t sum = 0;

    mt_memory_each(add_bytes, &sum);
    return sum;
}

void mt_memory_fail_at(unsigned n)
{
    atomic_store(&fail_at, n);
}
