/* SPDX-License-Identifier: MIT */
/* api: tracer_start() and tracer_stop(). In: a path and options. Out: a running sampler thread.
 * Called by the host, any thread. Opens no file itself: descriptors belong to the sampler. */
#include <inttypes.h>
#include <stdio.h>

#include "api/api_options.h"
#include "api/registry.h"
#include "base/error.h"
#include "base/memory.h"

#define NS_PER_S INT64_C(1000000000)
#define START_WAIT_NS (60 * NS_PER_S)
#define STOP_WAIT_NS (10 * NS_PER_S)
#define LOOK_AGAIN_NS (NS_PER_S / 5) /* a thread that was killed wakes nobody up */

static void free_tracer(struct tracer *t)
{
    mt_os_lock_free(t->lock);
    mt_memory_free(t);
}

static int ended_from_outside(void)
{
    return mt_error_set(TRACER_ETHREAD,
                        "the sampler thread was ended from outside, as a system call filter "
                        "(seccomp) does: allow the calls listed in memtracer(7); what it held is "
                        "left alone");
}

/* Waits until the file is open or could not be opened; the result of the start. */
static int wait_for_start(struct tracer *t)
{
    int64_t deadline = mt_os_monotonic_ns() + START_WAIT_NS;
    int error;

    mt_os_lock_acquire(t->lock);
    while (t->phase == MT_PHASE_STARTING && mt_os_monotonic_ns() < deadline &&
           mt_os_thread_alive(t->thread))
        mt_os_lock_wait(t->lock, mt_os_monotonic_ns() + LOOK_AGAIN_NS);
    if (t->phase == MT_PHASE_STARTING)
        error = mt_os_thread_alive(t->thread)
                    ? mt_error_set(TRACER_ETHREAD,
                                   "the sampler thread did not open \"%.300s\" within "
                                   "%d s; is its file system stuck?",
                                   t->path, (int)(START_WAIT_NS / NS_PER_S))
                    : ended_from_outside();
    else if (t->phase == MT_PHASE_FAILED)
        error = mt_error_set(t->error, "%s", t->error_detail);
    else
        error = TRACER_OK;
    mt_os_lock_release(t->lock);
    return error;
}

static int start_thread(struct tracer *t)
{
    int error = mt_os_lock_new(&t->lock);

    if (error)
        return error;
    t->start_monotonic_ns = mt_os_monotonic_ns();
    t->start_wall_ns = mt_os_wall_ns();
    return mt_os_thread_start("memtracer", mt_sampler_run, t, &t->thread);
}

int tracer_start(const char *path, const tracer_options *options, tracer **out)
{
    struct tracer *t;
    int error;

    if (!out)
        return mt_error_set(TRACER_EINVAL, "out is NULL; tracer_start() needs a place for the "
                                           "tracer");
    t = mt_memory_alloc(sizeof(*t));
    if (!t)
        return mt_error_set(TRACER_ENOMEM, "no address space for a tracer");
    t->stats.size = sizeof(t->stats);
    t->generation = mt_os_fork_generation();
    error = mt_options_take_path(t, path);
    if (!error)
        error = mt_options_take(t, options);
    if (!error)
        error = mt_registry_add(t);
    if (error)
        goto fail;
    mt_os_library_pin();
    if (!t->options.pid)
        mt_claim_symbols_find(&t->symbols);
    error = start_thread(t);
    if (error)
        goto fail;
    error = wait_for_start(t);
    if (!error) {
        *out = t;
        return TRACER_OK;
    }
    mt_os_lock_acquire(t->lock);
    t->stop_asked = true; /* should the stuck thread come back, it ends */
    mt_os_lock_release(t->lock);
    if (!mt_os_thread_join(t->thread, STOP_WAIT_NS)) {
        mt_registry_remove(t); /* the stuck thread keeps its memory */
        return error;
    }
fail:
    mt_registry_remove(t);
    free_tracer(t);
    return error;
}

int tracer_stop(tracer *t)
{
    int error;

    if (!t)
        return TRACER_OK;
    error = mt_registry_check(t);
    if (error)
        return mt_registry_remove(t) ? TRACER_OK : error; /* in the registry: a forked child's */
    if (!mt_registry_remove(t))
        return mt_error_set(TRACER_ESTATE, "another thread is stopping this tracer");
    mt_os_lock_acquire(t->lock);
    t->stop_asked = true;
    mt_os_lock_signal_all(t->lock);
    mt_os_lock_release(t->lock);
    if (!mt_os_thread_join(t->thread, STOP_WAIT_NS))
        return mt_os_thread_alive(t->thread)
                   ? mt_error_set(TRACER_ETHREAD,
                                  "the sampler thread did not end within %d s (is its file system "
                                  "stuck?); its memory is left alone",
                                  (int)(STOP_WAIT_NS / NS_PER_S))
                   : ended_from_outside();
    error = t->error;
    if (error)
        mt_error_set(error, "%s", t->error_detail);
    free_tracer(t);
    return error;
}
