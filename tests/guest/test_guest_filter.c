/* SPDX-License-Identifier: MIT */
/* Description: under a system call filter the library needs no more than memtracer(7) lists; what
 * may be missing costs a column or a state; a filter that ends its thread leaves no call waiting.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "filter.h"

#include <sched.h>
#include <time.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SYS_CLOSE_RANGE 436

/* memtracer(7), "SYSTEM CALLS": without these it does not work. Calls that a 64-bit kernel of this
 * architecture does not have are left out by their #if. */
static const int needed[] = {
    SYS_clock_gettime, SYS_clock_nanosleep,
    SYS_close,         SYS_exit,
    SYS_exit_group,    SYS_fcntl,
    SYS_fdatasync,     SYS_fsync,
    SYS_fstat,         SYS_ftruncate,
    SYS_futex,         SYS_getcwd,
    SYS_getdents64,    SYS_geteuid,
    SYS_getuid,        SYS_getegid,
    SYS_getgid,        SYS_getpid,
    SYS_gettid,        SYS_lseek,
    SYS_madvise,       SYS_mmap,
    SYS_mprotect,      SYS_munmap,
    SYS_newfstatat,    SYS_openat,
    SYS_pread64,       SYS_pwrite64,
    SYS_read,          SYS_rt_sigprocmask,
    SYS_rt_sigreturn,  SYS_set_robust_list,
    SYS_tgkill,        SYS_unlinkat,
    SYS_uname,         SYS_clone,
    SYS_brk,           SYS_write,
    SYS_readlinkat,    SYS_faccessat,
    SYS_fchmod,        SYS_getrusage,
    SYS_kill,          435 /* clone3 */,
    334 /* rseq */,    SYS_rt_sigaction,
    SYS_prlimit64,
#ifdef SYS_open
    SYS_open,          SYS_access,
    SYS_stat,          SYS_lstat,
    SYS_unlink,        SYS_readlink,
#endif
};

/* The rest of its list: these may be refused. */
static const int optional[] = {
    SYS_ioctl,
    SYS_process_vm_readv,
    SYS_CLOSE_RANGE,
    SYS_unshare,
    SYS_dup3,
    SYS_get_robust_list,
    SYS_getpriority,
    SYS_setpriority,
    SYS_getrandom,
    SYS_ioprio_get,
    SYS_ioprio_set,
    SYS_memfd_create,
    SYS_msync,
    SYS_prctl,
    SYS_sched_getaffinity,
    SYS_sched_getscheduler,
    SYS_sched_setaffinity,
    SYS_sched_setscheduler,
    SYS_sysinfo,
};

/* ---- calls that are refused ---- */

static void record_a_little(uint32_t state)
{
    tracer *t = guest_start(1);

    guest_wait_ticks(t, 10);
    CHECK(tracer_mark(t, "filtered") == TRACER_OK);
    CHECK(guest_sees_pages(t));
    if (guest_stats(t).state != state || guest_stats(t).n_failed)
        fprintf(stderr, "state %u, failed %d: %s\n", guest_stats(t).state,
                (int)guest_stats(t).n_failed, guest_problem(t));
    CHECK(guest_stats(t).state == state && guest_stats(t).n_failed == 0);
    CHECK(tracer_stop(t) == TRACER_OK);
}

static const int *refused;
static int refused_with;

static int refuse_one(void)
{
    if (!filter_calls(refused, 1, FILTER_ANSWER((unsigned)refused_with), FILTER_ALLOW))
        return GUEST_SKIP;
    record_a_little(TRACER_STATE_RECORDING);
    return 0;
}

/* Each alone, by both words that filters have for it. */
static void C16_each_optional_call_refused(void **state)
{
    (void)state;
    if (HOST_SANITIZED) /* which needs the same */
        skip();
    for (size_t i = 0; i < COUNT(optional); i++) {
        refused = &optional[i];
        refused_with = i % 2 ? ENOSYS : EPERM;
        print_message("call %d\n", optional[i]);
        guest_run(refuse_one);
    }
    guest_whole_file();
}

/* No descriptor table of its own: the state says so, and the host's own files are kept from it. */
static int refuse_all_optional(void)
{
    char name[320], got[16];
    int fds[64];
    tracer *t;

    if (!filter_calls(optional, COUNT(optional), FILTER_ANSWER(EPERM), FILTER_ALLOW))
        return GUEST_SKIP;
    for (int fd = 0; fd < 2; fd++)
        close(fd); /* the lowest number is free, as in many daemons */
    t = guest_start(1);
    guest_wait_ticks(t, 10);
    CHECK(guest_sees_pages(t));
    CHECK(guest_stats(t).state == TRACER_STATE_DEGRADED);
    CHECK(strstr(guest_problem(t), "descriptor") != NULL);
    CHECK(write(1, "x", 1) == -1 && errno == EBADF);
    for (int fd = 3; fd < 65536; fd++)
        close(fd);
    snprintf(name, sizeof(name), "%s.mine", host_db);
    fds[0] = open(name, O_RDWR | O_CREAT, 0600);
    CHECK(write(fds[0], "mine", 4) == 4);
    for (int i = 1; i < 64; i++)
        fds[i] = dup(fds[0]);
    for (int fd = 3; fd < 65536; fd++) /* whatever numbers the recorder had */
        if (fcntl(fd, F_GETFD) == -1)
            dup2(fds[0], fd);
    for (int i = 0; i < 10; i++)
        tracer_mark(t, "into whose file?");
    usleep(50000);
    CHECK(tracer_sample(t) != TRACER_OK);
    CHECK(guest_stats(t).state == TRACER_STATE_SUSPENDED);
    tracer_stop(t);
    CHECK(pread(fds[0], got, sizeof(got), 0) == 4 && !memcmp(got, "mine", 4));
    CHECK(unlink(name) == 0);
    return 0;
}

static void C16_C13_all_optional_calls_refused(void **state)
{
    (void)state;
    if (HOST_SANITIZED) /* which needs the same */
        skip();
    guest_run(refuse_all_optional);
    assert_int_equal(host_ask("SELECT count(*) FROM run WHERE state_detail LIKE '%descriptor%' "
                              "OR state = 'interrupted' OR state = 'degraded'")
                         .integer,
                     1);
}

/* ---- nothing but the list ---- */

static int listed_calls_only(void)
{
    int calls[FILTER_CALLS_MOST];

    memcpy(calls, needed, sizeof(needed));
    memcpy(calls + COUNT(needed), optional, sizeof(optional));
    if (!filter_calls(calls, COUNT(needed) + COUNT(optional), FILTER_ALLOW, FILTER_KILL_PROCESS))
        return GUEST_SKIP;
    record_a_little(TRACER_STATE_RECORDING);
    return 0;
}

static int needed_calls_only(void)
{
    if (!filter_calls(needed, COUNT(needed), FILTER_ALLOW, FILTER_ANSWER(ENOSYS)))
        return GUEST_SKIP;
    record_a_little(TRACER_STATE_DEGRADED);
    return 0;
}

static void C16_no_call_that_is_not_listed(void **state)
{
    (void)state;
    if (HOST_SANITIZED)
        skip();
    guest_run(listed_calls_only);
    guest_run(needed_calls_only);
    guest_whole_file();
    assert_int_equal(host_ask("SELECT count(*) FROM run WHERE state = 'stopped' AND "
                              "state_detail LIKE '%descriptor%'")
                         .integer,
                     1);
}

/* ---- a filter that ends the thread ---- */

static int thread_is_ended(void)
{
    static const int call[] = {SYS_fdatasync, SYS_pwrite64};
    tracer *t = guest_start(1), *second = NULL;
    struct timespec begun, ended;
    char other[320];

    guest_wait_ticks(t, 3);
    if (!filter_calls(call, COUNT(call), FILTER_KILL_THREAD, FILTER_ALLOW))
        return GUEST_SKIP;
    tracer_mark(t, "the last");
    CHECK(tracer_sample(t) == TRACER_ESTATE); /* in the middle of the wait */
    CHECK(strstr(tracer_last_error(), "seccomp") != NULL);
    CHECK(guest_stats(t).state == TRACER_STATE_ENDED);
    CHECK(strstr(guest_problem(t), "seccomp") != NULL);
    CHECK(tracer_mark(t, "later") == TRACER_ESTATE && tracer_flush(t) == TRACER_ESTATE);
    for (int i = 0; i < 3; i++) { /* the gate is not waited at for a dead thread, but once */
        pid_t pid = fork();

        if (pid == 0)
            _exit(tracer_mark(t, "x") == TRACER_ESTATE ? 0 : 1);
        CHECK(waitpid(pid, NULL, 0) == pid);
    }
    clock_gettime(CLOCK_MONOTONIC, &begun);
    CHECK(tracer_stop(t) == TRACER_ETHREAD);
    snprintf(other, sizeof(other), "%s.other", host_db);
    CHECK(tracer_start(other, NULL, &second) == TRACER_ETHREAD);
    CHECK(strstr(tracer_last_error(), "memtracer(7)") != NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    CHECK(ended.tv_sec - begun.tv_sec < 8); /* not the time given to a stuck file system */
    unlink(other);
    return 0;
}

static void C16_a_thread_that_is_ended_is_not_waited_for(void **state)
{
    char path[320];

    (void)state;
    guest_run(thread_is_ended);
    assert_int_equal(tracer_file_finish(host_db), TRACER_OK);
    guest_whole_file();
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s.other%s", host_db,
                 (const char *[]){"-wal", "-shm", "-journal"}[i]);
        unlink(path);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(C16_each_optional_call_refused),
        T(C16_C13_all_optional_calls_refused),
        T(C16_no_call_that_is_not_listed),
        T(C16_a_thread_that_is_ended_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
