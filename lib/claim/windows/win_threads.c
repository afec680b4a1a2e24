/* SPDX-License-Identifier: MIT */
/* claim/windows: threads and their stacks.
 * In: the threads of the process, their TEBs, a snapshot. Out: STACK claims, TEB and PEB claims,
 * the list of threads. Called by win_claimer.c. No thread is suspended: the TEB tells the whole
 * stack, where a stack pointer would only tell a place in it.
 * Uses: NtGetNextThread (Windows Vista), Toolhelp where that lists nothing;
 * NtQueryInformationThread classes 0 (basic) and 38 (name, Windows 10 1607); TEB fields +0x08,
 * +0x10, +0x60, +0x1478. */
#include "claim/windows/win_claim.h"

#include <string.h>
#include <tlhelp32.h>

#define THREAD_ACCESS (THREAD_QUERY_INFORMATION | SYNCHRONIZE)
#define CLASS_BASIC 0
#define CLASS_NAME 38
#define NAME_UNITS 128
#define SNAPSHOT_TRIES 3

#define TEB_BYTES 0x2000u
#define TEB_STACK_BASE 0x08u
#define TEB_PEB 0x60u
#define TEB_STACK_ALLOCATION 0x1478u
#define PEB_BYTES 0x1000u

_Static_assert(sizeof(void *) == 8, "the offsets are those of 64-bit Windows");

struct thread_basic {
    LONG exit_status;
    void *teb;
    uint64_t process_id, thread_id;
    uint64_t affinity;
    LONG priority, base_priority;
};

/* UNICODE_STRING with its text behind it. */
struct thread_name {
    uint16_t bytes, most;
    wchar_t *text;
    wchar_t room[NAME_UNITS];
};

struct look {
    struct mt_claimer *claimer;
    const struct mt_snapshot *snapshot;
    struct mt_claim_set *out;
    bool peb_done;
};

static uint32_t name_of(const struct look *l, HANDLE thread)
{
    struct thread_name name;
    char text[NAME_UNITS * 3];
    size_t bytes;

    if (l->claimer->query_thread(thread, CLASS_NAME, &name, sizeof(name), NULL) != 0 || !name.text)
        return 0;
    bytes = mt_win_utf8(name.text, name.bytes / sizeof(wchar_t), text, sizeof(text));
    return bytes ? mt_strings_add(l->claimer->strings, text, bytes) : 0;
}

static uint64_t start_of(HANDLE thread)
{
    FILETIME start, end, kernel, user;

    if (!GetThreadTimes(thread, &start, &end, &kernel, &user))
        return 0;
    return (uint64_t)start.dwHighDateTime << 32 | start.dwLowDateTime;
}

/* "thread 17 worker" */
static uint32_t owner_of(const struct look *l, const struct mt_thread *t)
{
    return mt_strings_addf(l->claimer->strings, t->name ? "thread %lu %s" : "thread %lu",
                           (unsigned long)t->tid,
                           mt_strings_get(l->claimer->strings, t->name, NULL));
}

static void claim_block(const struct look *l, uint64_t base, uint64_t bytes, uint32_t owner,
                        uint32_t thread)
{
    mt_claim_add(l->out, &(struct mt_claim){.base = base,
                                            .end = base + bytes,
                                            .owner = owner,
                                            .thread = thread,
                                            .type = MT_TYPE_PRIVATE,
                                            .rank = MT_RANK_NAME,
                                            .confidence = MT_CONFIDENCE_A});
}

static uint32_t inaccessible_kind(const struct mt_region *r)
{
    if (r->flags & MT_REGION_GUARD)
        return MT_CLAIM_GUARD;
    return r->flags & MT_REGION_COMMITTED ? 0 : MT_CLAIM_RESERVED;
}

/* Reserve and guard lie over the claim of the whole stack. */
static void claim_inaccessible(const struct look *l, struct mt_thread *t, uint32_t first,
                               struct mt_claim claim)
{
    uint64_t end = claim.end;

    if (claim.rank == MT_RANK_STACK)
        claim.rank = MT_RANK_GUARD;
    for (uint32_t i = first; i < l->snapshot->n_regions; i++) {
        const struct mt_region *r = &l->snapshot->regions[i];

        if (r->base >= end)
            break;
        claim.base = r->base;
        claim.end = r->end < end ? r->end : end;
        claim.flags = inaccessible_kind(r);
        if (r->flags & MT_REGION_GUARD)
            t->guard_bytes += claim.end - claim.base;
        if (claim.flags)
            mt_claim_add(l->out, &claim);
    }
}

/* The sampler's own stack is part of what memtracer costs. */
static void claim_stack(const struct look *l, struct mt_thread *t, uint32_t first)
{
    bool is_own = l->claimer->is_self && t->tid == GetCurrentThreadId();
    const struct mt_claim claim = {.base = t->stack_base,
                                   .end = t->stack_base + t->stack_bytes,
                                   .owner = owner_of(l, t),
                                   .thread = t->tid,
                                   .type = is_own ? MT_TYPE_TRACER : MT_TYPE_STACK,
                                   .rank = is_own ? MT_RANK_TRACER : MT_RANK_STACK,
                                   .confidence = MT_CONFIDENCE_A};

    mt_claim_add(l->out, &claim);
    claim_inaccessible(l, t, first, claim);
}

/* A stack is believed when it is what the system lists there: private memory that begins at the
 * very address. A TEB of a thread that has just ended may hold anything. */
static void look_at_stack(const struct look *l, uint64_t teb, struct mt_thread *t)
{
    const struct mt_snapshot *s = l->snapshot;
    uint64_t base, top;
    uint32_t first;

    if (!win_read(l->claimer, teb + TEB_STACK_BASE, &top, sizeof(top)) ||
        !win_read(l->claimer, teb + TEB_STACK_ALLOCATION, &base, sizeof(base)) || top <= base)
        return;
    first = mt_snapshot_find(s, base);
    if (first == s->n_regions || s->regions[first].base != base ||
        !(s->regions[first].flags & MT_REGION_PRIVATE) ||
        win_allocation_end(l->claimer, base) < top)
        return;
    t->stack_base = base;
    t->stack_bytes = top - base;
    claim_stack(l, t, first);
}

static void look_at_teb(struct look *l, uint64_t teb, const struct mt_thread *t)
{
    uint64_t peb;

    claim_block(l, teb, TEB_BYTES, mt_strings_add(l->claimer->strings, "TEB", 3), t->tid);
    if (l->peb_done || !win_read(l->claimer, teb + TEB_PEB, &peb, sizeof(peb)))
        return;
    claim_block(l, peb, PEB_BYTES, mt_strings_add(l->claimer->strings, "PEB", 3), 0);
    l->peb_done = true;
}

/* A handle keeps an ended thread in the list; its TEB is gone, or somebody else's by now. */
static void look_at_thread(struct look *l, HANDLE thread)
{
    struct thread_basic basic;
    struct mt_thread *t;

    if (WaitForSingleObject(thread, 0) != WAIT_TIMEOUT ||
        l->claimer->query_thread(thread, CLASS_BASIC, &basic, sizeof(basic), NULL) != 0 ||
        !basic.teb)
        return;
    if (l->out->n_threads == l->out->thread_capacity) {
        l->out->truncated = true;
        return;
    }
    t = &l->out->threads[l->out->n_threads++];
    *t = (struct mt_thread){.tid = (uint32_t)basic.thread_id,
                            .name = name_of(l, thread),
                            .start_ticks = start_of(thread)};
    look_at_stack(l, (uintptr_t)basic.teb, t);
    look_at_teb(l, (uintptr_t)basic.teb, t);
}

/* False = no thread was listed: the call is there, but does not work. */
static bool each_next(struct look *l)
{
    HANDLE before = NULL, thread;

    while (l->claimer->next_thread(l->claimer->process, before, THREAD_ACCESS, 0, 0, &thread) ==
           0) {
        look_at_thread(l, thread);
        if (before)
            CloseHandle(before);
        before = thread;
    }
    if (before)
        CloseHandle(before);
    return before != NULL;
}

/* A snapshot may fail because the lists grew while they were copied, and may fail for ever. */
static HANDLE snapshot_of_threads(const struct mt_claimer *c)
{
    HANDLE list = INVALID_HANDLE_VALUE;

    for (unsigned i = 0; i < SNAPSHOT_TRIES && list == INVALID_HANDLE_VALUE; i++)
        list = c->thread_snapshot(TH32CS_SNAPTHREAD, 0);
    return list;
}

/* Lists the threads of the whole system, so it is the second choice. */
static void each_toolhelp(struct look *l)
{
    HANDLE list = snapshot_of_threads(l->claimer);
    THREADENTRY32 entry = {.dwSize = sizeof(entry)};

    if (list == INVALID_HANDLE_VALUE)
        return;
    for (BOOL more = Thread32First(list, &entry); more; more = Thread32Next(list, &entry)) {
        HANDLE thread;

        if (entry.th32OwnerProcessID != l->claimer->pid)
            continue;
        thread = OpenThread(THREAD_ACCESS, FALSE, entry.th32ThreadID);
        if (!thread)
            continue;
        look_at_thread(l, thread);
        CloseHandle(thread);
    }
    CloseHandle(list);
}

/* Shell sort: qsort may allocate, and the system lists threads nearly in order. */
static void sort_by_id(struct mt_thread *threads, uint32_t n)
{
    for (uint32_t gap = n / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < n; i++) {
            struct mt_thread moving = threads[i];
            uint32_t at = i;

            for (; at >= gap && threads[at - gap].tid > moving.tid; at -= gap)
                threads[at] = threads[at - gap];
            threads[at] = moving;
        }
}

/* Looking functions up takes the loader's lock, which a host may hold for long: once, at open. */
void win_threads_open(struct mt_claimer *c)
{
    FARPROC query = mt_win_procedure("ntdll.dll", "NtQueryInformationThread");
    FARPROC next = mt_win_procedure("ntdll.dll", "NtGetNextThread");

    memcpy(&c->query_thread, &query, sizeof(c->query_thread));
    memcpy(&c->next_thread, &next, sizeof(c->next_thread));
    c->thread_snapshot = CreateToolhelp32Snapshot;
}

void win_claim_threads(struct mt_claimer *c, const struct mt_snapshot *snapshot,
                       struct mt_claim_set *out)
{
    struct look l = {.claimer = c, .snapshot = snapshot, .out = out};

    if (!c->query_thread)
        return;
    if (!c->next_thread || !each_next(&l))
        each_toolhelp(&l);
    sort_by_id(out->threads, out->n_threads);
}
