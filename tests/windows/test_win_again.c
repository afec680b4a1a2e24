/* SPDX-License-Identifier: MIT */
/* Description: what a recording takes it gives back: after 30 of them (200 with MEMTRACER_FULL=1)
 * the process has no handle, thread, heap block, mapping or private byte more than after the first
 * few. */
#include "windows/win_host.h"

#include <stdlib.h>
#include <tlhelp32.h>

#include "base/memory.h"

#define N_FIRST 10
#define N_HANDLES 4096

static struct held {
    uint64_t n_handles, n_threads;
    uint64_t heap_blocks, heap_bytes;
    uint64_t n_regions, committed_bytes; /* without heaps, which are counted by block */
    uint64_t own_bytes;                  /* by the library's account */
} first, last;

static uint64_t count_handles(void)
{
    uint64_t n = 0;
    DWORD flags;

    for (uintptr_t i = 1; i < N_HANDLES; i++)
        n += GetHandleInformation((HANDLE)(i * 4), &flags) != 0;
    return n;
}

static uint64_t count_threads(void)
{
    HANDLE list = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    THREADENTRY32 entry = {.dwSize = sizeof(entry)};
    uint64_t n = 0;

    assert_true(list != INVALID_HANDLE_VALUE);
    for (BOOL more = Thread32First(list, &entry); more; more = Thread32Next(list, &entry))
        n += entry.th32OwnerProcessID == GetCurrentProcessId();
    CloseHandle(list);
    return n;
}

static void count_blocks(HANDLE heap, struct held *out)
{
    PROCESS_HEAP_ENTRY e = {.lpData = NULL};

    assert_true(HeapLock(heap));
    while (HeapWalk(heap, &e))
        if (e.wFlags & PROCESS_HEAP_ENTRY_BUSY) {
            out->heap_blocks++;
            out->heap_bytes += e.cbData;
        }
    HeapUnlock(heap);
}

static bool is_heap(const void *base, const HANDLE *heaps, DWORD n)
{
    for (DWORD i = 0; i < n; i++)
        if (heaps[i] == base)
            return true;
    return false;
}

static void count_memory(const HANDLE *heaps, DWORD n, struct held *out)
{
    MEMORY_BASIC_INFORMATION m;

    for (char *at = NULL; VirtualQuery(at, &m, sizeof(m));
         at = (char *)m.BaseAddress + m.RegionSize)
        if (m.State == MEM_COMMIT && !is_heap(m.AllocationBase, heaps, n)) {
            out->n_regions++;
            out->committed_bytes += m.RegionSize;
        }
}

static void hold(struct held *out)
{
    HANDLE heaps[64];
    DWORD n = GetProcessHeaps(64, heaps);

    assert_in_range(n, 1, 64);
    memset(out, 0, sizeof(*out));
    out->n_handles = count_handles();
    out->n_threads = count_threads();
    for (DWORD i = 0; i < n; i++)
        count_blocks(heaps[i], out);
    count_memory(heaps, n, out);
    out->own_bytes = mt_memory_held();
}

static void record_once(void)
{
    tracer *t = host_start(1000, 0);

    assert_int_equal(tracer_mark(t, "once"), 0);
    assert_int_equal(tracer_stop(t), 0);
    host_delete();
}

/* All of it to the last block, though some parts would be lost once in many times only. */
static void many_recordings_leave_nothing_behind(void **state)
{
    int n_cycles = getenv("MEMTRACER_FULL") ? 200 : 30;

    (void)state;
    for (int i = 0; i < N_FIRST; i++)
        record_once();
    hold(&first);
    for (int i = 0; i < n_cycles; i++)
        record_once();
    hold(&last);
    assert_int_equal(last.n_handles, first.n_handles);
    assert_int_equal(last.n_threads, first.n_threads);
    assert_int_equal(last.heap_blocks, first.heap_blocks);
    assert_int_equal(last.heap_bytes, first.heap_bytes);
    assert_int_equal(last.n_regions, first.n_regions);
    assert_int_equal(last.committed_bytes, first.committed_bytes);
    assert_int_equal(last.own_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_recordings_leave_nothing_behind, host_begin, host_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
