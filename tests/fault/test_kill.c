/* SPDX-License-Identifier: MIT */
/* Description: killed at a random moment, 60 times (1,000 with MEMTRACER_FULL=1): the file opens,
 * is sound, and has all that the child said it had committed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memtracer/reader.h"
#include "support/recorded.h"

/* Records as fast as it can and says after each commit how far it is. */
static void record_for_ever(int said)
{
    mt_os_facts_read(mt_os_process_id(), &facts);
    if (open_with(600 * 1024)) /* retention is at work, too */
        _exit(1);
    for (int64_t i = 1;; i++) {
        set_level(MT_TYPE_HEAP, i);
        set_level(MT_TYPE_STACK, i * 7919 % 1000);
        if (tick())
            _exit(2);
        if (i % 3)
            continue;
        if (mt_recorder_commit(recorder) || write(said, &i, sizeof(i)) != sizeof(i))
            _exit(3);
    }
}

static int64_t last_said(int fd)
{
    int64_t i, last = 0;

    while (read(fd, &i, sizeof(i)) == sizeof(i))
        last = i;
    return last;
}

/* One in four dies at any moment from its birth on, the others while they record. */
static void wait_a_moment(unsigned n, int said)
{
    long us = random() % (n % 4 == 0 ? 3000 : 30000);
    struct timespec t = {.tv_nsec = us * 1000};
    struct pollfd p = {.fd = said, .events = POLLIN};

    if (n % 4 != 0)
        poll(&p, 1, 20000);
    nanosleep(&t, NULL);
}

static void check_after(int64_t said)
{
    if (said == 0 && access(path, F_OK))
        return;
    if (said == 0 && number("SELECT count(*) FROM sqlite_schema") == 0)
        return;
    assert_int_equal(number("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    if (said) { /* and no more than the three ticks of the next commit */
        int64_t last = number("SELECT max(ws) FROM level WHERE type = 4");

        assert_in_range(last, said, said + 3);
    }
}

static void killed_at_any_moment_the_file_is_sound(void **state)
{
    const char *full = getenv("MEMTRACER_FULL");
    unsigned times = full && full[0] == '1' ? 1000 : 60, recorded = 0;

    (void)state;
    srandom(1);
    for (unsigned n = 0; n < times; n++) {
        int ends[2], status;
        int64_t said;
        pid_t child;

        assert_int_equal(pipe(ends), 0);
        assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0, 1);
        child = fork();
        if (child == 0)
            record_for_ever(ends[1]);
        close(ends[1]);
        wait_a_moment(n, ends[0]);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        said = last_said(ends[0]);
        close(ends[0]);
        recorded += said > 0;
        check_after(said);
        folder_remove();
        assert_int_equal(folder_make(), 0);
        snprintf(path, sizeof(path), "%s/a.db", folder);
    }
    printf("%u kills, %u while recording\n", times, recorded);
    assert_true(recorded > times / 4);
}

/* Killed runs in one file, one after another: each next one opens it. */
static void killed_run_after_run_one_file_goes_on(void **state)
{
    (void)state;
    for (int n = 1; n <= 10; n++) {
        int ends[2], status;
        pid_t child;
        int64_t first;

        assert_int_equal(pipe(ends), 0);
        child = fork();
        if (child == 0)
            record_for_ever(ends[1]);
        close(ends[1]);
        assert_int_equal(read(ends[0], &first, sizeof(first)), sizeof(first));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        close(ends[0]);
        assert_int_equal(number("SELECT count(*) FROM run"), n);
    }
    assert_int_equal(tracer_file_finish(path), 0);
    assert_int_equal(number("SELECT count(*) FROM run WHERE state = 'interrupted'"), 10);
    assert_int_equal(number("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(killed_at_any_moment_the_file_is_sound),
        TEST(killed_run_after_run_one_file_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
