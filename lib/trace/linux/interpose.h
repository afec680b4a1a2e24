/* SPDX-License-Identifier: MIT */
/* trace/linux: what the files of libmemtracer-stacks share. */
#ifndef MT_TRACE_INTERPOSE_H
#define MT_TRACE_INTERPOSE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "trace/live.h"
#include "trace/ring.h"
#include "trace/trace.h"

/* Whether a call leaves its return address just below the caller's stack pointer. */
#if defined(__x86_64__) || defined(__i386__)
#define MT_TRACE_CALL_PUSHES true
#else
#define MT_TRACE_CALL_PUSHES false
#endif

/* The number is the version of struct mt_trace_port and struct mt_event. */
__attribute__((weak, visibility("default"))) const struct mt_trace_port *
memtracer_stacks_port_1(void);

struct mt_trace_memory {
    struct mt_ring ring;
    struct mt_live live;
};

/* ---- next.c: the functions behind ours ---- */

struct mt_next {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
    int (*mprotect)(void *, size_t, int);
    int (*brk)(void *);
    void *(*sbrk)(intptr_t);
    void *(*shmat)(int, const void *, int);
    int (*shmdt)(const void *);
    int (*dlclose)(void *);
};

/* Bound before main(); before that each function binds itself. */
extern struct mt_next mt_next;
void mt_next_bind(void);

/* True for a block that was given out while binding; it is never given back. */
bool mt_next_is_early(const void *p, size_t *out_bytes);
void mt_next_suspect_early(void);

/* ---- port.c ---- */

/* Requests below it are passed on. UINT64_MAX while nobody records. */
extern _Atomic uint64_t mt_trace_min;

/* Threads inside dlclose(), until what it took away is told. */
extern _Atomic int mt_trace_unloading;

/* The memory, with the promise that it stays until mt_trace_leave(); NULL = nobody records, or
 * this thread's calls are no events. Not in a child of fork(). */
struct mt_trace_memory *mt_trace_enter(void);
void mt_trace_leave(void);

/* This call is made inside one that is an event itself; nests. */
bool mt_trace_is_nested(void);
void mt_trace_begin_call(void);
void mt_trace_end_call(void);

int64_t mt_trace_now(void);

/* An event of this call, to be used in the function that the host called, or that stands in its
 * place; leaves where it came from in the frames. */
#define MT_TRACE_EVENT(e, of)                                                                      \
    struct mt_event e;                                                                             \
    mt_trace_fill(&(e), (of), *(void *const *)__builtin_frame_address(0),                          \
                  __builtin_return_address(0))

static inline void mt_trace_fill(struct mt_event *e, enum mt_event_kind kind, const void *frame,
                                 const void *pc)
{
    e->address = e->bytes = e->old_address = e->old_bytes = 0;
    e->kind = (uint8_t)kind;
    e->flags = e->n_frames = e->protection = 0;
    e->map_flags = 0;
    e->more.frames[0] = (uintptr_t)frame;
    e->more.frames[1] = (uintptr_t)pc;
}

/* Completes time, thread and stack, puts it into the ring. errno is kept. */
void mt_trace_tell(struct mt_event *e);
/* The same for a call that gave memory back, or took or moved it, since `began_ns`. */
void mt_trace_tell_given(struct mt_event *e, int64_t began_ns);
void mt_trace_tell_moved(struct mt_event *e, int64_t began_ns);

/* ---- unwind.c ---- */

/* Fills frames and n_frames with the callers from outside this library. False where a signal
 * handler interrupted this very thread here: no frames then. */
bool mt_unwind(struct mt_event *e);
void mt_unwind_prepare(void);

/* ---- loaded.c ---- */

bool mt_loaded_at(uint64_t pc, struct mt_event *out);

#endif
