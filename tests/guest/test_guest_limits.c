/* SPDX-License-Identifier: MIT */
/* Description: a host at its limits (file size, threads, address space, stack, mappings) gets an
 * error code or a state, never a signal, a wait or a failure of its own. */
#define _GNU_SOURCE
#include "guest.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define MIB (UINT64_C(1) << 20)

static void limit(int what, rlim_t to)
{
    struct rlimit l;

    CHECK(getrlimit((__rlimit_resource_t)what, &l) == 0);
    l.rlim_cur = to;
    CHECK(setrlimit((__rlimit_resource_t)what, &l) == 0);
}

/* ---- C12: file size ---- */

/* Fills the file until it may not grow: the tracer says so, the host lives and is not signalled. */
static int file_size_limited(void)
{
    tracer *t = guest_start(1);
    char label[256];
    uint64_t n;

    memset(label, 'x', sizeof(label) - 1);
    label[sizeof(label) - 1] = '\0';
    limit(RLIMIT_FSIZE, 128 * 1024);
    for (int i = 0; i < 3000 && guest_stats(t).state != TRACER_STATE_SUSPENDED; i++) {
        tracer_mark(t, label);
        usleep(1000);
    }
    CHECK(guest_stats(t).state == TRACER_STATE_SUSPENDED);
    CHECK(strstr(guest_problem(t), "tried again") != NULL);
    n = guest_stats(t).n_ticks;
    CHECK(tracer_sample(t) != TRACER_OK); /* looks all the same, and says what failed */
    CHECK(guest_stats(t).n_ticks > n);
    CHECK(strstr(tracer_last_error(), host_db) != NULL);
    limit(RLIMIT_FSIZE, RLIM_INFINITY);
    for (int i = 0; i < 5000 && guest_stats(t).state == TRACER_STATE_SUSPENDED; i++)
        usleep(1000);
    CHECK(guest_stats(t).state == TRACER_STATE_RECORDING);
    CHECK(tracer_stop(t) != TRACER_OK); /* the first error is told at the end, too */
    return 0;
}

static void C12_limit_of_file_size_suspends_and_is_got_over(void **state)
{
    (void)state;
    guest_run(file_size_limited);
    assert_string_equal(host_ask("SELECT state FROM run").text, "stopped");
    assert_non_null(strstr(host_ask("SELECT substr(state_detail, 1, 60) FROM run").text,
                           "recording was suspended for a while"));
    /* tried again each second: of a thousand moments hardly one was used */
    assert_true(host_ask("SELECT max(missed) FROM sample WHERE flags & 32").integer > 100);
    guest_whole_file();
}

static int no_file_at_all(void)
{
    tracer *t = NULL;

    limit(RLIMIT_FSIZE, 0);
    CHECK(tracer_start(host_db, NULL, &t) != TRACER_OK);
    CHECK(strstr(tracer_last_error(), host_db) != NULL);
    return 0;
}

static void C12_start_at_the_limit_is_an_error(void **state)
{
    (void)state;
    guest_run(no_file_at_all);
}

/* ---- C18: threads ---- */

static int no_thread_left(void)
{
    tracer *t = NULL;
    int error;

    if (geteuid() == 0 && (chmod(host_dir, 0777) || setgid(65534) || setuid(65534)))
        return GUEST_SKIP;
    limit(RLIMIT_NPROC, 0);
    error = tracer_start(host_db, NULL, &t);
    if (error == TRACER_OK) /* the limit does not hold here */
        return GUEST_SKIP;
    CHECK(error == TRACER_ETHREAD);
    CHECK(strstr(tracer_last_error(), "ulimit -u") != NULL);
    CHECK(access(host_db, F_OK) == -1);
    return 0;
}

static void C18_no_thread_left_is_an_error_at_once(void **state)
{
    (void)state;
    guest_run(no_thread_left);
}

/* ---- address space, stack ---- */

/* What is mapped now and `more`. The start succeeds with less room or says what it lacks; the host
 * gets every byte back after a refusal, and keeps what it had. */
static int start_with(uint64_t more)
{
    uint64_t now = (uint64_t)guest_proc_number("/proc/self/status", "VmSize:") * 1024;
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;
    int error;

    o.interval_ms = 1;
    limit(RLIMIT_AS, now + more);
    error = tracer_start(host_db, &o, &t);
    if (error) {
        CHECK(error == TRACER_ENOMEM || error == TRACER_ETHREAD || error == TRACER_EDB);
        CHECK(strlen(tracer_last_error()) > 10);
    } else {
        guest_wait_ticks(t, 5);
        CHECK(guest_stats(t).n_failed == 0);
        CHECK(tracer_stop(t) == TRACER_OK);
    }
    limit(RLIMIT_AS, RLIM_INFINITY);
    return error;
}

static int address_space_limited(void)
{
    static const uint64_t room[] = {0, 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256};
    int n_started = 0;

    for (size_t i = 0; i < sizeof(room) / sizeof(room[0]); i++)
        n_started += start_with(room[i] * MIB) == TRACER_OK;
    CHECK(n_started >= 1 && n_started < 14);
    return 0;
}

static void limit_of_address_space_is_an_error_or_fewer_regions(void **state)
{
    (void)state;
    if (HOST_SANITIZED) /* which needs the same */
        skip();
    guest_run(address_space_limited);
    guest_whole_file();
}

/* The host eats what is left while the sampler runs. */
static int address_space_used_up(void)
{
    tracer *t = guest_start(1);
    uint64_t now = (uint64_t)guest_proc_number("/proc/self/status", "VmSize:") * 1024;

    limit(RLIMIT_AS, now + 64 * 1024);
    for (int i = 0; i < 20; i++)
        tracer_mark(t, "no room");
    guest_wait_ticks(t, 50);
    CHECK(guest_stats(t).n_failed == 0);
    limit(RLIMIT_AS, RLIM_INFINITY);
    for (int i = 0; i < 5000 && guest_stats(t).state == TRACER_STATE_SUSPENDED; i++)
        usleep(1000);
    CHECK(guest_stats(t).state == TRACER_STATE_RECORDING);
    tracer_stop(t);
    return 0;
}

static void address_space_used_up_while_recording(void **state)
{
    (void)state;
    if (HOST_SANITIZED) /* which needs the same */
        skip();
    guest_run(address_space_used_up);
    guest_whole_file();
}

static int stack_limited(void)
{
    tracer *t;

    limit(RLIMIT_STACK, 64 * 1024);
    t = guest_start(1);
    guest_wait_ticks(t, 5);
    CHECK(tracer_stop(t) == TRACER_OK);
    limit(RLIMIT_STACK, RLIM_INFINITY);
    t = guest_start(1);
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

/* Its stack is its own: neither the host's limit nor "unlimited" matters, and 128 kB would do. */
static void C11_the_samplers_stack(void **state)
{
    (void)state;
    guest_run(stack_limited);
    if (!HOST_SANITIZED)
        assert_in_range(host_ask("SELECT max(r.ws) FROM region r JOIN thread h ON "
                                 "h.stack_base = r.base AND h.run = r.run JOIN string s ON "
                                 "s.id = h.name WHERE s.text = 'memtracer'")
                            .integer,
                        4096, 128 * 1024);
}

/* ---- mappings ---- */

static uint64_t use_up_mappings(void)
{
    uint64_t n = 0;

    for (;;) {
        char *p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED || mprotect(p, 4096, PROT_READ | PROT_WRITE))
            return n;
        n++;
    }
}

static int mappings_used_up(void)
{
    tracer *t = guest_start(50);
    uint64_t n = use_up_mappings();

    CHECK(n > 1000);
    for (int i = 0; i < 3; i++)
        CHECK(tracer_sample(t) == TRACER_OK);
    CHECK(guest_stats(t).n_failed == 0);
    if (guest_stats(t).state != TRACER_STATE_RECORDING)
        fprintf(stderr, "state %u: %s\n", guest_stats(t).state, guest_problem(t));
    CHECK(guest_stats(t).state == TRACER_STATE_RECORDING);
    tracer_stop(t);
    return 0;
}

/* vm.max_map_count: nothing can be mapped any more, by anybody. All are seen. */
static void B08_all_mappings_that_there_may_be(void **state)
{
    long most = guest_proc_number("/proc/sys/vm/max_map_count", "");

    (void)state;
    if (HOST_SANITIZED || most > 100000)
        skip();
    guest_run(mappings_used_up);
    assert_in_range(host_ask("SELECT max(regions) FROM sample").integer, most - 20, most + 2);
    assert_int_equal(host_ask("SELECT count(*) FROM sample WHERE flags & (1 | 4 | 64)").integer, 0);
    guest_whole_file();
}

static int start_without_a_mapping(void)
{
    tracer *t = NULL;
    int error;

    use_up_mappings();
    error = tracer_start(host_db, NULL, &t);
    CHECK(error == TRACER_ENOMEM || error == TRACER_ETHREAD);
    return 0;
}

static void start_when_nothing_can_be_mapped(void **state)
{
    (void)state;
    if (HOST_SANITIZED || guest_proc_number("/proc/sys/vm/max_map_count", "") > 100000)
        skip();
    guest_run(start_without_a_mapping);
    assert_int_equal(access(host_db, F_OK), -1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(C12_limit_of_file_size_suspends_and_is_got_over),
        T(C12_start_at_the_limit_is_an_error),
        T(C18_no_thread_left_is_an_error_at_once),
        T(limit_of_address_space_is_an_error_or_fewer_regions),
        T(address_space_used_up_while_recording),
        T(C11_the_samplers_stack),
        T(B08_all_mappings_that_there_may_be),
        T(start_when_nothing_can_be_mapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
