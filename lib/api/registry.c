/* SPDX-License-Identifier: MIT */
/* api: the table of living tracers. In: handles from the host. Out: may they be used?
 * Called first by every public function that takes a tracer. Must not dereference a handle that
 * is not in the table, must not lock: a child of fork() calls it too. */
#include "api/registry.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/error.h"

#define N_TRACERS 64
#define DEAD_SENTENCE                                                                              \
    "the sampler thread was ended from outside, as a system call filter (seccomp) does: allow "    \
    "the "                                                                                         \
    "calls listed in memtracer(7); `memtracer finish` makes the file whole"

static _Atomic(const struct tracer *) tracers[N_TRACERS];

int mt_registry_add(struct tracer *t)
{
    for (size_t i = 0; i < N_TRACERS; i++) {
        const struct tracer *empty = NULL;

        if (atomic_compare_exchange_strong(&tracers[i], &empty, t))
            return TRACER_OK;
    }
    return mt_error_set(TRACER_ELIMIT, "%d tracers run in this process already; stop one first",
                        N_TRACERS);
}

bool mt_registry_remove(const struct tracer *t)
{
    for (size_t i = 0; i < N_TRACERS; i++) {
        const struct tracer *mine = t;

        if (atomic_compare_exchange_strong(&tracers[i], &mine, NULL))
            return true;
    }
    return false;
}

static bool is_known(const struct tracer *t)
{
    for (size_t i = 0; i < N_TRACERS; i++)
        if (atomic_load(&tracers[i]) == t)
            return true;
    return false;
}

int mt_registry_check(const struct tracer *t)
{
    if (!t)
        return mt_error_set(TRACER_EINVAL, "the tracer is NULL; use what tracer_start() gave");
    if (!is_known(t))
        return mt_error_set(TRACER_ESTATE, "this tracer was stopped, or never started");
    if (t->generation != mt_os_fork_generation())
        return mt_error_set(TRACER_ESTATE, "this tracer belongs to the parent process; a forked "
                                           "child starts its own, on another path");
    return TRACER_OK;
}

void mt_registry_look(struct tracer *t)
{
    if (t->phase != MT_PHASE_RUNNING || mt_os_thread_alive(t->thread))
        return;
    t->phase = MT_PHASE_FINISHED;
    t->stats.state = TRACER_STATE_ENDED;
    if (!t->error)
        t->error = TRACER_ETHREAD;
    snprintf(t->problem, sizeof(t->problem), "%s", DEAD_SENTENCE);
    snprintf(t->error_detail, sizeof(t->error_detail), "%s", DEAD_SENTENCE);
}
