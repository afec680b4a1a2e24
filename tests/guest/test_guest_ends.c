/* SPDX-License-Identifier: MIT */
/* Description: however a host ends, with a tracer running or after it stopped one on its way out,
 * the file can be read and has all that was committed; the host ends as it would have. */
#define _GNU_SOURCE
#include "guest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* How C++ has the destructors of static objects called. */
int __cxa_atexit(void (*destroy)(void *), void *object, void *library);

static tracer *running;
static atomic_int n_stopped;

/* A mark that is committed, then work that may be lost. */
static void record_a_little(void)
{
    running = guest_start(5);
    CHECK(tracer_mark(running, "committed") == TRACER_OK);
    CHECK(tracer_flush(running) == TRACER_OK);
    for (int i = 0; i < 10; i++) {
        free(malloc(300000));
        guest_wait_ticks(running, 1);
    }
}

static void no_core(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static int by__exit(void)
{
    record_a_little();
    _exit(0);
}

static int by_quick_exit(void)
{
    record_a_little();
    quick_exit(0);
}

static int by_exit(void)
{
    record_a_little();
    exit(0);
}

static int by_abort(void)
{
    record_a_little();
    no_core();
    abort();
}

static int by_a_fault(void)
{
    record_a_little();
    no_core();
    signal(SIGSEGV, SIG_DFL); /* a sanitizer has a handler of its own there */
    raise(SIGSEGV);
    return 1;
}

static int by_kill(void)
{
    record_a_little();
    kill(getpid(), SIGKILL);
    return 1;
}

/* What the kernel says of the end, and what is in the file, must be as they should: read as it is,
 * with the -wal beside it, then taken on by the next run, which sees that this one was cut off. */
static void cut_off(int (*host)(void), int signal)
{
    int status = guest_status(host);
    tracer *next;

    if (signal)
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    else
        assert_int_equal(status, 0);
    guest_whole_file();
    assert_int_equal(host_ask("SELECT count(*) FROM mark WHERE label = 'committed'").integer, 1);
    assert_true(host_ask("SELECT count(*) FROM vmmap WHERE size > 0").integer > 3);
    next = host_start(1000);
    assert_int_equal(tracer_stop(next), TRACER_OK);
    assert_string_equal(host_ask("SELECT state FROM run WHERE id = 1").text, "interrupted");
}

static void ends_that_stop_nothing(void **state)
{
    static const struct {
        int (*host)(void);
        int signal;
    } ends[] = {{by__exit, 0},       {by_quick_exit, 0},    {by_exit, 0},
                {by_abort, SIGABRT}, {by_a_fault, SIGSEGV}, {by_kill, SIGKILL}};

    for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        cut_off(ends[i].host, ends[i].signal);
        host_end(state);
        assert_int_equal(host_begin(state), 0);
    }
}

/* ---- hosts that stop on their way out ---- */

static void stop(void)
{
    CHECK(tracer_stop(running) == TRACER_OK);
    n_stopped++;
}

static void stop_object(void *object)
{
    CHECK(object == &running);
    stop();
}

/* Runs after stop(): what is called on a tracer that is gone says so, and a new one works. */
static void use_after(void)
{
    tracer *late = NULL;

    CHECK(n_stopped == 1);
    CHECK(tracer_mark(running, "late") == TRACER_ESTATE);
    CHECK(tracer_stop(running) == TRACER_ESTATE);
    CHECK(tracer_start(host_db, NULL, &late) == TRACER_OK);
    CHECK(tracer_mark(late, "late") == TRACER_OK && tracer_stop(late) == TRACER_OK);
}

static int stops_at_exit(void)
{
    atexit(stop);
    record_a_little();
    exit(0);
}

static int stops_at_quick_exit(void)
{
    at_quick_exit(stop);
    record_a_little();
    quick_exit(0);
}

static int stops_in_a_static_destructor(void)
{
    CHECK(__cxa_atexit(stop_object, &running, NULL) == 0);
    record_a_little();
    exit(0);
}

static int uses_it_after_the_stop(void)
{
    atexit(use_after); /* handlers run in reverse */
    atexit(stop);
    record_a_little();
    exit(0);
}

static void ends_that_stop_the_tracer(void **state)
{
    static int (*const hosts[])(void) = {stops_at_exit, stops_at_quick_exit,
                                         stops_in_a_static_destructor, uses_it_after_the_stop};

    for (unsigned i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        char wal[320];

        guest_run(hosts[i]);
        guest_whole_file();
        assert_string_equal(host_ask("SELECT state FROM run WHERE id = 1").text, "stopped");
        snprintf(wal, sizeof(wal), "%s-wal", host_db);
        assert_int_equal(access(wal, F_OK), -1); /* one plain file */
        host_end(state);
        assert_int_equal(host_begin(state), 0);
    }
}

static int last_thread_ends(void)
{
    record_a_little();
    pthread_exit(NULL);
}

/* As a program without the C library's threads does. */
static int last_thread_ends_at_once(void)
{
    record_a_little();
    syscall(SYS_exit, 0);
    return 1;
}

static int last_thread_ends_and_stops_at_exit(void)
{
    atexit(stop);
    record_a_little();
    pthread_exit(NULL);
}

/* Without the tracer these are ends of the process. */
static void ends_of_the_last_thread(void **state)
{
    static int (*const hosts[])(void) = {last_thread_ends, last_thread_ends_at_once,
                                         last_thread_ends_and_stops_at_exit};

    for (unsigned i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        guest_run(hosts[i]);
        guest_whole_file();
        assert_string_equal(host_ask("SELECT state FROM run WHERE id = 1").text, "ended");
        host_end(state);
        assert_int_equal(host_begin(state), 0);
    }
}

/* Another thread ends the process while this one waits in the tracer. */
static void *end_all(void *unused)
{
    (void)unused;
    usleep(20000);
    exit(0);
}

static int ends_while_a_thread_samples(void)
{
    pthread_t id;

    record_a_little();
    CHECK(pthread_create(&id, NULL, end_all, NULL) == 0);
    while (tracer_sample(running) == TRACER_OK)
        ;
    pause();
    return 1;
}

static void an_end_while_the_tracer_is_used(void **state)
{
    (void)state;
    cut_off(ends_while_a_thread_samples, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(ends_that_stop_nothing),
        T(ends_that_stop_the_tracer),
        T(ends_of_the_last_thread),
        T(an_end_while_the_tracer_is_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
