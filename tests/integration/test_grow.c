/* SPDX-License-Identifier: MIT */
/* Description: this process grows and shrinks by known amounts, and the right rows move by exactly
 * these. The kernel's own numbers (smaps read here, VmSize) are the right values for sums. */
#define _GNU_SOURCE
#include "support/host.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define MIB ((size_t)1024 * 1024)
#define KIB ((size_t)1024)

static tracer *t;

static int begin(void **state)
{
    int failed = host_begin(state);

    if (failed)
        return failed;
    t = host_start(3600000);
    for (int i = 0; i < 3; i++)
        host_row(t, TRACER_TYPE_PRIVATE); /* our own first touches are over after this */
    return 0;
}

static int end(void **state)
{
    tracer_stop(t);
    return host_end(state);
}

static void *map(size_t bytes, int protection, int flags, int fd)
{
    void *p = mmap(NULL, bytes, protection, flags, fd, 0);

    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

static void private_memory(void **state)
{
    tracer_type_bytes a = host_row(t, TRACER_TYPE_PRIVATE), b;
    char *p = map(16 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

    (void)state;
    mprotect(p, 8 * MIB, PROT_READ | PROT_WRITE);
    madvise(p, 8 * MIB, MADV_NOHUGEPAGE);
    memset(p, 1, 4 * MIB);
    b = host_row(t, TRACER_TYPE_PRIVATE);
    assert_int_equal(b.size_bytes - a.size_bytes, 16 * MIB);
    assert_int_equal(b.committed_bytes - a.committed_bytes, 8 * MIB);
    assert_int_equal(b.ws_bytes - a.ws_bytes, 4 * MIB);
    assert_int_equal(b.ws_private_bytes - a.ws_private_bytes, 4 * MIB);
    assert_int_equal(b.private_bytes - a.private_bytes, 4 * MIB);
    munmap(p, 16 * MIB);
    b = host_row(t, TRACER_TYPE_PRIVATE);
    assert_int_equal(b.size_bytes, a.size_bytes);
    assert_int_equal(b.ws_bytes, a.ws_bytes);
}

static void shared_memory(void **state)
{
    tracer_type_bytes a = host_row(t, TRACER_TYPE_SHAREABLE), b;
    char *p = map(4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);

    (void)state;
    memset(p, 1, MIB);
    b = host_row(t, TRACER_TYPE_SHAREABLE);
    assert_int_equal(b.size_bytes - a.size_bytes, 4 * MIB);
    assert_int_equal(b.ws_bytes - a.ws_bytes, MIB);
    assert_int_equal(b.ws_shareable_bytes - a.ws_shareable_bytes, MIB);
    assert_int_equal(b.ws_private_bytes, a.ws_private_bytes);
    assert_int_equal(b.charged_bytes - a.charged_bytes, 4 * MIB);
    munmap(p, 4 * MIB);
}

static int make_file(size_t bytes)
{
    char path[320];
    int fd;

    snprintf(path, sizeof(path), "%s/data", host_dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    unlink(path);
    for (size_t at = 0; at < bytes; at += KIB)
        assert_int_equal(write(fd, host_dir, 256) + write(fd, host_dir, 256) +
                             write(fd, host_dir, 256) + write(fd, host_dir, 256),
                         KIB);
    return fd;
}

static void a_file_with_written_pages(void **state)
{
    tracer_type_bytes a = host_row(t, TRACER_TYPE_MAPPED_FILE), b;
    int fd = make_file(300 * KIB);
    volatile char *p = map(300 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
    unsigned sum = 0;

    (void)state;
    for (size_t at = 0; at < 300 * KIB; at += 4096)
        sum += (unsigned char)p[at];
    for (size_t at = 0; at < 8 * 4096; at += 4096)
        p[at] = (char)sum;
    b = host_row(t, TRACER_TYPE_MAPPED_FILE);
    assert_int_equal(b.size_bytes - a.size_bytes, 300 * KIB);
    assert_int_equal(b.ws_bytes - a.ws_bytes, 300 * KIB);
    assert_int_equal(b.ws_private_bytes - a.ws_private_bytes, 32 * KIB);
    assert_int_equal(b.ws_shareable_bytes - a.ws_shareable_bytes, 268 * KIB);
    munmap((void *)(uintptr_t)p, 300 * KIB);
    close(fd);
}

static void malloc_small_and_large(void **state)
{
    tracer_type_bytes a = host_row(t, TRACER_TYPE_HEAP), b;
    char *big = malloc(54280192);
    char *many[2000];

    (void)state;
    memset(big, 1, 54280192);
    b = host_row(t, TRACER_TYPE_HEAP);
    assert_int_equal(b.size_bytes - a.size_bytes, 54280192 + 4096);
    assert_int_equal(b.ws_bytes - a.ws_bytes, 54280192 + 4096);
    for (unsigned i = 0; i < 2000; i++)
        memset(many[i] = malloc(5000), 1, 5000);
    a = host_row(t, TRACER_TYPE_HEAP);
    assert_in_range(a.ws_bytes - b.ws_bytes, 2000 * 5000 - 256 * KIB, 2000 * 5016 + 256 * KIB);
    for (unsigned i = 0; i < 2000; i++)
        free(many[i]);
    a = host_row(t, TRACER_TYPE_HEAP);
    free(big);
    b = host_row(t, TRACER_TYPE_HEAP);
    assert_int_equal(a.size_bytes - b.size_bytes, 54280192 + 4096);
}

static pthread_barrier_t meet;

static void *wait_twice(void *user)
{
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    return user;
}

static void thread_stacks(void **state)
{
    tracer_type_bytes a = host_row(t, TRACER_TYPE_STACK), b;
    pthread_attr_t attributes;
    pthread_t threads[4];

    (void)state;
    pthread_barrier_init(&meet, NULL, 5);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 2 * MIB);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], &attributes, wait_twice, NULL), 0);
    pthread_barrier_wait(&meet);
    b = host_row(t, TRACER_TYPE_STACK);
    assert_int_equal(b.size_bytes - a.size_bytes, 4 * (2 * MIB + 4096));
    assert_int_equal(b.committed_bytes - a.committed_bytes, 4 * 2 * MIB);
    tracer_flush(t);
    assert_int_equal(host_ask("SELECT count(*) FROM thread WHERE last_sample IS NULL "
                              "AND stack_bytes = 2097152 + 4096")
                         .integer,
                     4);
    pthread_barrier_wait(&meet);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    host_row(t, TRACER_TYPE_STACK);
    assert_int_equal(host_ask("SELECT count(*) FROM thread WHERE last_sample IS NOT NULL "
                              "AND stack_bytes = 2097152 + 4096")
                         .integer,
                     4);
}

static void a_library_comes_and_goes(void **state)
{
    tracer_type_bytes a = host_row(t, TRACER_TYPE_IMAGE), b;
    void *library = dlopen("libutil.so.1", RTLD_NOW);

    (void)state;
    if (!library)
        library = dlopen("libresolv.so.2", RTLD_NOW);
    assert_non_null(library);
    b = host_row(t, TRACER_TYPE_IMAGE);
    assert_true(b.size_bytes > a.size_bytes);
    dlclose(library);
    b = host_row(t, TRACER_TYPE_IMAGE);
    assert_int_equal(b.size_bytes, a.size_bytes);
    assert_int_equal(host_ask("SELECT count(*) FROM module WHERE last_sample IS NOT NULL").integer,
                     1);
}

static void a_pool_of_the_hosts_own(void **state)
{
    char *p = map(8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    tracer_type_bytes b;
    uint32_t type;

    (void)state;
    madvise(p, 8 * MIB, MADV_NOHUGEPAGE);
    memset(p, 1, MIB);
    assert_int_equal(tracer_type_add(t, "pool", "a test's pool", &type), TRACER_OK);
    assert_int_equal(tracer_claim(t, p + 1, 2 * MIB, type, "pool one"), TRACER_OK);
    b = host_row(t, type);
    assert_int_equal(b.size_bytes, 2 * MIB);
    assert_int_equal(b.ws_bytes, MIB - 4096);
    assert_int_equal(tracer_unclaim(t, p, 8 * MIB), TRACER_OK);
    b = host_row(t, type);
    assert_int_equal(b.size_bytes, 0);
    munmap(p, 8 * MIB);
}

/* A short run of asked samples: three marked steps are three rows. */
static void three_marked_steps_are_three_rows(void **state)
{
    void *kept[3];
    char label[16];

    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(label, sizeof(label), "command %d", i + 1);
        assert_int_equal(tracer_mark(t, label), TRACER_OK);
        kept[i] = malloc(4 * MIB);
        memset(kept[i], 1, 4 * MIB);
        for (int k = 0; k < 5; k++)
            host_row(t, TRACER_TYPE_HEAP);
    }
    assert_int_equal(host_ask("SELECT * FROM punctuated_growth WHERE type = 'heap' "
                              "AND bytes = 4194304 + 4096 AND mark = 'command ' || step")
                         .n_rows,
                     3);
    for (int i = 0; i < 3; i++)
        free(kept[i]);
}

static void the_allocators_counters_stay_known(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        void *p = malloc(1 << 20);

        memset(p, 1, 1 << 20);
        host_row(t, TRACER_TYPE_HEAP);
        free(p);
    }
    assert_true(host_ask("SELECT count(*) FROM counter WHERE counter = 20").integer > 0);
    assert_int_equal(
        host_ask("SELECT count(*) FROM counter WHERE counter = 20 AND value IS NULL").integer, 0);
}

/* Σ of a key's values in a file of records as this thread reads it, the tracer being idle; false =
 * there is no such file. */
static bool read_records(const char *path, uint64_t *out_rss, uint64_t *out_size)
{
    static char text[16 << 20]; /* thousands of records of 700 bytes */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n;

    if (fd < 0)
        return false;
    while ((n = read(fd, text + used, sizeof(text) - used - 1)) > 0)
        used += (size_t)n;
    close(fd);
    text[used] = '\0';
    *out_rss = *out_size = 0;
    for (char *line = text; line; line = strchr(line, '\n')) {
        unsigned long long kib;

        line += *line == '\n';
        if (sscanf(line, "Rss: %llu kB", &kib) == 1)
            *out_rss += kib * 1024;
        else if (sscanf(line, "Size: %llu kB", &kib) == 1)
            *out_size += kib * 1024;
        if (!*line)
            break;
    }
    return true;
}

static void read_smaps(uint64_t *out_rss, uint64_t *out_size)
{
    assert_true(read_records("/proc/self/smaps", out_rss, out_size));
}

/* The rollup has one record for all mappings and no Size: it checks the resident sum, no more. */
static void A42_the_rollup_checks_the_resident_sum(void **state)
{
    uint64_t rss, no_size, ws = 0;
    tracer_type_bytes rows[TRACER_TYPE_CAPACITY];
    tracer_totals totals = {
        .size = sizeof(totals), .capacity = TRACER_TYPE_CAPACITY, .types = rows};

    (void)state;
    if (!read_records("/proc/self/smaps_rollup", &rss, &no_size))
        skip(); /* before Linux 4.14, and in some sandboxes */
    assert_int_equal(tracer_sample(t), TRACER_OK);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    assert_int_equal(tracer_get_totals(t, &totals), TRACER_OK);
    for (uint32_t i = 0; i < totals.n_types; i++)
        ws += rows[i].ws_bytes;
    assert_true(read_records("/proc/self/smaps_rollup", &rss, &no_size));
    assert_int_equal(ws, rss);
    assert_int_equal(no_size, 0);
}

static void sums_equal_the_kernels(void **state)
{
    uint64_t rss, size, ws = 0, mapped = 0;
    tracer_type_bytes rows[TRACER_TYPE_CAPACITY];
    tracer_totals totals = {
        .size = sizeof(totals), .capacity = TRACER_TYPE_CAPACITY, .types = rows};

    (void)state;
    read_smaps(&rss, &size);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    read_smaps(&rss, &size);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    assert_int_equal(tracer_get_totals(t, &totals), TRACER_OK);
    for (uint32_t i = 0; i < totals.n_types; i++) {
        ws += rows[i].ws_bytes;
        mapped += rows[i].type == TRACER_TYPE_FREE ? 0 : rows[i].size_bytes;
    }
    read_smaps(&rss, &size);
    assert_int_equal(ws, rss);
    assert_int_equal(mapped, size - 4096 * (size > mapped)); /* [vsyscall] where there is one */
    assert_int_equal(totals.flags & ~512u, 0);
}

/* More regions than the first lists have room for: they grow, and nothing is cut. */
static void thousands_of_regions(void **state)
{
    enum { PAIRS = 1500 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = map(2 * PAIRS * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

    for (size_t i = 0; i < PAIRS; i++) {
        p[2 * i * page] = 1;
        mprotect(p + (2 * i + 1) * page, page, PROT_READ);
    }
    for (int i = 0; i < 3; i++) /* until the tracer's own memory has grown for them */
        assert_int_equal(tracer_sample(t), TRACER_OK);
    sums_equal_the_kernels(state);
    munmap(p, 2 * PAIRS * page);
    sums_equal_the_kernels(state);
}

static void an_idle_process_does_not_grow(void **state)
{
    tracer_type_bytes a = host_row(t, TRACER_TYPE_TRACER), b;
    int64_t rows;

    (void)state;
    for (int i = 0; i < 50; i++)
        host_row(t, TRACER_TYPE_TRACER);
    b = host_row(t, TRACER_TYPE_TRACER);
    assert_int_equal(b.ws_bytes, a.ws_bytes);
    assert_int_equal(b.size_bytes, a.size_bytes);
    rows = host_ask("SELECT count(*) FROM delta WHERE sample > (SELECT max(id) - 20 FROM sample) "
                    "AND type NOT IN ('heap', 'page_table') "
                    "AND (size <> 0 OR committed <> 0 OR ws <> 0 OR private <> 0)")
               .integer;
    assert_int_equal(rows, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(HOST_EXACT(private_memory)),
        T(shared_memory),
        T(a_file_with_written_pages),
        T(HOST_EXACT(malloc_small_and_large)),
        T(thread_stacks),
        T(a_library_comes_and_goes),
        T(a_pool_of_the_hosts_own),
        T(HOST_EXACT(the_allocators_counters_stay_known)),
        T(HOST_EXACT(three_marked_steps_are_three_rows)),
        T(HOST_EXACT(A42_the_rollup_checks_the_resident_sum)),
        T(HOST_EXACT(sums_equal_the_kernels)),
        T(HOST_EXACT(thousands_of_regions)),
        T(HOST_EXACT(an_idle_process_does_not_grow)),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
