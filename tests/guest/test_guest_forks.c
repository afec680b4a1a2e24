/* SPDX-License-Identifier: MIT */
/* Description: whatever a host makes of itself by fork, vfork, exec or as a daemon, the recording
 * is the parent's, the child never waits for a thread it does not have, and may record its own. */
#define _GNU_SOURCE
#include "guest.h"

#include <pthread.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

extern char **environ;

static atomic_int churn_stop;

/* Gives the sampler something to write at every look. A sanitizer's allocator is of no use in a
 * child when a thread was inside it at the fork; the C library's is. */
static void *churn(void *unused)
{
    while (!churn_stop) {
        void *p = HOST_SANITIZED ? mmap(NULL, 300000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                 : malloc(300000);

        usleep(100);
        if (HOST_SANITIZED)
            munmap(p, 300000);
        else
            free(p);
    }
    return unused;
}

static int lives_in_the_child(tracer *t)
{
    sqlite3 *db;

    alarm(20);
    if (tracer_mark(t, "child") != TRACER_ESTATE || tracer_sample(t) != TRACER_ESTATE)
        return 1;
    free(malloc(1 << 20));
    if (sqlite3_open(":memory:", &db) ||
        sqlite3_exec(db, "CREATE TABLE t(x); INSERT INTO t VALUES (1)", NULL, NULL, NULL))
        return 2;
    sqlite3_close(db);
    return tracer_stop(t) ? 3 : 0;
}

static int fork_often(void)
{
    int n = guest_count(500, 10000), fds, status;
    pthread_t id;
    tracer *t = guest_start(1);
    long rss;

    CHECK(pthread_create(&id, NULL, churn, NULL) == 0);
    guest_wait_ticks(t, 5);
    fds = guest_entries("/proc/self/fd");
    rss = guest_proc_number("/proc/self/status", "VmRSS:");
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(lives_in_the_child(t));
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    }
    print_message("%d forks: rss %ld to %ld kB, descriptors %d to %d\n", n, rss,
                  guest_proc_number("/proc/self/status", "VmRSS:"), fds,
                  guest_entries("/proc/self/fd"));
    CHECK(guest_entries("/proc/self/fd") == fds);
    churn_stop = 1;
    pthread_join(id, NULL);
    CHECK(guest_stats(t).state == TRACER_STATE_RECORDING);
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static void C04_forks_while_it_samples_and_commits(void **state)
{
    (void)state;
    guest_run(fork_often);
    assert_int_equal(host_ask("SELECT count(*) FROM mark").integer, 0);
    assert_int_equal(host_ask("SELECT count(*) FROM run").integer, 1);
    guest_whole_file();
}

/* A worker forked by a preforking server: own file, own pid, leaves by exit() and its handlers. */
static void work(tracer *of_parent, const char *pattern)
{
    tracer *t = NULL;

    alarm(GUEST_SECONDS);
    CHECK(tracer_mark(of_parent, "request") == TRACER_ESTATE);
    CHECK(tracer_start(pattern, NULL, &t) == TRACER_OK);
    for (int i = 0; i < 3; i++) {
        free(malloc(1 << 20));
        CHECK(tracer_mark(t, "request") == TRACER_OK);
        CHECK(tracer_sample(t) == TRACER_OK);
    }
    CHECK(tracer_stop(t) == TRACER_OK);
    if (HOST_SANITIZED) /* what the parent's thread holds looks lost here */
        _exit(0);
    exit(0);
}

static int prefork(void)
{
    enum { WORKERS = 8 };
    char pattern[320], path[340];
    tracer *t = guest_start(1);
    pid_t pids[WORKERS];
    int status;

    snprintf(pattern, sizeof(pattern), "%s/w-%%p-100%%%%.db", host_dir);
    for (int i = 0; i < WORKERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            work(t, pattern);
    }
    for (int i = 0; i < WORKERS; i++) {
        CHECK(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
        snprintf(path, sizeof(path), "%s/w-%d-100%%.db", host_dir, (int)pids[i]);
        CHECK(guest_number(path, "SELECT pid FROM run") == pids[i]);
        CHECK(guest_number(path, "SELECT count(*) FROM mark WHERE label = 'request'") == 3);
        CHECK(unlink(path) == 0);
    }
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static void C07_eight_workers_write_eight_files(void **state)
{
    (void)state;
    guest_run(prefork);
    assert_int_equal(host_ask("SELECT count(*) FROM mark").integer, 0);
    guest_whole_file();
}

/* The same path in parent and child: the child is refused and the file stays the parent's. */
static int same_path(void)
{
    tracer *t = guest_start(1), *mine = NULL;
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(tracer_start(host_db, NULL, &mine) == TRACER_ESTATE &&
                      strstr(tracer_last_error(), "%p")
                  ? 0
                  : 1);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static void C07_the_parents_path_is_refused_to_the_child(void **state)
{
    (void)state;
    guest_run(same_path);
    assert_int_equal(host_ask("SELECT count(*) FROM run").integer, 1);
}

/* What a program started from here has open; the shell's own pipe end counts in both. */
static int descriptors_of_a_program(void)
{
    char text[32] = "";
    FILE *p = popen("ls /proc/self/fd | wc -l", "r");

    CHECK(p && fgets(text, sizeof(text), p));
    pclose(p);
    return (int)strtol(text, NULL, 10);
}

static int vfork_and_exec(void)
{
    char name[] = "true";
    char *const argv[] = {name, NULL};
    int before = descriptors_of_a_program(), status;
    tracer *t = guest_start(1);

    for (int i = 0; i < 50; i++) {
        pid_t pid = -1;

        if (i % 2)
            CHECK(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0);
        else if ((pid = vfork()) == 0)
            execve("/bin/true", argv, environ), _exit(127);
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    CHECK(descriptors_of_a_program() == before);
    CHECK(tracer_sample(t) == TRACER_OK && tracer_stop(t) == TRACER_OK);
    return 0;
}

static void C04_vfork_spawn_and_exec_carry_nothing_over(void **state)
{
    (void)state;
    guest_run(vfork_and_exec);
    guest_whole_file();
}

static int become_another(void)
{
    guest_wait_ticks(guest_start(1), 20);
    execl("/bin/true", "true", (char *)NULL);
    return 1;
}

/* The host itself becomes another program: the file is as whole as after a kill, and is taken on.
 */
static void exec_with_a_tracer_running(void **state)
{
    tracer *t;

    (void)state;
    guest_run(become_another);
    guest_whole_file();
    assert_true(host_ask("SELECT count(*) FROM sample").integer > 0);
    t = host_start(1000);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    assert_string_equal(host_ask("SELECT state FROM run WHERE id = 1").text, "interrupted");
}

/* The daemon goes on where its parent recorded: the parent is gone, so the path is free. */
static int daemon_life(void)
{
    tracer *of_parent = guest_start(1), *t = NULL;
    pid_t parent = getpid();

    if (fork() > 0)
        _exit(0); /* as daemon() does, the tracer running */
    setsid();
    alarm(GUEST_SECONDS);
    while (getppid() == parent)
        usleep(1000);
    CHECK(tracer_sample(of_parent) == TRACER_ESTATE);
    CHECK(tracer_stop(of_parent) == TRACER_OK);
    while (kill(parent, 0) == 0) /* until it was waited for */
        usleep(1000);
    CHECK(tracer_start(host_db, NULL, &t) == TRACER_OK);
    CHECK(tracer_mark(t, "daemon") == TRACER_OK && tracer_stop(t) == TRACER_OK);
    _exit(0);
}

static void C13_a_daemon_starts_anew(void **state)
{
    int status;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* the daemon becomes our child */
    guest_run(daemon_life);
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
    assert_int_equal(host_ask("SELECT count(*) FROM run WHERE state = 'stopped'").integer, 1);
    assert_string_equal(host_ask("SELECT state FROM run WHERE id = 1").text, "interrupted");
    assert_int_equal(host_ask("SELECT run FROM mark WHERE label = 'daemon'").integer, 2);
    guest_whole_file();
}

#define T(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(C04_forks_while_it_samples_and_commits),
        T(C07_eight_workers_write_eight_files),
        T(C07_the_parents_path_is_refused_to_the_child),
        T(C04_vfork_spawn_and_exec_carry_nothing_over),
        T(exec_with_a_tracer_running),
        T(C13_a_daemon_starts_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
