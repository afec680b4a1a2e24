/* SPDX-License-Identifier: MIT */
/* record/posix: the gate between fork() and the sampler's use of SQLite.
 * In: the recorder enters and leaves. Out: a fork happens while nobody is inside.
 * Called by recorder*.c; the handlers by fork(). Must not take a lock that the host could hold:
 * the gate's mutex is ours alone and guards one number.
 * Uses: pthread_atfork, registered once and never undone (the library stays loaded). */
#define _GNU_SOURCE
#include "record/fork_gate.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#define WAIT_NS 20000000L /* the longest that a fork is held up */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left; /* of the monotonic clock: a wall clock set back must not hold a fork */
static unsigned n_inside;   /* under mutex */
static bool is_stuck;       /* under mutex: waiting was in vain, and nobody has moved since */

static void before_fork(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += WAIT_NS;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&mutex);
    while (n_inside && !is_stuck)
        is_stuck = pthread_cond_timedwait(&left, &mutex, &until) != 0;
}

static void make_condition(void)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&left, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void after_in_parent(void)
{
    pthread_mutex_unlock(&mutex);
}

/* The threads that were inside or waiting do not exist here. */
static void after_in_child(void)
{
    make_condition();
    n_inside = 0;
    is_stuck = false;
    pthread_mutex_unlock(&mutex);
}

static void register_once(void)
{
    make_condition();
    pthread_atfork(before_fork, after_in_parent, after_in_child);
}

void mt_fork_gate_enter(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, register_once);
    pthread_mutex_lock(&mutex);
    n_inside++;
    is_stuck = false;
    pthread_mutex_unlock(&mutex);
}

void mt_fork_gate_leave(void)
{
    pthread_mutex_lock(&mutex);
    n_inside--;
    is_stuck = false;
    if (n_inside == 0)
        pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&mutex);
}
