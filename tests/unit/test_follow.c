/* SPDX-License-Identifier: MIT */
/* Description: a list that is followed by the kernel's sums is the list that the kernel has, where
 * one mapping came, went, grew or shrank. The right list is one that a second source reads. */
#define _GNU_SOURCE
#include "support/followed.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sizes_of_status),
        cmocka_unit_test_setup_teardown(each_kind_of_mapping, followed_begin, followed_end),
        cmocka_unit_test_setup_teardown(growth_at_either_end, followed_begin, followed_end),
        cmocka_unit_test_setup_teardown(what_is_outside_is_never_lost, followed_begin,
                                        followed_end),
        cmocka_unit_test_setup_teardown(the_brk_area, followed_begin, followed_end),
        cmocka_unit_test_setup_teardown(a_path_with_a_newline, followed_begin, followed_end),
        cmocka_unit_test_setup_teardown(any_changes, followed_begin, followed_end),
    };

    return cmocka_run_group_tests(tests, followed_open, followed_close);
}
