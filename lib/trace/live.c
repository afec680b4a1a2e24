/* SPDX-License-Identifier: MIT */
/* trace: the table of live large blocks: sets of 32 slots, so that taking out leaves no grave.
 * In: addresses. Out: their sizes. Called by the interposers of the heap. Must not wait. */
#include "trace/live.h"

#define SET_SLOTS 32u
#define N_SETS (MT_LIVE_SLOTS / SET_SLOTS)
#define CELL_MOST 255u

_Atomic uint8_t mt_live_filter[MT_LIVE_CELLS];

static _Atomic uint8_t *cell_of(uint64_t address)
{
    return &mt_live_filter[address >> MT_LIVE_CELL_SHIFT & (MT_LIVE_CELLS - 1)];
}

static struct mt_live_slot *set_of(struct mt_live *l, uint64_t address)
{
    uint64_t mixed = (address >> 4) * UINT64_C(0x9e3779b97f4a7c15);

    return &l->slots[(mixed >> 40) % N_SETS * SET_SLOTS];
}

static void raise_cell(uint64_t address)
{
    _Atomic uint8_t *cell = cell_of(address);
    uint8_t n = atomic_load(cell);

    while (n < CELL_MOST && !atomic_compare_exchange_weak(cell, &n, (uint8_t)(n + 1)))
        ;
}

static void lower_cell(uint64_t address)
{
    _Atomic uint8_t *cell = cell_of(address);
    uint8_t n = atomic_load(cell);

    while (n > 0 && n < CELL_MOST && !atomic_compare_exchange_weak(cell, &n, (uint8_t)(n - 1)))
        ;
}

bool mt_live_add(struct mt_live *l, uint64_t address, uint64_t bytes)
{
    struct mt_live_slot *set = set_of(l, address);

    for (unsigned i = 0; i < SET_SLOTS; i++) {
        uint64_t none = 0;

        if (atomic_load_explicit(&set[i].address, memory_order_relaxed) ||
            !atomic_compare_exchange_strong(&set[i].address, &none, address))
            continue;
        atomic_store(&set[i].bytes, bytes);
        raise_cell(address);
        return true;
    }
    return false;
}

bool mt_live_take(struct mt_live *l, uint64_t address, uint64_t *out_bytes)
{
    struct mt_live_slot *set = set_of(l, address);

    for (unsigned i = 0; i < SET_SLOTS; i++) {
        if (atomic_load_explicit(&set[i].address, memory_order_relaxed) != address)
            continue;
        *out_bytes = atomic_load(&set[i].bytes);
        atomic_store(&set[i].address, 0);
        lower_cell(address);
        return true;
    }
    return false;
}

void mt_live_suspect(const void *p, uint64_t bytes)
{
    uint64_t first = (uintptr_t)p;

    for (uint64_t at = first; at <= first + bytes; at += UINT64_C(1) << MT_LIVE_CELL_SHIFT)
        atomic_store(cell_of(at), CELL_MOST);
    atomic_store(cell_of(first + bytes), CELL_MOST);
}
