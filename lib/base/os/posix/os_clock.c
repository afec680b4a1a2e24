/* SPDX-License-Identifier: MIT */
/* base/os/posix: the clocks. Uses: clock_gettime. */
#define _GNU_SOURCE
#include "base/os/os.h"

#include <time.h>

static int64_t now(clockid_t clock)
{
    struct timespec t;

    if (clock_gettime(clock, &t))
        return -1;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t mt_os_monotonic_ns(void)
{
    return now(CLOCK_MONOTONIC);
}

int64_t mt_os_wall_ns(void)
{
    return now(CLOCK_REALTIME);
}

int64_t mt_os_thread_cpu_ns(void)
{
    return now(CLOCK_THREAD_CPUTIME_ID);
}
