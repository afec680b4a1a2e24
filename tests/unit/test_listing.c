/* SPDX-License-Identifier: MIT */
/* Description: for files, shared memory and hugetlb the list with pages and the counts say the
 * same, which is what was touched; a list of which only the new lines were read is a list read
 * anew. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "support/touched.h"

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

static struct mt_source *second;
static struct mt_snapshot fresh;

/* Any region, by name, of a list read by a source that has read no list of this kind before. */
static void assert_as_read_anew(void)
{
    assert_int_equal(second->ops->list(second, &fresh, false), TRACER_OK);
    list(false);
    assert_int_equal(s.n_regions, fresh.n_regions);
    for (uint32_t i = 0; i < s.n_regions; i++)
        assert_memory_equal(&s.regions[i], &fresh.regions[i], sizeof(s.regions[i]));
    fresh.n_regions = 0; /* not what the source left there: it must begin anew */
}

static void a_list_that_is_renewed_in_place(void **state)
{
    enum { BLOCKS = 64 };
    char *block[BLOCKS] = {NULL};

    (void)state;
    assert_int_equal(mt_source_open_process(0, &second), TRACER_OK);
    assert_int_equal(mt_snapshot_init(&fresh, s.strings, N_REGIONS), TRACER_OK);
    srand(20261129);
    for (unsigned round = 0; round < 300; round++) {
        unsigned i = (unsigned)rand() % BLOCKS;

        if (block[i])
            munmap(block[i], 8 * page);
        block[i] = block[i] ? NULL : map_anonymous(8);
        if (block[i] && rand() % 2)
            mprotect(block[i] + page, page, PROT_READ);
        if (round % 50 == 0) {
            list(true);
            assert_int_equal(second->ops->list(second, &fresh, true), TRACER_OK);
        }
        assert_as_read_anew();
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (block[i])
            munmap(block[i], 8 * page);
    second->ops->close(second);
    mt_snapshot_release(&fresh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_their_copies),
        cmocka_unit_test(shared_memory),
        cmocka_unit_test(a_large_sparse_file),
        cmocka_unit_test(a_child_shares),
        cmocka_unit_test(a_list_that_is_renewed_in_place),
        cmocka_unit_test(hugetlb_is_apart),
        cmocka_unit_test(words_of_hugetlb_are_no_resident_memory),
    };

    return cmocka_run_group_tests(tests, touched_begin, touched_end);
}
