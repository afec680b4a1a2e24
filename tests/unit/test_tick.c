/* SPDX-License-Identifier: MIT */
/* Description: what a look says of memory hangs neither on how deep it looks nor on how many names
 * there were before, and a slow reading of the allocator's counters does not end them. The right
 * values are the flags that the kernel prints in smaps, and what the test mapped. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#ifdef __GLIBC__
#include <dlfcn.h>
#include <malloc.h>
#endif

#include "base/error.h"
#include "base/memory.h"
#include "sampler/sampler.h"
#include "sampler/stages.h"
#include "support/folder.h"

#define MIB ((size_t)1 << 20)
#define N_NAMES 200

static struct tracer *t;
static size_t page;

static int begin(void **state)
{
    (void)state;
    page = mt_os_page_bytes();
    t = mt_memory_alloc(sizeof(*t));
    if (!t || folder_make() || mt_os_lock_new(&t->lock))
        return -1;
    tracer_options_init(&t->options, sizeof(t->options));
    t->options.interval_ms = 1000;
    t->options.commit_ms = 1000;
    t->options.budget_ns = 1000000000; /* no look may stop halfway */
    snprintf(t->path, sizeof(t->path), "%s/tick.db", folder);
    t->start_monotonic_ns = mt_os_monotonic_ns();
    t->start_wall_ns = mt_os_wall_ns();
    mt_claim_symbols_find(&t->symbols);
    return mt_stages_open(t);
}

static int end(void **state)
{
    int error = mt_stages_close(t, "stopped", "");

    (void)state;
    mt_os_lock_free(t->lock);
    mt_memory_free(t);
    return error | folder_remove();
}

/* A tick that looks as deep as this and no deeper, but for the first. */
static void tick(enum mt_depth depth)
{
    const struct mt_tick_request request = {.at_least = (uint8_t)depth};
    int64_t full_ns = t->work->last_full_ns;

    t->work->credit_ns = 0; /* ticks follow each other closely: none may be put off */
    if (mt_tick(t, &request) || mt_recorder_commit(t->work->recorder))
        fail_msg("%s", mt_error_detail());
    assert_int_equal(t->work->source_error, 0);
    if (full_ns)
        assert_int_equal(t->work->last_full_ns != full_ns, depth == MT_DEPTH_FULL);
}

static uint64_t bytes_of(enum mt_type type)
{
    return (uint64_t)t->levels.type[type].value[MT_COLUMN_SIZE];
}

static enum mt_type type_at(const void *p)
{
    const struct mt_interval_list *list = &t->work->intervals[1 - t->work->now];

    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].base <= (uintptr_t)p && (uintptr_t)p < list->items[i].end)
            return (enum mt_type)list->items[i].type;
    fail_msg("nothing at %p", p);
    return MT_TYPE_FREE;
}

/* ---- flags that only smaps has ---- */

/* Bytes of all mappings that the kernel calls stacks: VmFlags gd. */
static uint64_t kernel_stack_bytes(void)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    unsigned long long base, stop;
    uint64_t size = 0, sum = 0;
    char line[512];

    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%llx-%llx ", &base, &stop) == 2)
            size = stop - base;
        else if (!strncmp(line, "VmFlags:", 8) && strstr(line, " gd"))
            sum += size;
    }
    if (f)
        fclose(f);
    return sum;
}

static void assert_stack(const void *p, enum mt_depth depth)
{
    tick(depth);
    assert_int_equal(type_at(p), MT_TYPE_STACK);
    assert_int_equal(bytes_of(MT_TYPE_STACK), kernel_stack_bytes());
}

static void a_stack_is_one_at_every_depth(void **state)
{
    const int rights = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
    char *space = mmap(NULL, 8 * MIB, PROT_NONE, kind, -1, 0), *p = space + 4 * MIB;
    uint64_t before;

    (void)state;
    assert_true(space != MAP_FAILED);
    tick(MT_DEPTH_FULL);
    before = bytes_of(MT_TYPE_STACK);
    assert_true(mmap(p, 4 * MIB, rights, kind | MAP_GROWSDOWN | MAP_FIXED, -1, 0) == p);
    munmap(p - 16 * page, 16 * page); /* room to grow, which the kernel gives to nobody */
    memset(p, 1, 4 * MIB);
    for (unsigned i = 0; i < 3; i++) {
        assert_stack(p, MT_DEPTH_FULL);
        assert_stack(p, MT_DEPTH_PAGES);
        assert_stack(p, MT_DEPTH_WHOLE);
        assert_stack(p, MT_DEPTH_PAGES);
    }
    assert_true(bytes_of(MT_TYPE_STACK) >= before + 4 * MIB);
    *(volatile char *)(p - page) = 1; /* below it: the kernel lets it grow */
    assert_stack(p - page, MT_DEPTH_PAGES);
    assert_stack(p - page, MT_DEPTH_FULL);
    munmap(p - page, 4 * MIB + page);
    assert_true(mmap(p, 2 * MIB, rights, kind | MAP_FIXED, -1, 0) == p);
    tick(MT_DEPTH_PAGES);
    assert_int_equal(type_at(p), MT_TYPE_PRIVATE);
    assert_int_equal(bytes_of(MT_TYPE_STACK), kernel_stack_bytes());
    munmap(p, 2 * MIB);
    munmap(space, 4 * MIB - 16 * page);
}

/* ---- a list that is kept ---- */

static bool is_kept(void)
{
    return (t->levels_flags & MT_SAMPLE_LIST_KEPT) != 0;
}

static char *map_bytes(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(p != MAP_FAILED);
    return p;
}

static uint64_t resident_of(enum mt_type type)
{
    return (uint64_t)t->levels.type[type].value[MT_COLUMN_WS];
}

/* Looks until the list is one that may be kept, at the host's silence. False: it never is, for want
 * of PROCMAP_QUERY, or under a sanitizer. */
static bool list_may_be_kept(void)
{
    tick(MT_DEPTH_FULL);
    tick(MT_DEPTH_PAGES);
    assert_false(is_kept());
    for (int i = 0; i < 20 && !is_kept(); i++)
        tick(MT_DEPTH_PAGES);
    return is_kept();
}

/* A page of our own that came in between has the list read, so one of several must be kept. */
static void one_mapping_needs_no_list(void **state)
{
    int n_kept = 0;

    (void)state;
    for (int i = 0; i < 10; i++) {
        uint64_t size, resident;
        char *p;

        if (!list_may_be_kept())
            skip();
        size = bytes_of(MT_TYPE_PRIVATE);
        resident = resident_of(MT_TYPE_PRIVATE);
        p = map_bytes(5 * MIB);
        memset(p, 1, 3 * MIB);
        tick(MT_DEPTH_PAGES);
        n_kept += is_kept();
        assert_int_equal(type_at(p), MT_TYPE_PRIVATE);
        assert_int_equal(bytes_of(MT_TYPE_PRIVATE), size + 5 * MIB);
        assert_int_equal(resident_of(MT_TYPE_PRIVATE), resident + 3 * MIB);
        munmap(p, 5 * MIB);
        tick(MT_DEPTH_WHOLE);
        assert_false(is_kept());
        assert_int_equal(bytes_of(MT_TYPE_PRIVATE), size);
    }
    assert_true(n_kept > 0);
}

/* The sizes are what they were; what is resident is not. */
static void a_kept_list_that_is_wrong_is_read(void **state)
{
    char *space = mmap(NULL, 16 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *from = space + 2 * MIB, *to = space + 9 * MIB;
    uint64_t resident;

    (void)state;
    munmap(space, 16 * MIB);
    assert_true(mmap(from, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                     -1, 0) == from);
    memset(from, 1, MIB);
    if (!list_may_be_kept())
        skip();
    resident = resident_of(MT_TYPE_PRIVATE);
    assert_true(mremap(from, 4 * MIB, 4 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
    memset(to, 1, 3 * MIB);
    tick(MT_DEPTH_PAGES);
    assert_false(is_kept());
    assert_int_equal(type_at(to), MT_TYPE_PRIVATE);
    assert_int_equal(resident_of(MT_TYPE_PRIVATE), resident + 2 * MIB);
    munmap(to, 4 * MIB);
}

static char *map_of(int protection, int sharing)
{
    char *p = mmap(NULL, 5 * MIB, protection, sharing | MAP_ANONYMOUS, -1, 0);

    assert_true(p != MAP_FAILED);
    return p;
}

/* Of one size, and of kinds that no sum tells apart; then the host does nothing at all. */
static void a_silent_host_is_told_what_no_sum_shows(void **state)
{
    char *block = map_of(PROT_READ, MAP_PRIVATE), *p = map_bytes(MIB);
    uint64_t before;

    (void)state;
    for (int i = 0; i < 10; i++) {
        if (!list_may_be_kept())
            skip();
        before = bytes_of(MT_TYPE_SHAREABLE);
        munmap(block, 5 * MIB);
        block = map_of(PROT_READ | PROT_WRITE, MAP_SHARED);
        p[(size_t)i * page] = 1;
        tick(MT_DEPTH_PAGES);
        for (int j = 0; j < 40 && bytes_of(MT_TYPE_SHAREABLE) == before; j++) {
            usleep(50000);
            tick(MT_DEPTH_COUNTERS);
        }
        assert_int_equal(bytes_of(MT_TYPE_SHAREABLE), before + 5 * MIB);
        munmap(block, 5 * MIB);
        block = map_of(PROT_READ, MAP_PRIVATE);
    }
    munmap(block, 5 * MIB);
    munmap(p, MIB);
}

/* ---- more names than there is room for ---- */

static void fill_names(void)
{
    for (unsigned i = 0; !mt_strings_has_refused(t->work->strings); i++)
        mt_strings_addf(t->work->strings, "connection %u", i);
}

static char *map_page(int fd, int sharing)
{
    char *p;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)page), 0);
    p = mmap(NULL, page, PROT_READ, sharing, fd, 0);
    assert_true(p != MAP_FAILED);
    close(fd);
    return p;
}

static char *map_memfd(int i)
{
    char name[32];

    snprintf(name, sizeof(name), "queue %d", i);
    return map_page(memfd_create(name, MFD_CLOEXEC), MAP_SHARED);
}

static char *map_file(int i)
{
    char path[200];
    char *p;

    snprintf(path, sizeof(path), "%s/part.%d", folder, i);
    p = map_page(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), MAP_PRIVATE);
    unlink(path);
    return p;
}

static void types_need_no_room_for_names(void **state)
{
    char *memfd[N_NAMES], *file[N_NAMES];
    uint64_t shareable, mapped_file;

    (void)state;
    tick(MT_DEPTH_FULL);
    shareable = bytes_of(MT_TYPE_SHAREABLE);
    mapped_file = bytes_of(MT_TYPE_MAPPED_FILE);
    fill_names();
    tick(MT_DEPTH_PAGES);
    assert_int_equal(t->levels_flags, 0); /* all that is mapped has its name */
    assert_string_equal(t->problem, "");
    for (int i = 0; i < N_NAMES; i++) {
        memfd[i] = map_memfd(i);
        file[i] = map_file(i);
    }
    for (enum mt_depth depth = MT_DEPTH_PAGES; depth <= MT_DEPTH_FULL; depth++) {
        tick(depth);
        assert_int_equal(bytes_of(MT_TYPE_SHAREABLE) - shareable, N_NAMES * page);
        assert_int_equal(bytes_of(MT_TYPE_MAPPED_FILE) - mapped_file, N_NAMES * page);
        assert_int_equal(t->levels_flags, MT_SAMPLE_TRUNCATED);
        assert_non_null(strstr(t->problem, "names"));
    }
    for (int i = 0; i < N_NAMES; i++) {
        munmap(memfd[i], page);
        munmap(file[i], page);
    }
    tick(MT_DEPTH_PAGES);
    assert_int_equal(t->levels_flags, 0);
}

/* ---- the allocator's counters ---- */

#ifdef __GLIBC__
static unsigned n_readings;
static bool waits;

/* malloc's own, and how often it was asked. */
__attribute__((visibility("default"))) struct mallinfo2 mallinfo2(void)
{
    union {
        void *symbol;
        struct mallinfo2 (*call)(void);
    } real = {.symbol = dlsym(RTLD_NEXT, "mallinfo2")};

    n_readings++;
    if (waits)
        usleep(50000); /* for a lock of the host, or for a core */
    return real.call();
}

static void counters_go_on_after_one_that_waited(void **state)
{
    unsigned before;

    (void)state;
    t->options.interval_ms = 1;
    n_readings = 0;
    waits = true;
    tick(MT_DEPTH_PAGES);
    waits = false;
    if (!n_readings)
        skip(); /* another allocator, or a sanitizer's */
    before = n_readings;
    for (int i = 0; i < 100; i++) {
        usleep(1000);
        tick(MT_DEPTH_PAGES);
    }
    assert_true(n_readings >= before + 3); /* of ten; 50 s had to pass for the first */
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stack_is_one_at_every_depth, begin, end),
        cmocka_unit_test_setup_teardown(one_mapping_needs_no_list, begin, end),
        cmocka_unit_test_setup_teardown(a_kept_list_that_is_wrong_is_read, begin, end),
        cmocka_unit_test_setup_teardown(a_silent_host_is_told_what_no_sum_shows, begin, end),
        cmocka_unit_test_setup_teardown(types_need_no_room_for_names, begin, end),
#ifdef __GLIBC__
        cmocka_unit_test_setup_teardown(counters_go_on_after_one_that_waited, begin, end),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
