/* SPDX-License-Identifier: MIT */
/* trace: exact memory events, from the calls of the host to the sampler.
 *
 * Two halves. The interposers are a library of their own, libmemtracer-stacks, so that a process
 * that does not ask for stacks does not pay for them; in it nothing happens before start(). The
 * sampler finds it in its process by mt_trace_find() and talks to it through the port. Between
 * the two lies one block of memory that the sampler brings: a ring of events (ring.h) and a
 * table of live large blocks (live.h). */
#ifndef MT_TRACE_TRACE_H
#define MT_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/event.h"

#define MT_TRACE_MIN_BYTES (128u * 1024) /* options.stack_min_bytes where it is 0 */

struct mt_trace_port {
    /* How much memory start() wants. */
    size_t memory_bytes;
    /* Begins with zeroed `memory`, which stays the caller's. Calls of the calling thread are no
     * events from here on. False: another tracer has it, or nothing can be unwound here. */
    bool (*start)(void *memory, uint64_t min_bytes);
    /* Ends; true when nobody is in the memory any more, so that it may be unmapped. */
    bool (*stop)(void);
    /* The oldest event but `ahead`, NULL = none. Valid until released. */
    const struct mt_event *(*peek)(uint32_t ahead);
    void (*release)(void); /* of the oldest */
    /* Events that found no room, since start(). */
    uint64_t (*lost)(void);
    /* MT_EVENT_UNLOAD events that are, or were, in the ring. */
    uint64_t (*unloads)(void);
    /* True while libraries are being taken away whose UNLOAD events are still to come. */
    bool (*unloading)(void);
    /* The loaded program or library around `pc`, in the shape of an UNLOAD event. */
    bool (*module_at)(uint64_t pc, struct mt_event *out);
};

/* The port of this process, NULL = libmemtracer-stacks is not in it. */
const struct mt_trace_port *mt_trace_find(void);

#endif
