/* SPDX-License-Identifier: MIT */
/* trace: a bounded queue, many producers, one consumer, no lock and no waiting: a producer finds a
 * slot or counts its event as lost. Producers may be signal handlers that interrupt producers:
 * then the consumer waits for the slot, nobody else does. */
#ifndef MT_TRACE_RING_H
#define MT_TRACE_RING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/event.h"

#define MT_RING_SLOTS 16384u /* a power of two */

struct mt_ring_slot {
    /* Laps of the ring, twice: even = free for the lap, odd = holds an event of it. Zero is a
     * fresh ring, so that zeroed memory is one. */
    _Atomic uint64_t lap;
    struct mt_event event;
};

struct mt_ring {
    _Atomic uint64_t head; /* next to be filled */
    _Atomic uint64_t lost;
    uint64_t tail; /* next to be read; the consumer's */
    struct mt_ring_slot slots[MT_RING_SLOTS];
};

/* Copies the event in; false = full, and counted. Any thread, signal handlers too. */
bool mt_ring_push(struct mt_ring *r, const struct mt_event *e);

/* The consumer's: the oldest event but `ahead`, NULL = none yet; and one less. */
const struct mt_event *mt_ring_peek(const struct mt_ring *r, uint32_t ahead);
void mt_ring_release(struct mt_ring *r);

#endif
