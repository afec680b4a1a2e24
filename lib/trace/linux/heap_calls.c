/* SPDX-License-Identifier: MIT */
/* trace/linux: malloc and its family. In: the host's calls. Out: the next allocator's answers, and
 * an event for each block of at least the threshold. What is smaller costs one comparison, and
 * free() one load, for the live table knows the large blocks.
 * Called from anywhere, before main() and in signal handlers too. Must not change what the
 * allocator answers, nor errno. */
#undef _FILE_OFFSET_BITS
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "trace/linux/interpose.h"

#define VISIBLE __attribute__((visibility("default")))
#define APART __attribute__((noinline))

static bool is_small(size_t bytes)
{
    return bytes < atomic_load_explicit(&mt_trace_min, memory_order_relaxed);
}

static void tell_taken(struct mt_trace_memory *m, struct mt_event *e, const void *p,
                       int64_t began_ns)
{
    e->address = (uintptr_t)p;
    if (!mt_live_add(&m->live, e->address, e->bytes))
        atomic_fetch_add(&m->ring.lost, 1); /* its end will be missed */
    mt_trace_tell_moved(e, began_ns);
}

/* The calls that take one block and answer with it. */
enum taking { TAKE_MALLOC, TAKE_CALLOC, TAKE_ALIGNED_ALLOC, TAKE_MEMALIGN, TAKE_VALLOC };

/* `first` is calloc's number or the alignment, 0 where the call has neither. */
static inline void *pass_on(enum taking call, size_t first, size_t bytes)
{
    switch (call) {
    case TAKE_MALLOC: return mt_next.malloc(bytes);
    case TAKE_CALLOC: return mt_next.calloc(first, bytes);
    case TAKE_ALIGNED_ALLOC: return mt_next.aligned_alloc(first, bytes);
    case TAKE_MEMALIGN: return mt_next.memalign(first, bytes);
    case TAKE_VALLOC: return mt_next.valloc(bytes);
    }
    return NULL;
}

static APART void *take_large(enum taking call, size_t first, size_t bytes)
{
    static const uint8_t kinds[] = {MT_EVENT_MALLOC, MT_EVENT_CALLOC, MT_EVENT_ALIGNED_ALLOC,
                                    MT_EVENT_MEMALIGN, MT_EVENT_MEMALIGN};
    struct mt_trace_memory *m = mt_trace_enter();
    int64_t began_ns = mt_trace_now();
    void *p;

    if (!m)
        return pass_on(call, first, bytes);
    mt_trace_begin_call();
    p = pass_on(call, first, bytes);
    mt_trace_end_call();
    if (p) {
        MT_TRACE_EVENT(e, kinds[call]);
        e.bytes = call == TAKE_CALLOC ? first * bytes : bytes;
        tell_taken(m, &e, p, began_ns);
    }
    mt_trace_leave();
    return p;
}

VISIBLE void *malloc(size_t bytes)
{
    return is_small(bytes) ? mt_next.malloc(bytes) : take_large(TAKE_MALLOC, 0, bytes);
}

VISIBLE void *calloc(size_t n, size_t bytes)
{
    return is_small(n * bytes) ? mt_next.calloc(n, bytes) : take_large(TAKE_CALLOC, n, bytes);
}

static APART void large_free(void *p)
{
    struct mt_trace_memory *m;
    uint64_t bytes;
    size_t early;

    if (!p || mt_next_is_early(p, &early))
        return;
    m = mt_trace_enter();
    if (m && mt_live_take(&m->live, (uintptr_t)p, &bytes)) {
        MT_TRACE_EVENT(e, MT_EVENT_FREE);
        e.address = (uintptr_t)p;
        e.bytes = bytes;
        mt_trace_tell(&e);
    }
    if (m)
        mt_trace_leave();
    mt_next.free(p);
}

VISIBLE void free(void *p)
{
    if (mt_live_maybe(p))
        large_free(p);
    else
        mt_next.free(p);
}

static void *leave_early(const void *p, size_t old, size_t bytes)
{
    void *moved = malloc(bytes);

    if (moved)
        memcpy(moved, p, old < bytes ? old : bytes);
    return moved;
}

/* A block that shrinks below the threshold stays in the table: what was taken must be given. */
static void tell_moved(struct mt_trace_memory *m, struct mt_event *e, const void *p, bool known,
                       int64_t began_ns)
{
    e->address = (uintptr_t)p;
    if (p && !mt_live_add(&m->live, e->address, e->bytes))
        atomic_fetch_add(&m->ring.lost, 1);
    if (known || !is_small(e->bytes))
        mt_trace_tell_moved(e, began_ns);
}

/* The old block leaves the table before the call: once it is given back, its address may be
 * another thread's. */
static APART void *large_realloc(void *old, size_t bytes)
{
    struct mt_trace_memory *m;
    uint64_t old_bytes = 0;
    size_t early;
    bool known;
    void *p;

    if (old && mt_next_is_early(old, &early))
        return leave_early(old, early, bytes);
    m = mt_trace_enter();
    if (!m)
        return mt_next.realloc(old, bytes);
    known = old && mt_live_take(&m->live, (uintptr_t)old, &old_bytes);
    if (known || !is_small(bytes)) {
        MT_TRACE_EVENT(e, MT_EVENT_REALLOC);
        int64_t began_ns = mt_trace_now();

        e.old_address = (uintptr_t)old;
        e.old_bytes = old_bytes;
        e.bytes = bytes;
        mt_trace_begin_call();
        p = mt_next.realloc(old, bytes);
        mt_trace_end_call();
        if (p || !bytes)
            tell_moved(m, &e, p, known, began_ns);
        else if (known)
            mt_live_add(&m->live, (uintptr_t)old, old_bytes);
    } else {
        p = mt_next.realloc(old, bytes);
    }
    mt_trace_leave();
    return p;
}

VISIBLE void *realloc(void *p, size_t bytes)
{
    return is_small(bytes) && !mt_live_maybe(p) ? mt_next.realloc(p, bytes)
                                                : large_realloc(p, bytes);
}

/* ---- aligned blocks ---- */

VISIBLE void *aligned_alloc(size_t alignment, size_t bytes)
{
    return is_small(bytes) ? mt_next.aligned_alloc(alignment, bytes)
                           : take_large(TAKE_ALIGNED_ALLOC, alignment, bytes);
}

static APART int large_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    struct mt_trace_memory *m = mt_trace_enter();
    int64_t began_ns = mt_trace_now();
    int error;

    if (!m)
        return mt_next.posix_memalign(out, alignment, bytes);
    mt_trace_begin_call();
    error = mt_next.posix_memalign(out, alignment, bytes);
    mt_trace_end_call();
    if (!error) {
        MT_TRACE_EVENT(e, MT_EVENT_POSIX_MEMALIGN);
        e.bytes = bytes;
        tell_taken(m, &e, *out, began_ns);
    }
    mt_trace_leave();
    return error;
}

VISIBLE int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    return is_small(bytes) ? mt_next.posix_memalign(out, alignment, bytes)
                           : large_posix_memalign(out, alignment, bytes);
}

VISIBLE void *memalign(size_t alignment, size_t bytes)
{
    return is_small(bytes) ? mt_next.memalign(alignment, bytes)
                           : take_large(TAKE_MEMALIGN, alignment, bytes);
}

VISIBLE void *valloc(size_t bytes)
{
    return is_small(bytes) ? mt_next.valloc(bytes) : take_large(TAKE_VALLOC, 0, bytes);
}
