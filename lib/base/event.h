/* SPDX-License-Identifier: MIT */
/* One call that changed memory, as it was made: when, by whom, where, how much, and the stack. */
#ifndef MT_BASE_EVENT_H
#define MT_BASE_EVENT_H

#include <stdint.h>

enum mt_event_kind {
#define MT_EVENT(name, number, text, effect) MT_EVENT_##name = number,
#include "base/event_kind.def"
#undef MT_EVENT
    MT_EVENT_UNLOAD = 255 /* a library is gone: no row, but the way to name its code */
};

#define MT_EVENT_FRAMES 32
#define MT_EVENT_BUILD_ID_BYTES 20

#define MT_EVENT_NESTED 1u /* made inside another call that is an event itself */
#define MT_EVENT_CUT 2u    /* the stack is deeper than its frames, or could not be walked */

/* A library, for MT_EVENT_UNLOAD: address and bytes are the range it had. */
struct mt_event_module {
    uint8_t build_id_bytes;
    uint8_t build_id[MT_EVENT_BUILD_ID_BYTES];
    char path[MT_EVENT_FRAMES * 8 - 1 - MT_EVENT_BUILD_ID_BYTES]; /* cut where longer */
};

struct mt_event {
    int64_t t_ns;         /* monotonic: when it had taken, or before it gave */
    int64_t began_ns;     /* of a call that takes: before it did; else t_ns */
    uint64_t address;     /* brk: the new end */
    uint64_t bytes;       /* of the request; brk: 0 */
    uint64_t old_address; /* MOVE; brk: the old end */
    uint64_t old_bytes;
    uint32_t tid;
    uint8_t kind;  /* enum mt_event_kind */
    uint8_t flags; /* MT_EVENT_… */
    uint8_t n_frames;
    uint8_t protection; /* bits: 1 read, 2 write, 4 execute */
    uint32_t map_flags; /* as given to mmap(), else 0 */
    union {
        uint64_t frames[MT_EVENT_FRAMES]; /* return addresses, the caller first */
        struct mt_event_module module;
    } more;
};

#endif
