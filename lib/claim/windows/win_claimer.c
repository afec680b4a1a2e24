/* SPDX-License-Identifier: MIT */
/* claim/windows: the providers of one process, in order.
 * In: a snapshot. Out: the set filled anew. Called by sampler/ in its thread.
 * Must not suspend a thread, take a heap's lock or walk a heap: a host that has its own threads
 * stopped, or a heap of a million blocks, must not notice.
 * Uses: ReadProcessMemory (also for this process: it answers where a pointer would fault),
 * QueryWorkingSetEx, VirtualQueryEx. */
#include "claim/windows/win_claim.h"

#include <psapi.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/os/os.h"

void mt_claim_symbols_find(struct mt_claim_symbols *out)
{
    *out = (struct mt_claim_symbols){.allocator = 0};
}

int mt_claimer_open(uint32_t pid, const struct mt_claim_symbols *symbols,
                    struct mt_strings *strings, struct mt_claimer **out)
{
    struct mt_claimer *c = mt_memory_alloc(sizeof(*c));

    (void)symbols;
    if (!c)
        return mt_error_set(TRACER_ENOMEM, "no memory for the claimers");
    c->strings = strings;
    c->is_self = pid == 0;
    c->pid = pid ? pid : mt_os_process_id();
    c->process = GetCurrentProcess();
    if (pid) /* without it modules are claimed still: they need the snapshot only */
        c->process = OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, FALSE, pid);
    win_threads_open(c);
    *out = c;
    return TRACER_OK;
}

void mt_claimer_close(struct mt_claimer *c)
{
    if (!c)
        return;
    if (!c->is_self && c->process)
        CloseHandle(c->process);
    mt_memory_free(c);
}

int mt_claimer_collect(struct mt_claimer *c, const struct mt_snapshot *snapshot,
                       struct mt_claim_set *out)
{
    out->n_claims = 0;
    out->n_modules = 0;
    out->n_threads = 0;
    out->truncated = false;
    win_claim_modules(snapshot, out);
    if (!c->process)
        return TRACER_OK;
    win_claim_threads(c, snapshot, out);
    if (c->is_self)
        win_claim_heaps(c, snapshot, out);
    return TRACER_OK;
}

/* Heaps are shared by all threads: what SQLite takes from one cannot be told from the host's. */
const char *mt_claimer_allocator(const struct mt_claimer *c)
{
    (void)c;
    return "system heap";
}

void mt_claimer_own_address(struct mt_claimer *c MT_UNUSED, uint64_t address MT_UNUSED)
{
}

/* The heaps keep no sums; adding up their blocks would hold each heap's lock for as long. */
void mt_claimer_counters(struct mt_claimer *c MT_UNUSED, struct mt_counters *inout MT_UNUSED)
{
}

/* The system says itself which pages are private; why is not asked. */
void mt_claimer_explain(struct mt_claimer *c MT_UNUSED, struct mt_interval *intervals MT_UNUSED,
                        uint32_t n MT_UNUSED, int64_t deadline_ns MT_UNUSED)
{
}

/* ---- looking into memory ---- */

bool win_read(const struct mt_claimer *c, uint64_t address, void *out, size_t bytes)
{
    SIZE_T done = 0;

    return ReadProcessMemory(c->process, (const void *)(uintptr_t)address, out, bytes, &done) &&
           done == bytes;
}

bool win_read_resident(const struct mt_claimer *c, uint64_t address, void *out, size_t bytes)
{
    PSAPI_WORKING_SET_EX_INFORMATION page = {.VirtualAddress = (void *)(uintptr_t)address};

    return QueryWorkingSetEx(c->process, &page, sizeof(page)) && page.VirtualAttributes.Valid &&
           win_read(c, address, out, bytes);
}

uint64_t win_allocation_end(const struct mt_claimer *c, uint64_t base)
{
    MEMORY_BASIC_INFORMATION m;
    uint64_t at = base;

    while (VirtualQueryEx(c->process, (const void *)(uintptr_t)at, &m, sizeof(m)) &&
           m.State != MEM_FREE && (uintptr_t)m.AllocationBase == base && m.Type == MEM_PRIVATE &&
           m.RegionSize > 0)
        at = (uintptr_t)m.BaseAddress + m.RegionSize;
    return at;
}
