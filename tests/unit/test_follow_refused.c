/* SPDX-License-Identifier: MIT */
/* Description: where the kernel's sums do not account for the list, or cannot, it is said that the
 * list is to be read, and it is as it was. The right list is one that a second source reads. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/wait.h>

#include "support/followed.h"

static void more_than_one_change_is_refused(void **state)
{
    char *a = map_anonymous(24), *b, *c;

    (void)state;
    read_surely();
    b = map_anonymous(10);
    c = map(6, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    assert_refused();
    assert_int_equal(mprotect(a, 8 * page, PROT_READ), 0);
    assert_refused();
    assert_int_equal(syscall(SYS_mlock, b, page), 0); /* a sanitizer has its own mlock() */
    assert_refused();
    munmap(b, 10 * page);
    b = map(10, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1); /* VmSize is what it was */
    assert_refused();
    munmap(a, 24 * page);
    munmap(b, 10 * page);
    munmap(c, 6 * page);
}

static void what_came_beside_the_list_is_refused(void **state)
{
    char *a, *b;

    (void)state;
    read_sizes();
    list(false);
    a = map_anonymous(10); /* before the sizes were read again */
    assert_refused();
    list(false);
    assert_false(source->ops->follow(source, &s)); /* the sizes are of before it */
    read_surely();
    b = map_anonymous(12);
    s.keep_until_ns = mt_os_monotonic_ns();
    assert_refused();
    list(true); /* smaps: not the list whose text is kept */
    assert_false(follow());
    munmap(a, 10 * page);
    munmap(b, 12 * page);
}

/* The descriptor of another file answers as a kernel that does not know the question. */
static void a_kernel_that_cannot_be_asked(void **state)
{
    struct mt_linux_source *o = of(source);
    uint32_t n;
    char *p;

    (void)state;
    read_surely();
    n = s.n_regions;
    p = map_anonymous(10);
    read_sizes();
    assert_false(
        mt_follow_list(&o->follow, o->status, &s, &o->text, o->lines.buffer, o->lines.capacity));
    assert_int_equal(s.n_regions, n);
    assert_true(source->ops->follow(source, &s));
    munmap(p, 10 * page);
}

/* What no sum shows is seen when the time is over; see follow.c. */
static void equal_and_opposite_changes_are_bounded_by_time(void **state)
{
    char *space = map(64, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1), *from, *to;

    (void)state;
    munmap(space, 64 * page);
    from = mmap(space + 8 * page, 8 * page, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    read_surely();
    to = mremap(from, 8 * page, 8 * page, MREMAP_MAYMOVE | MREMAP_FIXED, space + 32 * page);
    assert_true(to == space + 32 * page);
    assert_true(follow());
    s.keep_until_ns = mt_os_monotonic_ns();
    assert_refused();
    munmap(to, 8 * page);
}
/* ---- another process, which calls itself by exec at each byte it is sent ---- */

static int be_another(char *self)
{
    char byte = 'r';

    if (write(STDOUT_FILENO, &byte, 1) != 1 || read(STDIN_FILENO, &byte, 1) != 1)
        return 1;
    execl("/proc/self/exe", self, "another", (char *)NULL);
    return 1;
}

static uint32_t start_another(int *out_to, int *out_from)
{
    int to[2], from[2];
    pid_t pid;

    assert_int_equal(pipe(to) | pipe(from), 0);
    pid = fork();
    if (pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[1]);
        execl("/proc/self/exe", "test_follow", "another", (char *)NULL);
        _exit(1);
    }
    assert_true(pid > 0);
    close(to[0]);
    close(from[1]);
    *out_to = to[1];
    *out_from = from[0];
    return (uint32_t)pid;
}

static void wait_for_it(uint32_t pid, int from)
{
    char path[64], byte, state = '?';

    assert_int_equal(read(from, &byte, 1), 1);
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    while (state != 'S') { /* it waits for the next byte */
        FILE *f = fopen(path, "r");

        assert_non_null(f);
        assert_int_equal(fscanf(f, "%*d %*s %c", &state), 1);
        fclose(f);
    }
}

static void a_program_that_calls_itself(void **state)
{
    struct mt_source *own = source, *own_second = second;
    int to, from;
    uint32_t pid = start_another(&to, &from);

    (void)state;
    wait_for_it(pid, from);
    assert_int_equal(mt_source_open_process(pid, &source), TRACER_OK);
    assert_int_equal(mt_source_open_process(pid, &second), TRACER_OK);
    read_surely();
    assert_true(follow());
    assert_right();
    assert_int_equal(write(to, "x", 1), 1);
    wait_for_it(pid, from);
    assert_refused();
    close(to);
    close(from);
    waitpid((pid_t)pid, NULL, 0);
    source->ops->close(source);
    second->ops->close(second);
    source = own;
    second = own_second;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(more_than_one_change_is_refused, followed_begin,
                                        followed_end),
        cmocka_unit_test_setup_teardown(what_came_beside_the_list_is_refused, followed_begin,
                                        followed_end),
        cmocka_unit_test_setup_teardown(a_kernel_that_cannot_be_asked, followed_begin,
                                        followed_end),
        cmocka_unit_test_setup_teardown(equal_and_opposite_changes_are_bounded_by_time,
                                        followed_begin, followed_end),
        cmocka_unit_test_setup_teardown(a_program_that_calls_itself, followed_begin, followed_end),
    };

    if (argc > 1)
        return be_another(argv[0]);
    return cmocka_run_group_tests(tests, followed_open, followed_close);
}
