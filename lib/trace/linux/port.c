/* SPDX-License-Identifier: MIT */
/* trace/linux: whether anybody records, and the way of one event into the ring.
 * In: events of the interposers. Out: the ring; the port for the sampler. Called from any thread,
 * signal handlers, children of fork(). Must not wait (but stop(), which the sampler calls), nor
 * touch errno.
 * Uses: madvise(MADV_WIPEONFORK) (4.14), gettid (2.4.11). */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "trace/linux/interpose.h"

#define PAGE_BYTES 4096u
#define STOP_WAIT_MS 1000

/* In a page that a child of fork() finds zeroed: there nobody records. */
struct life {
    _Atomic uint32_t epoch; /* 0 = nobody records */
    _Atomic int inside;     /* threads that may touch the memory */
};

struct local {
    int calls; /* that are events, around this one */
    bool ignored;
    uint32_t tid, tid_epoch;
};

_Atomic uint64_t mt_trace_min = UINT64_MAX;
_Atomic int mt_trace_unloading;

static struct life *life;
static struct mt_trace_memory *memory;
static _Atomic uint32_t last_epoch;
static _Atomic uint64_t n_unloads;
static _Thread_local __attribute__((tls_model("initial-exec"))) struct local local;

struct mt_trace_memory *mt_trace_enter(void)
{
    if (!life || local.ignored)
        return NULL;
    atomic_fetch_add(&life->inside, 1);
    if (atomic_load(&life->epoch))
        return memory;
    atomic_fetch_sub(&life->inside, 1);
    return NULL;
}

void mt_trace_leave(void)
{
    atomic_fetch_sub(&life->inside, 1);
}

bool mt_trace_is_nested(void)
{
    return local.calls > 0;
}

void mt_trace_begin_call(void)
{
    local.calls++;
}

void mt_trace_end_call(void)
{
    local.calls--;
}

int64_t mt_trace_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint32_t thread_id(uint32_t epoch)
{
    if (local.tid_epoch != epoch) {
        local.tid = (uint32_t)syscall(SYS_gettid);
        local.tid_epoch = epoch;
    }
    return local.tid;
}

/* The memory is entered by the caller. */
static void tell(struct mt_event *e)
{
    int saved = errno;

    e->tid = thread_id(atomic_load_explicit(&life->epoch, memory_order_relaxed));
    if (e->kind != MT_EVENT_UNLOAD) {
        e->n_frames = 0;
        if (local.calls > 0)
            e->flags |= MT_EVENT_NESTED;
        if (!mt_unwind(e))
            e->flags |= MT_EVENT_CUT;
    }
    if (mt_ring_push(&memory->ring, e) && e->kind == MT_EVENT_UNLOAD)
        atomic_fetch_add(&n_unloads, 1);
    errno = saved;
}

void mt_trace_tell(struct mt_event *e)
{
    e->t_ns = e->began_ns = mt_trace_now();
    tell(e);
}

void mt_trace_tell_given(struct mt_event *e, int64_t began_ns)
{
    e->t_ns = e->began_ns = began_ns;
    tell(e);
}

void mt_trace_tell_moved(struct mt_event *e, int64_t began_ns)
{
    e->t_ns = mt_trace_now();
    e->began_ns = began_ns;
    tell(e);
}

/* ---- the port ---- */

static bool make_life(void)
{
    void *page;

    if (life)
        return true;
    if (!mt_next.mmap)
        mt_next_bind();
    page =
        mt_next.mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK)) {
        mt_next.munmap(page, PAGE_BYTES);
        return false;
    }
    life = page;
    return true;
}

static bool start(void *given, uint64_t min_bytes)
{
    uint32_t none = 0;
    uint32_t epoch = atomic_fetch_add(&last_epoch, 1) + 1;

    if (!make_life() || atomic_load(&life->epoch) || atomic_load(&life->inside) > 0)
        return false;
    local.ignored = true;
    mt_unwind_prepare();
    atomic_store(&n_unloads, 0);
    atomic_store(&mt_trace_unloading, 0);
    memory = given;
    if (!atomic_compare_exchange_strong(&life->epoch, &none, epoch))
        return false;
    atomic_store(&mt_trace_min, min_bytes ? min_bytes : 1);
    return true;
}

static bool stop(void)
{
    static const struct timespec pause = {0, 1000000};

    atomic_store(&mt_trace_min, UINT64_MAX);
    atomic_store(&life->epoch, 0);
    for (int i = 0; i < STOP_WAIT_MS && atomic_load(&life->inside) > 0; i++)
        nanosleep(&pause, NULL);
    if (atomic_load(&life->inside) > 0)
        return false;
    for (unsigned i = 0; i < MT_LIVE_CELLS; i++)
        atomic_store_explicit(&mt_live_filter[i], 0, memory_order_relaxed);
    mt_next_suspect_early();
    return true;
}

static const struct mt_event *peek(uint32_t ahead)
{
    return mt_ring_peek(&memory->ring, ahead);
}

static void release(void)
{
    mt_ring_release(&memory->ring);
}

static uint64_t lost(void)
{
    return atomic_load(&memory->ring.lost);
}

static uint64_t unloads(void)
{
    return atomic_load(&n_unloads);
}

static bool unloading(void)
{
    return atomic_load(&mt_trace_unloading) > 0;
}

const struct mt_trace_port *memtracer_stacks_port_1(void)
{
    static const struct mt_trace_port port = {
        .memory_bytes = sizeof(struct mt_trace_memory),
        .start = start,
        .stop = stop,
        .peek = peek,
        .release = release,
        .lost = lost,
        .unloads = unloads,
        .unloading = unloading,
        .module_at = mt_loaded_at,
    };

    return &port;
}
