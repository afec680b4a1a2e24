/* SPDX-License-Identifier: MIT */
/* Description: the page counts of known memory equal what was touched, and what smaps says. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "support/touched.h"

static void anonymous_memory(void **state)
{
    char *all, *half, *none;

    (void)state;
    if (!can_scan())
        skip();
    all = map_anonymous(N_PAGES);
    half = map_anonymous(4 * N_PAGES);
    none = map_anonymous(N_PAGES);
    madvise(half, 4 * N_PAGES * page, MADV_NOHUGEPAGE);
    touch(all, N_PAGES, 1);
    touch(half, 4 * N_PAGES, 2); /* more pieces than one call returns */
    assert_counted(all, N_PAGES, N_PAGES, N_PAGES);
    assert_counted(half, 4 * N_PAGES, 2 * N_PAGES, 2 * N_PAGES);
    assert_counted(half + page, 3, 1, 1);
    assert_counted(none, N_PAGES, 0, 0);
    munmap(all, N_PAGES * page);
    munmap(half, 4 * N_PAGES * page);
    munmap(none, N_PAGES * page);
}

static void pages_of_zeros_are_no_memory(void **state)
{
    char *p;
    int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);

    (void)state;
    if (!can_scan())
        skip();
    p = map_anonymous(N_PAGES);
    madvise(p, N_PAGES * page, MADV_NOHUGEPAGE);
    look(p, N_PAGES);
    touch(p, 8, 1);
    assert_counted(p, N_PAGES, 8, 8);
    munmap(p, N_PAGES * page);
    p = map(N_PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
    look(p, N_PAGES);
    touch(p, 8, 1);
    assert_counted(p, N_PAGES, 8, 8);
    munmap(p, N_PAGES * page);
    close(fd);
}

static void memory_without_access_and_memory_given_back(void **state)
{
    char *closed, *lazy;

    (void)state;
    if (!can_scan())
        skip();
    closed = map_anonymous(N_PAGES);
    lazy = map_anonymous(N_PAGES);
    touch(closed, N_PAGES, 1);
    touch(lazy, N_PAGES, 1);
    mprotect(closed, N_PAGES * page, PROT_NONE);
    assert_counted(closed, N_PAGES, N_PAGES, N_PAGES);
    assert_int_equal(madvise(lazy, N_PAGES * page, MADV_FREE), 0);
    assert_counted(lazy, N_PAGES, N_PAGES, N_PAGES);
    assert_int_equal(madvise(lazy, N_PAGES / 2 * page, MADV_DONTNEED), 0);
    assert_counted(lazy, N_PAGES, N_PAGES / 2, N_PAGES / 2);
    munmap(closed, N_PAGES * page);
    munmap(lazy, N_PAGES * page);
}

/* A call that finds nothing is quick whatever it passes over: were the next larger for it, it would
 * hold the lock for milliseconds where tables are full. */
static void empty_memory_does_not_lengthen_calls(void **state)
{
    const struct mt_scan *scan = &((struct mt_linux_source *)(void *)source)->count.scan;
    const uint64_t pages = 4 * N_PAGES, n = 64;
    uint64_t before;
    char *p;

    (void)state;
    if (!can_scan())
        skip();
    p = map_anonymous(n * pages);
    list(false);
    before = scan->dense.units;
    for (uint64_t i = 0; i < n; i++) {
        struct mt_interval v = count(p + i * pages * page, pages);

        assert_pages(&v, MT_PAGE_RESIDENT, 0);
    }
    assert_int_equal(scan->dense.units, before);
    munmap(p, n * pages * page);
}

static void guard_markers(void **state)
{
    struct mt_interval v;
    char *p;

    (void)state;
    p = map_anonymous(N_PAGES);
    touch(p, N_PAGES, 1);
    if (!can_scan() || madvise(p, 16 * page, MADV_GUARD_INSTALL))
        skip();
    assert_counted(p, N_PAGES, N_PAGES - 16, N_PAGES - 16);
    v = count(p, N_PAGES);
    assert_pages(&v, MT_PAGE_GUARD, 16);
    assert_pages(&v, MT_PAGE_SWAP, 0);
    munmap(p, N_PAGES * page);
}

static void huge_pages(void **state)
{
    const uint64_t huge = page * (page / 8) / page;
    struct mt_interval v;
    char *block, *p;

    (void)state;
    if (!can_scan())
        skip();
    block = map_anonymous(3 * huge);
    p = (char *)(((uintptr_t)block + huge * page - 1) / (huge * page) * (huge * page));
    if (madvise(p, huge * page, MADV_HUGEPAGE))
        skip();
    touch(p, 1, 1);
    list(true);
    v = count(p, huge);
    /* the kernel may have had no huge page to give: smaps tells which */
    assert_int_equal(v.pages.bytes[MT_PAGE_HUGE], s.regions[v.region].pages.bytes[MT_PAGE_HUGE]);
    assert_true(v.pages.bytes[MT_PAGE_HUGE] == 0 || v.pages.bytes[MT_PAGE_HUGE] == huge * page);
    assert_counted(p, huge, v.pages.bytes[MT_PAGE_HUGE] ? huge : 1,
                   v.pages.bytes[MT_PAGE_HUGE] ? huge : 1);
    munmap(block, 3 * huge * page);
}

/* Pieces of a region add up to it, however they are cut; a deadline leaves whole pieces. */
static void pieces_add_up(void **state)
{
    enum { PIECES = 37 };
    struct mt_interval v[PIECES];
    uint64_t sum = 0;
    uint32_t next = 0, region;
    unsigned calls = 0;
    char *p;

    (void)state;
    if (!can_scan())
        skip();
    p = map_anonymous(N_PAGES);
    madvise(p, N_PAGES * page, MADV_NOHUGEPAGE);
    touch(p, N_PAGES, 3);
    list(false);
    region = mt_snapshot_find(&s, (uintptr_t)p);
    memset(v, 0, sizeof(v));
    for (uint64_t i = 0, at = 0; i < PIECES; i++) {
        uint64_t pages = i + 1 == PIECES ? N_PAGES - at : 1 + i % 7;

        v[i].base = (uintptr_t)p + at * page;
        v[i].end = v[i].base + pages * page;
        v[i].region = region;
        at += pages;
    }
    for (; next < PIECES; calls++) {
        uint32_t before = next;

        assert_int_equal(source->ops->count(source, &s, v, PIECES, &next, 1), TRACER_OK);
        assert_true(next > before);
        assert_true(next == PIECES || v[next].pages.known == 0);
    }
    for (unsigned i = 0; i < PIECES; i++) {
        assert_true(v[i].pages.known != 0);
        sum += v[i].pages.bytes[MT_PAGE_RESIDENT];
    }
    assert_int_equal(sum, (N_PAGES + 2) / 3 * page);
    munmap(p, N_PAGES * page);
}

/* Four neighbours, full and nearly empty in turn, which change places and lose their mappings after
 * the list was read. How they were when they were counted last must not matter. */
static void neighbours_that_change(void **state)
{
    enum { PIECES = 4, ROUNDS = 5 };
    uint64_t n = N_PAGES;

    (void)state;
    if (!can_scan())
        skip();
    for (unsigned round = 0; round < ROUNDS; round++) {
        char *p = map_anonymous(PIECES * n);
        struct mt_interval v[PIECES] = {{.base = 0}};
        uint32_t next = 0;

        madvise(p, PIECES * n * page, MADV_NOHUGEPAGE);
        for (unsigned i = 0; i < PIECES; i++)
            touch(p + i * n * page, n, (i + round) % 2 ? 64 : 1);
        list(false);
        for (unsigned i = 0; i < PIECES; i++)
            v[i] = (struct mt_interval){.base = (uintptr_t)p + i * n * page,
                                        .end = (uintptr_t)p + (i + 1) * n * page,
                                        .region = mt_snapshot_find(&s, (uintptr_t)p)};
        if (round > 1)
            munmap(p + n * page, n * page);
        if (round > 2)
            munmap(p + 2 * n * page + 64 * page, 64 * page);
        assert_int_equal(source->ops->count(source, &s, v, PIECES, &next, 0), TRACER_OK);
        for (unsigned i = 0; i < PIECES; i++) {
            bool sparse = (i + round) % 2;
            uint64_t left = sparse ? n / 64 : n;

            left = round > 1 && i == 1 ? 0 : left;
            left -= round > 2 && i == 2 ? (sparse ? 1 : 64) : 0;
            assert_pages(&v[i], MT_PAGE_RESIDENT, left);
            assert_pages(&v[i], MT_PAGE_ANONYMOUS, left);
        }
        munmap(p, PIECES * n * page);
    }
}

static struct mt_interval count_again(struct mt_interval v)
{
    uint32_t next = 0;

    v.pages.known = 0;
    assert_int_equal(source->ops->count(source, &s, &v, 1, &next, 0), TRACER_OK);
    return v;
}

/* Of large shared memory only what is resident is asked for again, and with as much resident the
 * share of others stands as it was. */
static void large_shared_memory_is_read_when_it_changes(void **state)
{
    const uint64_t n = (68 << 20) / page;
    int fd = memfd_create("shared", MFD_CLOEXEC);
    struct mt_interval v;
    char *p, *again;

    (void)state;
    if (!can_scan())
        skip();
    assert_int_equal(ftruncate(fd, (off_t)(n * page)), 0);
    p = map(n, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    touch(p, n, 2);
    assert_counted(p, n, n / 2, 0);
    list(false);
    v = count(p, n);
    assert_pages(&v, MT_PAGE_SHARED, 0);
    again = map(n, PROT_READ, MAP_SHARED, fd);
    look(again, n / 2);
    list(false);
    v = count_again(v);
    assert_pages(&v, MT_PAGE_RESIDENT, n / 2);
    assert_pages(&v, MT_PAGE_SHARED, 0);
    touch(p, 2, 1);
    v = count_again(v);
    assert_pages(&v, MT_PAGE_RESIDENT, n / 2 + 1);
    list(true);
    assert_int_equal(v.pages.bytes[MT_PAGE_SHARED],
                     s.regions[mt_snapshot_find(&s, (uintptr_t)p)].pages.bytes[MT_PAGE_SHARED]);
    assert_true(v.pages.bytes[MT_PAGE_SHARED] >= n / 4 * page);
    munmap(p, n * page);
    munmap(again, n * page);
    close(fd);
}

/* A page that is written becomes the process's own though as many are resident: what may be written
 * is read each time. What may not is asked for, also where only a part of it is left. */
static void private_files_are_read_where_they_may_be_written(void **state)
{
    const uint64_t n = 64;
    int fd = file_of(n);
    char *open_one, *closed;
    struct mt_interval v, w;

    (void)state;
    if (!can_scan())
        skip();
    open_one = map(n, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
    closed = map(n, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
    look(open_one, n);
    look(closed, n);
    touch(closed, n, 8);
    mprotect(closed, n * page, PROT_READ);
    list(false);
    v = count(open_one, n);
    w = count(closed, n);
    assert_pages(&v, MT_PAGE_ANONYMOUS, 0);
    touch(open_one, n, 2);
    v = count_again(v);
    w = count_again(w);
    assert_pages(&v, MT_PAGE_RESIDENT, n);
    assert_pages(&v, MT_PAGE_ANONYMOUS, n / 2);
    assert_pages(&w, MT_PAGE_RESIDENT, n);
    assert_pages(&w, MT_PAGE_ANONYMOUS, n / 8);
    madvise(closed, n / 2 * page, MADV_DONTNEED);
    w = count_again(w);
    assert_pages(&w, MT_PAGE_RESIDENT, n / 2);
    assert_pages(&w, MT_PAGE_ANONYMOUS, n / 16);
    assert_counted(closed, n, n / 2, n / 16);
    munmap(open_one, n * page);
    munmap(closed, n * page);
    close(fd);
}

/* A child that holds still: all its regions, by smaps and counted, to the page. */
static void a_quiet_process_equals_smaps(void **state)
{
    struct mt_source *other;
    uint32_t next = 0;
    pid_t child = fork();
    int status;

    (void)state;
    if (child == 0)
        for (;;)
            pause();
    usleep(100000);
    assert_int_equal(mt_source_open_process((uint32_t)child, &other), TRACER_OK);
    assert_int_equal(other->ops->list(other, &s, true), TRACER_OK);
    for (uint32_t i = 0; i < s.n_regions; i++)
        intervals[i] =
            (struct mt_interval){.base = s.regions[i].base, .end = s.regions[i].end, .region = i};
    assert_int_equal(other->ops->count(other, &s, intervals, s.n_regions, &next, 0), TRACER_OK);
    assert_int_equal(next, s.n_regions);
    for (uint32_t i = 0; i < s.n_regions; i++) {
        uint32_t both = s.regions[i].pages.known & intervals[i].pages.known & SWAP_AND_MORE;

        assert_true(s.regions[i].pages.known & 1u << MT_PAGE_RESIDENT);
        for (unsigned kind = 0; kind < MT_PAGE_COUNT; kind++)
            if (both >> kind & 1u)
                assert_int_equal(s.regions[i].pages.bytes[kind], intervals[i].pages.bytes[kind]);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    other->ops->close(other);
}

/* Without the scan private memory stays unknown, so that smaps is asked; files are counted. */
static void without_the_scan_private_memory_is_unknown(void **state)
{
    struct mt_linux_source *linux_source = (struct mt_linux_source *)(void *)source;
    int fd = file_of(4);
    char *anonymous = map_anonymous(4), *file = map(4, PROT_READ, MAP_SHARED, fd);
    bool works = linux_source->count.scan.works;
    struct mt_interval v;

    (void)state;
    touch(anonymous, 4, 1);
    look(file, 4);
    list(false);
    linux_source->count.scan.works = false;
    v = count(anonymous, 4);
    assert_int_equal(v.pages.known, 0);
    v = count(file, 4);
    assert_pages(&v, MT_PAGE_RESIDENT, 4);
    linux_source->count.scan.works = works;
    munmap(anonymous, 4 * page);
    munmap(file, 4 * page);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anonymous_memory),
        cmocka_unit_test(pages_of_zeros_are_no_memory),
        cmocka_unit_test(memory_without_access_and_memory_given_back),
        cmocka_unit_test(empty_memory_does_not_lengthen_calls),
        cmocka_unit_test(guard_markers),
        cmocka_unit_test(huge_pages),
        cmocka_unit_test(pieces_add_up),
        cmocka_unit_test(neighbours_that_change),
        cmocka_unit_test(large_shared_memory_is_read_when_it_changes),
        cmocka_unit_test(private_files_are_read_where_they_may_be_written),
        cmocka_unit_test(a_quiet_process_equals_smaps),
        cmocka_unit_test(without_the_scan_private_memory_is_unknown),
    };

    return cmocka_run_group_tests(tests, touched_begin, touched_end);
}
