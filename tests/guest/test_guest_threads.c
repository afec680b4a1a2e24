/* SPDX-License-Identifier: MIT */
/* Description: the sampler's thread takes no signal, no priority, no processor and no large stack
 * from its host, and goes on whatever becomes of the thread that made it, or of the library. */
#define _GNU_SOURCE
#include "guest.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

/* As much thread-local storage as large hosts have: the C library takes it from each stack. */
static __thread char large_storage[1 << 20];

/* ---- A18, C09: the threads around it end ---- */

static tracer *started;
static pthread_t main_thread;

static void *go_on_alone(void *unused)
{
    tracer_type_bytes rows[TRACER_TYPE_CAPACITY];
    tracer_totals totals = {
        .size = sizeof(totals), .capacity = TRACER_TYPE_CAPACITY, .types = rows};
    tracer *again = NULL;

    pthread_join(main_thread, NULL);
    CHECK(guest_entries("/proc/self/task") >= 3); /* the leader stays as a zombie */
    CHECK(tracer_sample(started) == TRACER_OK);
    CHECK(tracer_get_totals(started, &totals) == TRACER_OK);
    CHECK(rows[0].type == TRACER_TYPE_IMAGE && rows[0].ws_bytes > 0);
    CHECK(guest_stats(started).n_failed == 0);
    CHECK(guest_stats(started).state == TRACER_STATE_RECORDING);
    CHECK(tracer_stop(started) == TRACER_OK);
    CHECK(tracer_start(host_db, NULL, &again) == TRACER_OK); /* and from the beginning */
    CHECK(tracer_sample(again) == TRACER_OK);
    CHECK(guest_stats(again).n_failed == 0);
    CHECK(tracer_stop(again) == TRACER_OK);
    _exit(0);
    return unused;
}

static int main_thread_ends(void)
{
    pthread_t id;

    started = guest_start(1);
    guest_wait_ticks(started, 3);
    main_thread = pthread_self();
    CHECK(pthread_create(&id, NULL, go_on_alone, NULL) == 0);
    pthread_exit(NULL);
}

static void A18_goes_on_without_the_main_thread(void **state)
{
    (void)state;
    guest_run(main_thread_ends);
    assert_int_equal(host_ask("SELECT count(*) FROM run WHERE state = 'stopped'").integer, 2);
    assert_int_equal(host_ask("SELECT count(*) FROM sample WHERE flags & 64").integer, 0);
    assert_int_equal(host_ask("SELECT count(DISTINCT run) FROM counter c JOIN counter_kind k "
                              "ON k.id = c.counter WHERE k.name = 'vm_size' AND value > 0")
                         .integer,
                     2);
}

static void *start_and_leave(void *unused)
{
    started = guest_start(1);
    return unused;
}

static int creator_ends(void)
{
    pthread_t id;

    CHECK(pthread_create(&id, NULL, start_and_leave, NULL) == 0 && pthread_join(id, NULL) == 0);
    guest_wait_ticks(started, 20);
    CHECK(tracer_stop(started) == TRACER_OK);
    return 0;
}

static void C09_goes_on_without_its_creator(void **state)
{
    (void)state;
    guest_run(creator_ends);
    guest_whole_file();
}

/* A plug-in that linked the library is unloaded without stopping. */
static int unload(void)
{
    void *library = dlopen(MEMTRACER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    int (*start)(const char *, const tracer_options *, tracer **);
    int (*sample)(tracer *);
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t;
    void *symbol;

    if (!library)
        return GUEST_SKIP;
    o.interval_ms = 1;
    symbol = dlsym(library, "tracer_start");
    memcpy(&start, &symbol, sizeof(start));
    symbol = dlsym(library, "tracer_sample");
    memcpy(&sample, &symbol, sizeof(sample));
    CHECK(start(host_db, &o, &t) == TRACER_OK);
    CHECK(dlclose(library) == 0);
    usleep(50000);
    CHECK(sample(t) == TRACER_OK);
    exit(0);
}

static void C09_dlclose_with_a_tracer_running(void **state)
{
    (void)state;
    guest_run(unload);
    guest_whole_file();
    assert_true(host_ask("SELECT sum(ticks) FROM sample").integer > 2);
}

/* The one that loads it waits for the sampler: this must not wait for the lock that is held. */
static int load_what_starts(void)
{
    void *library, *error, *symbol;
    int (*stop)(void);

    setenv("STARTS_AT_LOAD", host_db, 1);
    library = dlopen(STARTS_AT_LOAD, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return GUEST_SKIP;
    error = dlsym(library, "plugin_error");
    symbol = dlsym(library, "plugin_stop");
    memcpy(&stop, &symbol, sizeof(stop));
    CHECK(*(int *)error == TRACER_OK);
    CHECK(stop() == TRACER_OK);
    return 0;
}

static void started_by_a_constructor(void **state)
{
    (void)state;
    guest_run(load_what_starts);
    guest_whole_file();
}

/* ---- C01: signals ---- */

static bool is_fault(int s)
{
    return s == SIGSEGV || s == SIGBUS || s == SIGFPE || s == SIGILL || s == SIGTRAP || s == SIGSYS;
}

static bool may_be_sent(int s)
{
    return s != SIGKILL && s != SIGSTOP && s != SIGCONT && s != 32 && s != 33 && s != 34;
}

/* No thread of the host takes them: were the sampler to take one, it would not be pending, and most
 * would end the process. */
static void send_all(bool faults_too)
{
    sigset_t all, pending;

    sigfillset(&all);
    for (int s = 1; s <= SIGRTMAX; s++)
        if (may_be_sent(s) && (faults_too || !is_fault(s)))
            CHECK(kill(getpid(), s) == 0);
    usleep(20000);
    sigpending(&pending);
    for (int s = 1; s <= SIGRTMAX; s++) {
        if (!may_be_sent(s) || (!faults_too && is_fault(s)))
            continue;
        CHECK(sigismember(&pending, s) || s == SIGTSTP || s == SIGTTIN || s == SIGTTOU);
    }
    while (sigtimedwait(&all, NULL, &(struct timespec){0, 0}) > 0)
        ;
}

static int all_signals_blocked_after(void)
{
    tracer *t = guest_start(1);
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (int i = 0; i < 5; i++)
        send_all(false);
    CHECK(guest_stats(t).n_ticks > 1 && tracer_stop(t) == TRACER_OK);
    return 0;
}

static int all_signals_blocked_before(void)
{
    sigset_t all, now;
    tracer *t;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &all);
    t = guest_start(1);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int s = 1; s <= SIGRTMAX; s++)
        CHECK(sigismember(&now, s) == sigismember(&all, s));
    for (int i = 0; i < 5; i++)
        send_all(true);
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static void C01_takes_no_signal_of_the_hosts(void **state)
{
    (void)state;
    guest_run(all_signals_blocked_after);
    guest_run(all_signals_blocked_before);
}

static int masks_are_kept(void)
{
    for (int s = 1; s <= SIGRTMAX; s++) {
        sigset_t before, now;
        tracer *t = NULL;

        if (s % 4)
            continue;
        sigemptyset(&before);
        sigaddset(&before, s);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_sigmask(SIG_SETMASK, NULL, &before);
        CHECK(tracer_start(s % 8 ? host_db : "/nowhere/x.db", NULL, &t) == (s % 8 ? 0 : -3));
        CHECK(tracer_stop(t) == TRACER_OK);
        pthread_sigmask(SIG_SETMASK, NULL, &now);
        CHECK(!memcmp(&now, &before, 8));
    }
    return 0;
}

static void C01_the_callers_mask_is_as_before(void **state)
{
    (void)state;
    guest_run(masks_are_kept);
}

/* ---- C11, C17: what a thread inherits ---- */

#define IO_REALTIME (1 << 13)

static int urgent_creator(void)
{
    struct sched_param urgent = {.sched_priority = 10};
    cpu_set_t one, all, of_sampler;
    tracer *t;
    int id;

    CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
    if (CPU_COUNT(&all) < 2 || sched_setscheduler(0, SCHED_FIFO, &urgent) ||
        setpriority(PRIO_PROCESS, 0, -10))
        return GUEST_SKIP;
    CPU_ZERO(&one);
    CPU_SET(CPU_ISSET(0, &all) ? 0 : 1, &one);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
    syscall(SYS_ioprio_set, 1, 0, IO_REALTIME);
    t = guest_start(1);
    id = guest_sampler();
    CHECK(id > 0);
    CHECK(sched_getscheduler(id) == SCHED_OTHER);
    errno = 0;
    CHECK(getpriority(PRIO_PROCESS, (id_t)id) == 0 && errno == 0);
    CHECK(syscall(SYS_ioprio_get, 1, id) >> 13 != 1);
    CHECK(sched_getaffinity(id, sizeof(of_sampler), &of_sampler) == 0);
    CHECK(CPU_EQUAL(&of_sampler, &all));
    CHECK(sched_getscheduler(0) == SCHED_FIFO); /* the creator stays what it was */
    CHECK(sched_getaffinity(0, sizeof(of_sampler), &of_sampler) == 0);
    CHECK(CPU_EQUAL(&of_sampler, &one));
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static void C17_inherits_neither_urgency_nor_pinning(void **state)
{
    (void)state;
    guest_run(urgent_creator);
}

static int large_thread_storage(void)
{
    tracer *t = guest_start(1);

    large_storage[0] = 1;
    guest_wait_ticks(t, 5);
    CHECK(tracer_sample(t) == TRACER_OK && tracer_stop(t) == TRACER_OK);
    return 0;
}

static void C11_a_host_with_large_thread_storage(void **state)
{
    (void)state;
    guest_run(large_thread_storage);
    guest_whole_file();
}

/* ---- stopped and continued ---- */

static int stopped_for_a_while(void)
{
    tracer *t = guest_start(10);
    pid_t host = getpid(), helper;
    uint64_t n;

    guest_wait_ticks(t, 5);
    n = guest_stats(t).n_ticks;
    helper = fork();
    if (helper == 0) {
        kill(host, SIGSTOP);
        usleep(500000);
        kill(host, SIGCONT);
        _exit(0);
    }
    CHECK(waitpid(helper, NULL, 0) == helper);
    guest_wait_ticks(t, 3);
    CHECK(guest_stats(t).n_missed >= 20);
    CHECK(guest_stats(t).n_ticks < n + 30); /* no burst to make up for what was missed */
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static void C19_stop_and_continue_is_a_gap(void **state)
{
    (void)state;
    guest_run(stopped_for_a_while);
    assert_true(host_ask("SELECT max(missed) FROM sample WHERE flags & 32").integer >= 20);
    guest_whole_file();
}

#define T(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(A18_goes_on_without_the_main_thread),      T(C09_goes_on_without_its_creator),
        T(C09_dlclose_with_a_tracer_running),        T(started_by_a_constructor),
        T(C01_takes_no_signal_of_the_hosts),         T(C01_the_callers_mask_is_as_before),
        T(C17_inherits_neither_urgency_nor_pinning), T(C11_a_host_with_large_thread_storage),
        T(C19_stop_and_continue_is_a_gap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
