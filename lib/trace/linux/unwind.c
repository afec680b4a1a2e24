/* SPDX-License-Identifier: MIT */
/* trace/linux: the calling thread's stack, as return addresses.
 * In: this call. Out: the frames outside this library. Called for each event, in signal handlers
 * too. Must not allocate or wait: libgcc walks by .eh_frame, so that code without frame pointers
 * is walked as well, and finds the tables without a lock where glibc has _dl_find_object (2.35).
 *
 * A walk takes microseconds, and loops allocate from one place. So the last walks are kept with
 * the places on the stack where the return addresses stood: when the call comes from the same
 * address at the same stack pointer, and each place holds the same return address as then, from
 * the inside out, it is the same stack, and every place read belongs to a frame that exists.
 * Uses: _Unwind_Backtrace (libgcc, in this library), end and start of the image (linker). */
#include <errno.h>
#include <unwind.h>

#include "trace/linux/interpose.h"

#define WALKS 1024u
#define OWN_FRAMES 8

/* The words of a walk, guarded by `turn`: odd while one is written. */
struct walk {
    _Atomic uint64_t turn;
    _Atomic uint64_t stack, frame, n;
    _Atomic uint64_t place[MT_EVENT_FRAMES];
    _Atomic uint64_t pc[MT_EVENT_FRAMES];
};

struct walking {
    struct mt_event *event;
    uint64_t place[MT_EVENT_FRAMES];
    int n_own;
    bool outside, cut, exact;
};

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _etext[] __attribute__((visibility("hidden")));

static struct walk walks[WALKS];
static _Thread_local __attribute__((tls_model("initial-exec"))) bool busy;

static bool is_own(uint64_t pc)
{
    return pc >= (uintptr_t)__ehdr_start && pc < (uintptr_t)_etext;
}

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *user)
{
    struct walking *w = user;
    struct mt_event *e = w->event;
    uint64_t pc = (uint64_t)_Unwind_GetIP(context), place;

    if (!pc)
        return _URC_END_OF_STACK;
    if (!w->outside && is_own(pc))
        return ++w->n_own > OWN_FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
    w->outside = true;
    if (e->n_frames == MT_EVENT_FRAMES) {
        w->cut = true;
        return _URC_END_OF_STACK;
    }
    place = (uint64_t)_Unwind_GetCFA(context) - sizeof(uintptr_t);
    if (w->exact && *(const uintptr_t *)(uintptr_t)place != pc)
        w->exact = false;
    w->place[e->n_frames] = place;
    e->more.frames[e->n_frames++] = pc;
    return _URC_NO_REASON;
}

static struct walk *walk_of(uint64_t stack, uint64_t pc)
{
    uint64_t mixed = (stack ^ pc << 17) * UINT64_C(0x9e3779b97f4a7c15);

    return &walks[mixed >> 32 & (WALKS - 1)];
}

/* True when the walk of then is the one of now. */
static bool repeat(struct mt_event *e, struct walk *w, uint64_t stack, uint64_t frame)
{
    uint64_t turn = atomic_load_explicit(&w->turn, memory_order_acquire);
    uint64_t n = atomic_load_explicit(&w->n, memory_order_relaxed);

    if ((turn & 1) || !n || n > MT_EVENT_FRAMES ||
        atomic_load_explicit(&w->stack, memory_order_relaxed) != stack ||
        atomic_load_explicit(&w->frame, memory_order_relaxed) != frame)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t place = atomic_load_explicit(&w->place[i], memory_order_relaxed);
        uint64_t pc = atomic_load_explicit(&w->pc[i], memory_order_relaxed);

        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&w->turn, memory_order_relaxed) != turn ||
            *(const uintptr_t *)(uintptr_t)place != pc)
            return false;
        e->more.frames[i] = pc;
    }
    e->n_frames = (uint8_t)n;
    return true;
}

static void keep(struct walk *w, const struct walking *done, uint64_t stack, uint64_t frame)
{
    uint64_t turn = atomic_load(&w->turn);
    const struct mt_event *e = done->event;

    if ((turn & 1) || !atomic_compare_exchange_strong(&w->turn, &turn, turn + 1))
        return;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&w->stack, stack, memory_order_relaxed);
    atomic_store_explicit(&w->frame, frame, memory_order_relaxed);
    atomic_store_explicit(&w->n, e->n_frames, memory_order_relaxed);
    for (int i = 0; i < e->n_frames; i++) {
        atomic_store_explicit(&w->place[i], done->place[i], memory_order_relaxed);
        atomic_store_explicit(&w->pc[i], e->more.frames[i], memory_order_relaxed);
    }
    atomic_store_explicit(&w->turn, turn + 2, memory_order_release);
}

static bool walk(struct mt_event *e)
{
    struct walking w = {.event = e, .exact = MT_TRACE_CALL_PUSHES};
    uint64_t stack = (uintptr_t)e; /* lies in the interposer's frame, always at one place */
    uint64_t frame = e->more.frames[0], pc = e->more.frames[1];
    struct walk *kept = walk_of(stack, pc);

    if (w.exact && repeat(e, kept, stack ^ pc, frame))
        return true;
    e->n_frames = 0;
    _Unwind_Backtrace(note_frame, &w);
    if (w.exact && !w.cut && e->n_frames)
        keep(kept, &w, stack ^ pc, frame);
    return !w.cut && e->n_frames > 0;
}

bool mt_unwind(struct mt_event *e)
{
    bool whole;

    if (busy)
        return false;
    busy = true;
    whole = walk(e);
    busy = false;
    return whole;
}

/* The first walk of libgcc may look for its tables at length; let it be here. */
void mt_unwind_prepare(void)
{
    struct mt_event e = {0};

    mt_unwind(&e);
}
