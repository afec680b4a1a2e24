/* SPDX-License-Identifier: MIT */
/* trace: the ring of events. In: events of any thread. Out: the same, in order of their slots.
 * Called by the interposers and, through the port, by the sampler. Must not wait, allocate or
 * touch errno. */
#include "trace/ring.h"

#include <stddef.h>
#include <string.h>

static uint64_t lap_of(uint64_t place)
{
    return place / MT_RING_SLOTS * 2;
}

/* Only as much as is filled: most stacks are far shorter than the room for them. */
static void copy_event(struct mt_event *to, const struct mt_event *from)
{
    size_t bytes = sizeof(*from);

    if (from->kind != MT_EVENT_UNLOAD)
        bytes = offsetof(struct mt_event, more) + from->n_frames * sizeof(uint64_t);
    memcpy(to, from, bytes);
}

bool mt_ring_push(struct mt_ring *r, const struct mt_event *e)
{
    uint64_t place = atomic_load_explicit(&r->head, memory_order_relaxed);

    for (;;) {
        struct mt_ring_slot *slot = &r->slots[place % MT_RING_SLOTS];
        uint64_t lap = atomic_load_explicit(&slot->lap, memory_order_acquire);

        if (lap == lap_of(place)) {
            if (atomic_compare_exchange_weak(&r->head, &place, place + 1)) {
                copy_event(&slot->event, e);
                atomic_store_explicit(&slot->lap, lap + 1, memory_order_release);
                return true;
            }
        } else if (lap < lap_of(place)) {
            atomic_fetch_add(&r->lost, 1);
            return false;
        } else {
            place = atomic_load_explicit(&r->head, memory_order_relaxed);
        }
    }
}

const struct mt_event *mt_ring_peek(const struct mt_ring *r, uint32_t ahead)
{
    uint64_t place = r->tail + ahead;
    const struct mt_ring_slot *slot = &r->slots[place % MT_RING_SLOTS];

    if (ahead >= MT_RING_SLOTS ||
        atomic_load_explicit(&slot->lap, memory_order_acquire) != lap_of(place) + 1)
        return NULL;
    return &slot->event;
}

void mt_ring_release(struct mt_ring *r)
{
    struct mt_ring_slot *slot = &r->slots[r->tail % MT_RING_SLOTS];

    atomic_store_explicit(&slot->lap, lap_of(r->tail) + 2, memory_order_release);
    r->tail++;
}
