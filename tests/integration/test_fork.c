/* SPDX-License-Identifier: MIT */
/* Description: in a forked child the tracer is inert, the parent's file stays the parent's, and the
 * child may record into its own; the host's descriptors, signals and standard streams are left
 * alone by the sampler. */
#define _GNU_SOURCE
#include "support/host.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int child_of(tracer *t)
{
    char own[320];
    tracer *mine = NULL;

    if (tracer_mark(t, "child") != TRACER_ESTATE || tracer_sample(t) != TRACER_ESTATE ||
        tracer_flush(t) != TRACER_ESTATE || tracer_pause(t) != TRACER_ESTATE)
        return 1;
    if (tracer_stop(t) != TRACER_OK)
        return 2;
    if (tracer_start(host_db, NULL, &mine) != TRACER_ESTATE)
        return 3;
    snprintf(own, sizeof(own), "%s.child", host_db);
    if (tracer_start(own, NULL, &mine) || tracer_mark(mine, "own") || tracer_stop(mine))
        return 4;
    return unlink(own) ? 5 : 0;
}

static void D09_a_child_is_inert_and_may_start_its_own(void **state)
{
    tracer *t = host_start(1);
    int status;

    (void)state;
    for (int i = 0; i < 30; i++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(child_of(t));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    assert_int_equal(tracer_stop(t), TRACER_OK);
    assert_int_equal(host_ask("SELECT count(*) FROM mark").integer, 0);
    assert_string_equal(host_ask("PRAGMA integrity_check").text, "ok");
}

/* The host closes every descriptor and opens files of its own under the same numbers. */
static void closing_all_descriptors_hurts_nobody(void **state)
{
    tracer *t = host_start(1);
    char path[320];
    struct stat s;
    int fd;

    (void)state;
    for (int i = 3; i < 100; i++)
        close(i);
    snprintf(path, sizeof(path), "%s.host", host_db);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < 20; i++)
        assert_true(dup(fd) > 0);
    usleep(50000);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    assert_int_equal(fstat(fd, &s), 0);
    assert_int_equal(s.st_size, 0);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    unlink(path);
    assert_string_equal(host_ask("PRAGMA integrity_check").text, "ok");
}

/* A daemon's closed pipe must be seen as closed at the other end. */
static void no_copy_of_the_hosts_pipe_is_kept(void **state)
{
    int ends[2];
    char c;
    tracer *t;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    t = host_start(1);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    assert_int_equal(read(ends[0], &c, 1), 0);
    close(ends[0]);
    assert_int_equal(tracer_stop(t), TRACER_OK);
}

static volatile sig_atomic_t caught_by;

static void note_thread(int signal_number)
{
    (void)signal_number;
    caught_by = gettid();
}

static void signals_go_to_the_host(void **state)
{
    sigset_t before, now;
    tracer *t;

    (void)state;
    signal(SIGUSR1, note_thread);
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    t = host_start(1);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    assert_int_equal(sigismember(&now, SIGUSR2), 1);
    assert_int_equal(sigismember(&now, SIGUSR1), 0);
    for (int i = 0; i < 200; i++) {
        caught_by = 0;
        kill(getpid(), SIGUSR1);
        while (!caught_by)
            ;
        assert_int_equal(caught_by, getpid());
    }
    assert_int_equal(tracer_stop(t), TRACER_OK);
}

static void start_and_stop_often(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(tracer_stop(host_start(1)), TRACER_OK);
    assert_int_equal(host_ask("SELECT count(*) FROM run").integer, 100);
}

#define T(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(D09_a_child_is_inert_and_may_start_its_own),
        T(closing_all_descriptors_hurts_nobody),
        T(no_copy_of_the_hosts_pipe_is_kept),
        T(signals_go_to_the_host),
        T(start_and_stop_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
