/* SPDX-License-Identifier: MIT */
/* source/windows: the counters of a process.
 * In: a process handle. Out: what the system knows; the rest stays unknown, zeros that Wine makes
 * up included. Called by win_source.c.
 * Uses: GetProcessMemoryInfo, GetProcessTimes, GetProcessHandleCount; NtGetNextThread. */
#include "source/windows/win_source.h"

#include <string.h>

static void set(struct mt_counters *out, unsigned counter, uint64_t value)
{
    out->known |= UINT64_C(1) << counter;
    out->value[counter] = value;
}

static void set_if_real(struct mt_counters *out, unsigned counter, uint64_t value)
{
    if (value > 0)
        set(out, counter, value);
}

static void read_memory(HANDLE process, struct mt_counters *out)
{
    PROCESS_MEMORY_COUNTERS_EX m = {.cb = sizeof(m)};

    if (!GetProcessMemoryInfo(process, (PROCESS_MEMORY_COUNTERS *)&m, sizeof(m)))
        return;
    set_if_real(out, MT_COUNTER_WORKING_SET, m.WorkingSetSize);
    set_if_real(out, MT_COUNTER_PRIVATE_CHARGE, m.PrivateUsage);
    set_if_real(out, MT_COUNTER_PAGE_FAULTS, m.PageFaultCount);
}

static uint64_t ns_of(const FILETIME *t)
{
    return ((uint64_t)t->dwHighDateTime << 32 | t->dwLowDateTime) * 100;
}

static void read_cpu(HANDLE process, struct mt_counters *out)
{
    FILETIME start, end, kernel, user;

    if (GetProcessTimes(process, &start, &end, &kernel, &user))
        set(out, MT_COUNTER_CPU_NS, ns_of(&kernel) + ns_of(&user));
}

win_next_thread_fn win_find_next_thread(void)
{
    FARPROC found = mt_win_procedure("ntdll.dll", "NtGetNextThread");
    win_next_thread_fn next_thread;

    memcpy(&next_thread, &found, sizeof(next_thread));
    return next_thread;
}

/* Threads that ended are listed while somebody holds a handle to them. */
static void read_threads(HANDLE process, win_next_thread_fn next_thread, struct mt_counters *out)
{
    HANDLE before = NULL, thread;
    uint64_t n = 0;

    while (next_thread && next_thread(process, before, SYNCHRONIZE, 0, 0, &thread) == 0) {
        n += WaitForSingleObject(thread, 0) == WAIT_TIMEOUT;
        if (before)
            CloseHandle(before);
        before = thread;
    }
    if (before)
        CloseHandle(before);
    set_if_real(out, MT_COUNTER_THREADS, n);
}

void win_counters_read(HANDLE process, win_next_thread_fn next_thread, struct mt_counters *out)
{
    DWORD handles = 0;

    read_memory(process, out);
    read_cpu(process, out);
    read_threads(process, next_thread, out);
    if (GetProcessHandleCount(process, &handles))
        set_if_real(out, MT_COUNTER_DESCRIPTORS, handles);
}
