/* SPDX-License-Identifier: MIT */
/* record: exact events and their stacks → rows of event, stack, frame, code. Part of the recorder,
 * under the same rules. */
#ifndef MT_RECORD_EVENTS_H
#define MT_RECORD_EVENTS_H

#include <stdbool.h>

#include "base/event.h"
#include "record/recorder.h"

/* Where code is: a file, and the address as its symbol table has it. */
struct mt_place {
    const char *path;
    const char *build_id; /* hexadecimal, "" = none */
    uint64_t offset;
};

struct mt_event_context {
    int64_t start_monotonic_ns; /* of the run */
    uint64_t generation;        /* another number: addresses may mean other places now */
    /* False: it cannot be told yet. */
    bool (*place)(void *user, uint64_t pc, struct mt_place *out);
    void *user;
};

#define MT_RECORDER_NOT_YET 1 /* place() said so; the event is to be given again later */

/* Adds an event to the open transaction. On failure nothing of it is kept. */
int mt_recorder_event(struct mt_recorder *r, const struct mt_event *e,
                      const struct mt_event_context *c);

/* Notes that `n` events are missing. */
int mt_recorder_events_lost(struct mt_recorder *r, int64_t t_ns, uint64_t n);

/* How many events went away with transactions that were rolled back, since the last call. */
uint64_t mt_recorder_events_undone(struct mt_recorder *r);

#endif
