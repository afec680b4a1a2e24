/* SPDX-License-Identifier: MIT */
/* Description: a host that closes every descriptor, opens our file itself, or has none left, is not
 * written into by the recorder, and the recording stays whole. */
#define _GNU_SOURCE
#include "guest.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#define N_HOST_FILES 40

/* The host's files take the numbers that were closed; each says what it is. */
static void open_host_files(int *fds)
{
    char path[340], text[16];

    for (int i = 0; i < N_HOST_FILES; i++) {
        snprintf(path, sizeof(path), "%s/host-%d", host_dir, i);
        fds[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        CHECK(fds[i] >= 0);
        snprintf(text, sizeof(text), "host %d", i);
        CHECK(write(fds[i], text, strlen(text)) == (ssize_t)strlen(text));
    }
}

static void check_host_files(const int *fds)
{
    char path[340], text[16], got[64];

    for (int i = 0; i < N_HOST_FILES; i++) {
        ssize_t n = pread(fds[i], got, sizeof(got) - 1, 0);

        snprintf(text, sizeof(text), "host %d", i);
        snprintf(path, sizeof(path), "%s/host-%d", host_dir, i);
        CHECK(n == (ssize_t)strlen(text) && !memcmp(got, text, (size_t)n));
        CHECK(unlink(path) == 0);
    }
}

static void close_by_loop(void)
{
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
}

static void close_by_range(void)
{
    if (syscall(436 /* close_range */, 0u, ~0u, 0u))
        close_by_loop();
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
static void close_by_closefrom(void)
{
    closefrom(0);
}
#else
#define close_by_closefrom close_by_loop
#endif

static void close_all_and_go_on(void (*close_all)(void))
{
    tracer *t = guest_start(1);
    int fds[N_HOST_FILES];

    guest_wait_ticks(t, 5);
    close_all();
    open_host_files(fds);
    guest_wait_ticks(t, 20);
    CHECK(tracer_mark(t, "closed") == TRACER_OK);
    CHECK(tracer_sample(t) == TRACER_OK);
    CHECK(guest_stats(t).state == TRACER_STATE_RECORDING);
    CHECK(tracer_stop(t) == TRACER_OK);
    check_host_files(fds);
}

static int by_loop(void)
{
    close_all_and_go_on(close_by_loop);
    return 0;
}

static int by_range(void)
{
    close_all_and_go_on(close_by_range);
    return 0;
}

static int by_closefrom(void)
{
    close_all_and_go_on(close_by_closefrom);
    return 0;
}

static void C13_closing_all_leaves_both_sides_files_alone(void **state)
{
    (void)state;
    guest_run(by_loop);
    guest_run(by_range);
    guest_run(by_closefrom);
    assert_int_equal(host_ask("SELECT count(*) FROM mark").integer, 3);
    guest_whole_file();
}

/* The daemon had closed 0 to 2 before: none of its output may land in the recording. */
static int without_standard_descriptors(void)
{
    tracer *t;

    for (int fd = 0; fd < 3; fd++)
        close(fd);
    t = guest_start(1);
    guest_wait_ticks(t, 5);
    for (int fd = 0; fd < 3; fd++)
        CHECK(write(fd, "host's words", 12) == -1 && errno == EBADF);
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static void C13_standard_descriptors_closed_before_the_start(void **state)
{
    (void)state;
    guest_run(without_standard_descriptors);
    guest_whole_file();
}

/* POSIX locks would go with any close() of the same file in the process. */
static int open_our_file(void)
{
    tracer *t = guest_start(1), *second = NULL;
    char bytes[4096];
    int status;
    pid_t pid;

    for (int i = 0; i < 200; i++) {
        int fd = open(host_db, O_RDWR);

        CHECK(fd >= 0);
        CHECK(pread(fd, bytes, sizeof(bytes), 0) == sizeof(bytes));
        close(fd);
        usleep(500);
    }
    pid = fork();
    if (pid == 0)
        _exit(tracer_start(host_db, NULL, &second) == TRACER_ESTATE ? 0 : 1);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(tracer_sample(t) == TRACER_OK && tracer_stop(t) == TRACER_OK);
    return 0;
}

static void C13_the_host_opens_and_closes_our_file(void **state)
{
    (void)state;
    guest_run(open_our_file);
    guest_whole_file();
}

/* The host has used up its descriptors: ours are not among them. */
static int no_descriptor_left(void)
{
    struct rlimit few = {24, 24};
    tracer *t;

    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    while (dup(2) >= 0)
        ;
    t = guest_start(1);
    CHECK(dup(2) == -1 && errno == EMFILE);
    CHECK(tracer_sample(t) == TRACER_OK);
    CHECK(guest_stats(t).state == TRACER_STATE_RECORDING);
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static int hardly_any_descriptor(void)
{
    struct rlimit few = {4, 4};
    tracer *t = NULL;

    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    CHECK(tracer_start(host_db, NULL, &t) == TRACER_ELIMIT);
    CHECK(strstr(tracer_last_error(), "ulimit -n") != NULL);
    return 0;
}

static void C13_limit_of_descriptors(void **state)
{
    (void)state;
    guest_run(no_descriptor_left);
    guest_whole_file();
    guest_run(hardly_any_descriptor);
}

#define T(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(C13_closing_all_leaves_both_sides_files_alone),
        T(C13_standard_descriptors_closed_before_the_start),
        T(C13_the_host_opens_and_closes_our_file),
        T(C13_limit_of_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
