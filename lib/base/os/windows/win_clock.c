/* SPDX-License-Identifier: MIT */
/* base/os/windows: the clocks.
 * Uses: QueryPerformanceCounter; GetSystemTimePreciseAsFileTime (Windows 8); GetThreadTimes. */
#include "base/os/os.h"
#include "base/os/windows/win_api.h"

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_UNIT 100                                /* FILETIME counts 100 ns … */
#define UNITS_1601_TO_1970 INT64_C(116444736000000000) /* … since 1601 */

static int64_t units_of(const FILETIME *t)
{
    return (int64_t)((uint64_t)t->dwHighDateTime << 32 | t->dwLowDateTime);
}

/* Whole seconds and the rest apart, since ticks * 10^9 is more than 64 bits after some minutes. */
int64_t mt_os_monotonic_ns(void)
{
    LARGE_INTEGER frequency, ticks;

    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&ticks);
    return ticks.QuadPart / frequency.QuadPart * NS_PER_S +
           ticks.QuadPart % frequency.QuadPart * NS_PER_S / frequency.QuadPart;
}

int64_t mt_os_wall_ns(void)
{
    FILETIME now;

    GetSystemTimePreciseAsFileTime(&now);
    return (units_of(&now) - UNITS_1601_TO_1970) * NS_PER_UNIT;
}

int64_t mt_os_thread_cpu_ns(void)
{
    FILETIME start, end, kernel, user;

    if (!GetThreadTimes(GetCurrentThread(), &start, &end, &kernel, &user))
        return -1;
    return (units_of(&kernel) + units_of(&user)) * NS_PER_UNIT;
}
