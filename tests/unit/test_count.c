/* SPDX-License-Identifier: MIT */
/* Description: the page counts of known memory equal what was touched, and what smaps says. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "memtracer/memtracer.h"
#include "source/linux/linux_source.h"

#ifndef MADV_FREE
#define MADV_FREE 8
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define N_REGIONS 4096
#define N_PAGES 512
#define SWAP_AND_MORE                                                                              \
    (1u << MT_PAGE_RESIDENT | 1u << MT_PAGE_ANONYMOUS | 1u << MT_PAGE_SHARED |                     \
     1u << MT_PAGE_SWAP | 1u << MT_PAGE_HUGE | 1u << MT_PAGE_HUGETLB_PRIVATE |                     \
     1u << MT_PAGE_HUGETLB_SHARED)

static struct mt_snapshot s;
static struct mt_source *source;
static struct mt_interval *intervals;
static uint64_t page;

static char *map(uint64_t pages, int protection, int flags, int fd)
{
    char *p = mmap(NULL, pages * page, protection, flags, fd, 0);

    assert_true(p != MAP_FAILED);
    return p;
}

static char *map_anonymous(uint64_t pages)
{
    return map(pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void touch(char *p, uint64_t pages, uint64_t step)
{
    for (uint64_t i = 0; i < pages; i += step)
        *(volatile char *)(p + i * page) = 1;
}

static void look(const char *p, uint64_t pages)
{
    for (uint64_t i = 0; i < pages; i++)
        (void)*(const volatile char *)(p + i * page);
}

static int file_of(uint64_t pages)
{
    char path[] = "/tmp/memtracer-count-XXXXXX";
    char *zeros = calloc(pages, page);
    int fd = mkstemp(path);

    assert_true(fd >= 0 && zeros);
    unlink(path);
    assert_int_equal(write(fd, zeros, pages * page), pages * page);
    free(zeros);
    return fd;
}

/* One interval, cut out of the region that holds [p, p + pages). */
static struct mt_interval count(const char *p, uint64_t pages)
{
    struct mt_interval v = {.base = (uintptr_t)p, .end = (uintptr_t)p + pages * page};
    uint32_t next = 0;

    v.region = mt_snapshot_find(&s, v.base);
    assert_true(v.region < s.n_regions);
    assert_true(s.regions[v.region].end >= v.end);
    assert_int_equal(source->ops->count(source, &s, &v, 1, &next, 0), TRACER_OK);
    assert_int_equal(next, 1);
    return v;
}

static void list(bool pages)
{
    assert_int_equal(source->ops->list(source, &s, pages), TRACER_OK);
}

static bool can_scan(void)
{
    return ((struct mt_linux_source *)(void *)source)->count.scan.works;
}

static void assert_pages(const struct mt_interval *v, unsigned kind, uint64_t pages)
{
    assert_true(v->pages.known >> kind & 1u);
    assert_int_equal(v->pages.bytes[kind], pages * page);
}

/* [p, p + pages) holds so many resident and anonymous pages; and when it is a region of its own,
 * smaps says the same of each kind that both know. */
static void assert_counted(const char *p, uint64_t pages, uint64_t resident, uint64_t anonymous)
{
    for (unsigned with_smaps = 0; with_smaps < 2; with_smaps++) {
        const struct mt_region *r;
        struct mt_interval v;
        uint32_t both;

        list(with_smaps);
        v = count(p, pages);
        assert_pages(&v, MT_PAGE_RESIDENT, resident);
        assert_pages(&v, MT_PAGE_ANONYMOUS, anonymous);
        r = &s.regions[v.region];
        if (!with_smaps || r->base != v.base || r->end != v.end)
            continue;
        both = r->pages.known & v.pages.known & SWAP_AND_MORE;
        for (unsigned kind = 0; kind < MT_PAGE_COUNT; kind++)
            if (both >> kind & 1u)
                assert_int_equal(r->pages.bytes[kind], v.pages.bytes[kind]);
    }
}

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

static void files_and_their_copies(void **state)
{
    struct mt_interval v;
    int fd = file_of(N_PAGES);
    char *p = map(N_PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);

    (void)state;
    madvise(p, N_PAGES * page, MADV_RANDOM);
    touch(p, N_PAGES, N_PAGES / 4);
    look(p, N_PAGES); /* last: the first copy may unmap a huge page's other pages */
    assert_counted(p, N_PAGES, N_PAGES, 4);
    v = count(p, N_PAGES);
    assert_pages(&v, MT_PAGE_SHARED, 0);
    munmap(p, N_PAGES * page);
    close(fd);
}

static void shared_memory(void **state)
{
    struct mt_interval v;
    char *p = map(N_PAGES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    char *a, *b;
    int fd = memfd_create("memtracer-test", MFD_CLOEXEC);

    (void)state;
    touch(p, N_PAGES, 2);
    assert_counted(p, N_PAGES, N_PAGES / 2, 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)(N_PAGES * page)), 0);
    a = map(N_PAGES, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    b = map(N_PAGES, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    touch(a, N_PAGES, 1);
    touch(b, N_PAGES, 2);
    /* a page fault may map its neighbours too: how much of b is resident is the kernel's */
    assert_counted(a, N_PAGES, N_PAGES, 0);
    list(true);
    v = count(b, N_PAGES);
    assert_int_equal(v.pages.bytes[MT_PAGE_RESIDENT],
                     s.regions[v.region].pages.bytes[MT_PAGE_RESIDENT]);
    assert_int_equal(v.pages.bytes[MT_PAGE_SHARED], v.pages.bytes[MT_PAGE_RESIDENT]);
    munmap(p, N_PAGES * page);
    munmap(a, N_PAGES * page);
    munmap(b, N_PAGES * page);
    close(fd);
}

/* Larger than what is read whole: found by the scan, read where it has pages. */
static void a_large_sparse_file(void **state)
{
    const uint64_t pages = (UINT64_C(200) << 20) / page;
    int fd = memfd_create("memtracer-sparse", MFD_CLOEXEC);
    char *p;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)(pages * page)), 0);
    p = map(pages, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    touch(p, 40, 2);
    touch(p + 4000 * page, 10, 1);
    touch(p + (pages - 1) * page, 1, 1);
    assert_counted(p, pages, 31, 0);
    munmap(p, pages * page);
    close(fd);
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

/* After a fork anonymous pages are mapped twice; they are as resident and anonymous as before. */
static void a_child_shares(void **state)
{
    char *anonymous, *file;
    int fd = file_of(N_PAGES), status;
    struct mt_interval v;
    pid_t child;

    (void)state;
    if (!can_scan())
        skip();
    anonymous = map_anonymous(N_PAGES);
    file = map(N_PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
    touch(anonymous, N_PAGES, 1);
    touch(file, N_PAGES, 1);
    child = fork();
    if (child == 0)
        for (;;)
            pause();
    assert_true(child > 0);
    assert_counted(anonymous, N_PAGES, N_PAGES, N_PAGES);
    assert_counted(file, N_PAGES, N_PAGES, N_PAGES);
    v = count(file, N_PAGES);
    assert_pages(&v, MT_PAGE_SHARED, N_PAGES);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    munmap(anonymous, N_PAGES * page);
    munmap(file, N_PAGES * page);
    close(fd);
}

static void hugetlb_is_apart(void **state)
{
    const uint64_t pages = (UINT64_C(2) << 20) / page;
    struct mt_interval v;
    char *p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

    (void)state;
    if (p == MAP_FAILED)
        skip();
    touch(p, 1, 1);
    assert_counted(p, pages, 0, 0);
    v = count(p, pages);
    assert_pages(&v, MT_PAGE_HUGETLB_PRIVATE, pages);
    assert_pages(&v, MT_PAGE_HUGETLB_SHARED, 0);
    munmap(p, pages * page);
}

/* Words that a hugetlb mapping and a file with guard markers would have, in a copied pagemap. */
static void words_of_hugetlb_are_no_resident_memory(void **state)
{
    const uint64_t once = UINT64_C(1) << 63 | UINT64_C(1) << 56, twice = UINT64_C(1) << 63;
    char directory[] = "/tmp/memtracer-words-XXXXXX", path[64];
    struct mt_source *own = source;
    struct mt_interval v;
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/pagemap", directory);
    assert_non_null(file = fopen(path, "w"));
    for (uint64_t i = 0; i < 0x1200000 / page; i++) {
        uint64_t word = i < 0x1100000 / page ? once : twice;

        assert_int_equal(fwrite(&word, sizeof(word), 1, file), 1);
    }
    fclose(file);
    snprintf(path, sizeof(path), "%s/smaps", directory);
    assert_non_null(file = fopen(path, "w"));
    fputs("01000000-01200000 rw-s 00000000 00:2a 7 /huge\nVmFlags: rd wr sh ht\n", file);
    fclose(file);
    assert_int_equal(mt_source_open_files(directory, &source), TRACER_OK);
    list(true);
    v = count((char *)(uintptr_t)0x1000000, 0x200000 / page);
    assert_pages(&v, MT_PAGE_RESIDENT, 0);
    assert_pages(&v, MT_PAGE_HUGETLB_PRIVATE, 0x100000 / page);
    assert_pages(&v, MT_PAGE_HUGETLB_SHARED, 0x100000 / page);
    source->ops->close(source);
    source = own;
    remove(path);
    snprintf(path, sizeof(path), "%s/pagemap", directory);
    remove(path);
    remove(directory);
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

static int begin(void **state)
{
    struct mt_strings *strings;

    (void)state;
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    intervals = calloc(N_REGIONS, sizeof(*intervals));
    return !intervals || mt_strings_new(4096, 1 << 20, &strings) ||
           mt_snapshot_init(&s, strings, N_REGIONS) || mt_source_open_process(0, &source);
}

static int end(void **state)
{
    (void)state;
    source->ops->close(source);
    mt_strings_free(s.strings);
    mt_snapshot_release(&s);
    free(intervals);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anonymous_memory),
        cmocka_unit_test(pages_of_zeros_are_no_memory),
        cmocka_unit_test(memory_without_access_and_memory_given_back),
        cmocka_unit_test(guard_markers),
        cmocka_unit_test(files_and_their_copies),
        cmocka_unit_test(shared_memory),
        cmocka_unit_test(a_large_sparse_file),
        cmocka_unit_test(huge_pages),
        cmocka_unit_test(a_child_shares),
        cmocka_unit_test(hugetlb_is_apart),
        cmocka_unit_test(words_of_hugetlb_are_no_resident_memory),
        cmocka_unit_test(pieces_add_up),
        cmocka_unit_test(a_quiet_process_equals_smaps),
        cmocka_unit_test(without_the_scan_private_memory_is_unknown),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
