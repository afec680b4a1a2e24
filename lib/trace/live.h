/* SPDX-License-Identifier: MIT */
/* trace: which addresses are live blocks of at least the threshold, so that a free() knows in one
 * load that its block is none of them. No lock; any thread, signal handlers too. */
#ifndef MT_TRACE_LIVE_H
#define MT_TRACE_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MT_LIVE_SLOTS (1u << 18)
#define MT_LIVE_CELL_SHIFT 16    /* a cell of the filter stands for 64 KiB of addresses … */
#define MT_LIVE_CELLS (1u << 16) /* … and for those 4 GiB further */

struct mt_live_slot {
    _Atomic uint64_t address; /* 0 = free */
    _Atomic uint64_t bytes;
};

struct mt_live {
    struct mt_live_slot slots[MT_LIVE_SLOTS];
};

/* How many live blocks begin in a cell; once at the top it stays there. */
extern _Atomic uint8_t mt_live_filter[MT_LIVE_CELLS];

/* False for nearly every address that is no live large block. */
static inline bool mt_live_maybe(const void *p)
{
    uintptr_t cell = (uintptr_t)p >> MT_LIVE_CELL_SHIFT & (MT_LIVE_CELLS - 1);

    return atomic_load_explicit(&mt_live_filter[cell], memory_order_relaxed) != 0;
}

/* False when there is no room: the block will not be found. */
bool mt_live_add(struct mt_live *l, uint64_t address, uint64_t bytes);

/* Takes the block out; false when it is not in. Before it is given back: then the address is
 * nobody else's yet. */
bool mt_live_take(struct mt_live *l, uint64_t address, uint64_t *out_bytes);

/* Makes every address in the range one that is never known to be small. */
void mt_live_suspect(const void *p, uint64_t bytes);

#endif
