/* SPDX-License-Identifier: MIT */
/* base/os/windows: a slim lock with a condition; waits end by the performance counter.
 * Uses: SRWLOCK, CONDITION_VARIABLE (Windows Vista). */
#include "base/os/os.h"
#include "base/os/windows/win_api.h"

#include "base/error.h"
#include "base/memory.h"

#define NS_PER_MS 1000000
#define LONGEST_WAIT_MS 86400000 /* a day; waits may wake up without cause */

struct mt_os_lock {
    SRWLOCK lock;
    CONDITION_VARIABLE condition;
};

int mt_os_lock_new(struct mt_os_lock **out)
{
    struct mt_os_lock *l = mt_memory_alloc(sizeof(*l));

    if (!l)
        return mt_error_set(TRACER_ENOMEM, "no memory for a lock");
    InitializeSRWLock(&l->lock);
    InitializeConditionVariable(&l->condition);
    *out = l;
    return TRACER_OK;
}

void mt_os_lock_free(struct mt_os_lock *l)
{
    mt_memory_free(l);
}

void mt_os_lock_acquire(struct mt_os_lock *l)
{
    AcquireSRWLockExclusive(&l->lock);
}

void mt_os_lock_release(struct mt_os_lock *l)
{
    ReleaseSRWLockExclusive(&l->lock);
}

/* Rounded up: a wait that ends a little early would be repeated in a loop. */
static DWORD wait_ms(int64_t deadline_ns)
{
    int64_t left_ns = deadline_ns - mt_os_monotonic_ns();
    int64_t ms = left_ns / NS_PER_MS + (left_ns % NS_PER_MS > 0);

    if (ms <= 0)
        return 0;
    return ms < LONGEST_WAIT_MS ? (DWORD)ms : LONGEST_WAIT_MS;
}

bool mt_os_lock_wait(struct mt_os_lock *l, int64_t deadline_monotonic_ns)
{
    if (deadline_monotonic_ns == INT64_MAX)
        return SleepConditionVariableSRW(&l->condition, &l->lock, INFINITE, 0) != 0;
    SleepConditionVariableSRW(&l->condition, &l->lock, wait_ms(deadline_monotonic_ns), 0);
    return mt_os_monotonic_ns() < deadline_monotonic_ns;
}

void mt_os_lock_signal_all(struct mt_os_lock *l)
{
    WakeAllConditionVariable(&l->condition);
}
