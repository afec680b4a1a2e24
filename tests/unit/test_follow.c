/* SPDX-License-Identifier: MIT */
/* Description: a list that is followed by the kernel's sums is the list that the kernel has, where
 * one mapping came, went, grew or shrank; of anything else it is said that the list is to be read.
 * The right list is one that a second source reads. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "support/touched.h"
#include "base/os/os.h"
#include "source/linux/mapping_query.h"

static struct mt_source *second;
static struct mt_snapshot fresh;
static unsigned n_followed;

static struct mt_linux_source *of(struct mt_source *any)
{
    return (struct mt_linux_source *)(void *)any;
}

static void read_sizes(void)
{
    struct mt_counters c;

    assert_int_equal(source->ops->counters(source, &c), TRACER_OK);
}

/* A list that may be followed. */
static void read_surely(void)
{
    read_sizes();
    list(false);
    read_sizes();
}

static void assert_right(void)
{
    assert_int_equal(second->ops->list(second, &fresh, false), TRACER_OK);
    assert_int_equal(s.n_regions, fresh.n_regions);
    for (uint32_t i = 0; i < s.n_regions; i++)
        assert_memory_equal(&s.regions[i], &fresh.regions[i], sizeof(s.regions[i]));
}

static bool follow(void)
{
    bool followed;

    read_sizes();
    followed = source->ops->follow(source, &s);
    n_followed += followed;
    read_sizes();
    return followed;
}

/* The text that goes with the list must go with it still. */
static void assert_followed(void)
{
    assert_true(follow());
    assert_right();
    list(false);
    assert_right();
    read_surely();
}

static void assert_refused(void)
{
    assert_false(follow());
    list(false);
    assert_right();
    read_surely();
}

static void each_kind_of_mapping(void **state)
{
    enum { RW = PROT_READ | PROT_WRITE, ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS };
    int fd = file_of(N_PAGES), memfd = memfd_create("with\ta tab", MFD_CLOEXEC);
    const struct {
        int protection, flags, fd;
    } kinds[] = {
        {RW, ANONYMOUS, -1},
        {PROT_READ, ANONYMOUS, -1},
        {PROT_NONE, ANONYMOUS, -1},
        {PROT_READ | PROT_EXEC, ANONYMOUS, -1},
        {RW | PROT_EXEC, ANONYMOUS, -1},
        {RW, MAP_SHARED | MAP_ANONYMOUS, -1},
        {RW, MAP_SHARED, memfd},
        {PROT_READ, MAP_PRIVATE, fd},
        {RW, MAP_PRIVATE, fd},
    };

    (void)state;
    assert_int_equal(ftruncate(memfd, (off_t)(N_PAGES * page)), 0);
    read_surely();
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char *p = map(N_PAGES, kinds[i].protection, kinds[i].flags, kinds[i].fd);

        assert_followed();
        munmap(p + N_PAGES / 2 * page, N_PAGES / 2 * page);
        assert_refused(); /* one that shrank is looked for among those of the size that is missing
                           */
        munmap(p, N_PAGES / 2 * page);
        assert_followed();
    }
    assert_true(follow()); /* and where nothing happened */
    assert_right();
    close(memfd);
    close(fd);
}

/* Neighbours of one kind are one mapping, wherever the new one lies. */
static void growth_at_either_end(void **state)
{
    const int rights = PROT_READ | PROT_WRITE, how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    char *space = map(64, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1), *p = space + 16 * page;

    (void)state;
    munmap(space, 64 * page);
    assert_true(mmap(p, 8 * page, rights, how, -1, 0) == p);
    read_surely();
    assert_true(mmap(p + 8 * page, 8 * page, rights, how, -1, 0) == p + 8 * page);
    assert_followed();
    assert_true(mmap(p - 8 * page, 8 * page, rights, how, -1, 0) == p - 8 * page);
    assert_followed();
    munmap(p - 8 * page, 24 * page);
    assert_followed();
}

/* [vsyscall] is of the size and the rights of a page of code that went. */
static void what_is_outside_is_never_lost(void **state)
{
    char *p = map(8, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);

    (void)state;
    for (int i = 0; i < 3; i++) {
        read_surely();
        munmap(p + (7 - i) * page, page);
        if (!follow())
            list(false);
        assert_right();
    }
    munmap(p, 5 * page);
}

static void the_brk_area(void **state)
{
    (void)state;
    assert_true(sbrk((intptr_t)(16 * page)) != (void *)-1);
    read_surely();
    assert_true(sbrk((intptr_t)(64 * page)) != (void *)-1);
    assert_followed();
    assert_true(sbrk(-(intptr_t)(32 * page)) != (void *)-1);
    assert_followed();
}

static void a_path_with_a_newline(void **state)
{
    char *p;
    int fd = memfd_create("two\nlines", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(ftruncate(fd, (off_t)page), 0);
    read_surely();
    p = map(1, PROT_READ, MAP_SHARED, fd);
    assert_refused();
    munmap(p, page);
    assert_followed();
    close(fd);
}

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
    assert_int_equal(mlock(b, page), 0);
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

/* Of each block another size, so that no two changes cancel out. */
static void any_changes(void **state)
{
    enum { BLOCKS = 48 };
    char *block[BLOCKS] = {NULL};

    (void)state;
    n_followed = 0;
    srand(20261130);
    read_surely();
    for (unsigned round = 0; round < 400; round++) {
        for (int n = rand() % 3; n >= 0; n--) {
            unsigned i = (unsigned)rand() % BLOCKS, pages = 101 + 3 * i;

            if (block[i])
                munmap(block[i], pages * page);
            block[i] = block[i] ? NULL : map_anonymous(pages);
            if (block[i] && rand() % 4 == 0)
                mprotect(block[i] + page, page, PROT_READ);
        }
        if (!follow())
            list(false);
        read_sizes();
        assert_right();
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (block[i])
            munmap(block[i], (101 + 3 * i) * page);
    assert_true(n_followed > 50);
}

static void the_sizes_of_status(void **state)
{
    static const char *const lines[] = {"VmSize:\t    2772 kB",
                                        "VmLck:\t       4 kB",
                                        "VmData:\t     360 kB",
                                        "VmStk:\t     136 kB",
                                        "VmExe:\t      20 kB",
                                        "VmLib:\t    1524 kB",
                                        "Threads:\t3",
                                        "VmSizes:\t9 kB",
                                        "VmLib",
                                        ""};
    struct mt_sizes sizes = {.known = 0};

    (void)state;
    for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        mt_sizes_line(lines[i], strlen(lines[i]), &sizes);
    assert_int_equal(sizes.known, (1u << MT_SIZE_COUNT) - 1);
    assert_int_equal(sizes.value[MT_SIZE_ALL], 2772 << 10);
    assert_int_equal(sizes.value[MT_SIZE_DATA], 360 << 10);
    assert_int_equal(sizes.value[MT_SIZE_STACK], 136 << 10);
    assert_int_equal(sizes.value[MT_SIZE_PROGRAM], 20 << 10);
    assert_int_equal(sizes.value[MT_SIZE_CODE], 1524 << 10);
    assert_int_equal(sizes.value[MT_SIZE_LOCKED], 4 << 10);
    assert_int_equal(sizes.value[MT_SIZE_THREADS], 3);
}

/* Older kernels have no such question: then nothing is followed, and every list is read. */
static int begin(void **state)
{
    struct mt_region r;

    (void)state;
    page = mt_os_page_bytes();
    if (mt_source_open_process(0, &source) || mt_source_open_process(0, &second) ||
        mt_snapshot_init(&fresh, s.strings, N_REGIONS))
        return -1;
    if (mt_mapping_query(of(source)->maps, (uintptr_t)&r, &r) >= 0)
        return 0;
    read_surely();
    read_sizes();
    if (!source->ops->follow(source, &s)) /* nothing changed: no question was needed */
        return -1;
    print_message("not followed here: the kernel has no PROCMAP_QUERY (6.11)\n");
    exit(77);
}

static int end(void **state)
{
    (void)state;
    source->ops->close(source);
    second->ops->close(second);
    mt_snapshot_release(&fresh);
    return 0;
}

static int open_lists(void **state)
{
    struct mt_strings *names;

    (void)state;
    return mt_strings_new(4096, 1 << 20, &names) || mt_snapshot_init(&s, names, N_REGIONS);
}

static int close_lists(void **state)
{
    struct mt_strings *names = s.strings;

    (void)state;
    mt_snapshot_release(&s);
    mt_strings_free(names);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sizes_of_status),
        cmocka_unit_test_setup_teardown(each_kind_of_mapping, begin, end),
        cmocka_unit_test_setup_teardown(growth_at_either_end, begin, end),
        cmocka_unit_test_setup_teardown(what_is_outside_is_never_lost, begin, end),
        cmocka_unit_test_setup_teardown(the_brk_area, begin, end),
        cmocka_unit_test_setup_teardown(a_path_with_a_newline, begin, end),
        cmocka_unit_test_setup_teardown(more_than_one_change_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(what_came_beside_the_list_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_kernel_that_cannot_be_asked, begin, end),
        cmocka_unit_test_setup_teardown(equal_and_opposite_changes_are_bounded_by_time, begin, end),
        cmocka_unit_test_setup_teardown(a_program_that_calls_itself, begin, end),
        cmocka_unit_test_setup_teardown(any_changes, begin, end),
    };

    if (argc > 1)
        return be_another(argv[0]);
    return cmocka_run_group_tests(tests, open_lists, close_lists);
}
