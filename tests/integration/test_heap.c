/* SPDX-License-Identifier: MIT */
/* Description: the heap that is found from outside the allocator equals what the allocator says of
 * itself (mallinfo2: arenas plus blocks mapped one by one), after churn, with one thread and with
 * many; memory that only looks like the allocator's is not called heap. */
#define _GNU_SOURCE
#include "support/host.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define SLOTS 2048
#define MOST_THREADS 64

static tracer *t;

static int begin(void **state)
{
    int failed = host_begin(state);

    if (failed)
        return failed;
    t = host_start(3600000);
    host_row(t, TRACER_TYPE_HEAP);
    return 0;
}

static int end(void **state)
{
    tracer_stop(t);
    return host_end(state);
}

struct worker {
    pthread_t id;
    unsigned seed;
    size_t live_bytes;
    void *slots[SLOTS];
};

static struct worker workers[MOST_THREADS];
static pthread_barrier_t meet;

static unsigned next(struct worker *w, unsigned below)
{
    w->seed = w->seed * 1103515245u + 12345u;
    return (w->seed >> 8) % below;
}

/* One in twenty is larger than the threshold from which blocks are mapped one by one. */
static size_t random_size(struct worker *w)
{
    switch (next(w, 20)) {
    case 0: return 140 * KIB + next(w, 400 * KIB);
    case 1:
    case 2:
    case 3: return 4 * KIB + next(w, 60 * KIB);
    default: return 16 + next(w, 2048);
    }
}

static void churn(struct worker *w)
{
    size_t live = 0;

    for (unsigned i = 0; i < 20000 || live < w->live_bytes; i++) {
        unsigned at = next(w, SLOTS);
        size_t bytes = random_size(w);

        if (w->slots[at])
            live -= malloc_usable_size(w->slots[at]);
        free(w->slots[at]);
        if (live >= w->live_bytes + MIB)
            bytes = 16;
        else if (i > 20000)
            bytes += w->live_bytes / SLOTS;
        w->slots[at] = malloc(bytes);
        memset(w->slots[at], 1, bytes);
        live += malloc_usable_size(w->slots[at]);
    }
}

static void *work(void *user)
{
    struct worker *w = user;

    churn(w);
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    for (unsigned i = 0; i < SLOTS; i++)
        free(w->slots[i]);
    return NULL;
}

/* What the tracer's own database holds is in an arena of its own, which is not the host's heap;
 * what a shrunken arena gave back is reserved (flag 8) and not in malloc's count. */
static int64_t arenas_and_blocks(void)
{
    return host_ask("SELECT sum(bytes) FROM region_now WHERE NOT flags & 8 AND (type = 'heap' OR "
                    "type = 'tracer' AND owner LIKE '%malloc arena')")
        .integer;
}

static void expect_heap_equals_mallinfo(void)
{
    tracer_type_bytes heap;
    struct mallinfo2 m;
    int64_t seen, said;

    host_row(t, TRACER_TYPE_HEAP);
    heap = host_row(t, TRACER_TYPE_HEAP);
    m = mallinfo2();
    seen = arenas_and_blocks();
    said = (int64_t)(m.arena + m.hblkhd);
    print_message("%lld bytes in %llu intervals, malloc says %lld\n", (long long)seen,
                  (unsigned long long)heap.n_blocks, (long long)said);
    assert_in_range(seen - said + 4096 * (int64_t)heap.n_blocks, 0, 2 * 4096 * heap.n_blocks);
}

static void churn_with(unsigned n_threads, size_t live_bytes)
{
    pthread_barrier_init(&meet, NULL, n_threads + 1);
    for (unsigned i = 0; i < n_threads; i++) {
        memset(&workers[i], 0, sizeof(workers[i]));
        workers[i].seed = i + 1;
        workers[i].live_bytes = live_bytes / n_threads;
        assert_int_equal(pthread_create(&workers[i].id, NULL, work, &workers[i]), 0);
    }
    pthread_barrier_wait(&meet);
    expect_heap_equals_mallinfo();
    pthread_barrier_wait(&meet);
    for (unsigned i = 0; i < n_threads; i++)
        pthread_join(workers[i].id, NULL);
    expect_heap_equals_mallinfo();
    pthread_barrier_destroy(&meet);
}

static void one_thread_1_mb(void **state)
{
    (void)state;
    churn_with(1, MIB);
}

static void one_thread_1_gb(void **state)
{
    (void)state;
    churn_with(1, 1024 * MIB);
}

static void many_threads_64_mb(void **state)
{
    (void)state;
    churn_with(MOST_THREADS, 64 * MIB);
}

static void many_threads_1_gb(void **state)
{
    (void)state;
    churn_with(MOST_THREADS, 1024 * MIB);
}

/* Words as the allocator writes them, in memory that is not the allocator's. */
static void lookalikes_are_not_heap(void **state)
{
    tracer_type_bytes a = host_row(t, TRACER_TYPE_HEAP), b;
    char *arena =
        mmap(NULL, 192 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *line = (char *)(((uintptr_t)arena + 64 * MIB - 1) & ~(uintptr_t)(64 * MIB - 1));
    char *chunk = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    mprotect(line, MIB, PROT_READ | PROT_WRITE);
    ((uint64_t *)(void *)line)[0] = (uint64_t)(uintptr_t)line + 0x30;
    ((uint64_t *)(void *)line)[2] = 123;
    ((uint64_t *)(void *)chunk)[1] = 8 * MIB | 2;
    b = host_row(t, TRACER_TYPE_HEAP);
    assert_int_equal(b.size_bytes, a.size_bytes);
    munmap(arena, 192 * MIB);
    munmap(chunk, 4 * MIB);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(HOST_EXACT(one_thread_1_mb)),         T(HOST_EXACT(one_thread_1_gb)),
        T(HOST_EXACT(many_threads_64_mb)),      T(HOST_EXACT(many_threads_1_gb)),
        T(HOST_EXACT(lookalikes_are_not_heap)),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
