/* SPDX-License-Identifier: MIT */
/* base/os/posix: a mutex with a condition on the monotonic clock.
 * Uses: pthread_condattr_setclock. */
#define _GNU_SOURCE
#include "base/os/os.h"

#include <pthread.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"

struct mt_os_lock {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
};

int mt_os_lock_new(struct mt_os_lock **out)
{
    struct mt_os_lock *l = mt_memory_alloc(sizeof(*l));
    pthread_condattr_t attributes;

    if (!l)
        return mt_error_set(TRACER_ENOMEM, "no memory for a lock");
    pthread_mutex_init(&l->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&l->condition, &attributes);
    pthread_condattr_destroy(&attributes);
    *out = l;
    return TRACER_OK;
}

void mt_os_lock_free(struct mt_os_lock *l)
{
    if (!l)
        return;
    pthread_cond_destroy(&l->condition);
    pthread_mutex_destroy(&l->mutex);
    mt_memory_free(l);
}

void mt_os_lock_acquire(struct mt_os_lock *l)
{
    pthread_mutex_lock(&l->mutex);
}

void mt_os_lock_release(struct mt_os_lock *l)
{
    pthread_mutex_unlock(&l->mutex);
}

bool mt_os_lock_wait(struct mt_os_lock *l, int64_t deadline_monotonic_ns)
{
    struct timespec t;

    if (deadline_monotonic_ns == INT64_MAX)
        return pthread_cond_wait(&l->condition, &l->mutex) == 0;
    t.tv_sec = (time_t)(deadline_monotonic_ns / 1000000000);
    t.tv_nsec = (long)(deadline_monotonic_ns % 1000000000);
    return pthread_cond_timedwait(&l->condition, &l->mutex, &t) == 0;
}

void mt_os_lock_signal_all(struct mt_os_lock *l)
{
    pthread_cond_broadcast(&l->condition);
}
