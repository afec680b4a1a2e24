/* SPDX-License-Identifier: MIT */
/* Description: malloc's memory of this process against mallinfo2; a child seen from outside. */
#define _GNU_SOURCE
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/memory.h"
#include "support/live_claims.h"

/* ---- malloc ---- */

static void malloc_is_heap_as_mallinfo_says(void **state)
{
    size_t own_bytes = 512 * 1024;
    void *own, *blocks[8], *small;
    struct mallinfo2 m;

    (void)state;
    NEEDS_GLIBC_MALLOC();
    own = malloc(own_bytes);
    small = malloc(64);
    for (int i = 0; i < 8; i++)
        blocks[i] = malloc((size_t)(i + 1) * MIB);
    start_workers(own, own_bytes);
    look(0);
    m = mallinfo2();
    assert_string_equal(text(owner_of(small)->owner), "brk heap");
    for (int i = 0; i < 8; i++) {
        const struct mt_claim *c = owner_of((char *)blocks[i] + 5000);

        assert_non_null(c);
        assert_string_equal(text(c->owner), "malloc block");
        assert_int_equal(c->end - c->base, (uint64_t)(i + 1) * MIB + 4096);
        assert_int_equal(c->flags, MT_CLAIM_APART);
    }
    for (int i = 0; i < N_THREADS; i++) {
        const struct mt_claim *c = owner_of(workers[i].small);

        assert_non_null(c);
        assert_int_equal(c->type, MT_TYPE_HEAP);
    }
    assert_int_equal(accessible_bytes_of("malloc block"), m.hblkhd);
    assert_int_equal(accessible_bytes_of("brk heap") + accessible_bytes_of("malloc arena"),
                     m.arena);
    stop_workers();
    for (int i = 0; i < 8; i++)
        free(blocks[i]);
    free(own);
    free(small);
}

static int n_found(void *const *blocks, int n)
{
    int found = 0;

    for (int i = 0; i < n; i++) {
        const struct mt_claim *c = owner_of((char *)blocks[i] + 5000);

        found += c && !strcmp(text(c->owner), "malloc block");
    }
    return found;
}

/* Without time each look finds some more of one region's blocks, and keeps what it had. */
static void a_long_chain_is_read_over_several_looks(void **state)
{
    enum { BLOCKS = 3000 };
    static void *blocks[BLOCKS];
    int before = 0, now = 0, looks;

    (void)state;
    NEEDS_GLIBC_MALLOC();
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(256 * 1024);
    f.set.deadline_ns = 1;
    for (looks = 0; looks < 20 && (looks == 0 || f.set.partial); looks++) {
        look(0);
        now = n_found(blocks, BLOCKS);
        assert_true(now > before || before == BLOCKS);
        assert_true(f.set.partial || now == BLOCKS);
        before = now;
    }
    assert_int_equal(now, BLOCKS);
    assert_in_range(looks, 2, 6);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void blocks_that_come_and_go_are_followed(void **state)
{
    void *blocks[200];

    (void)state;
    NEEDS_GLIBC_MALLOC();
    for (int round = 0; round < 12; round++) {
        struct mallinfo2 m;

        for (int i = 0; i < 200; i++)
            blocks[i] = malloc(200 * 1024 + (size_t)(i * 37 + round * 11) % 50 * 4096);
        for (int i = round % 3; i < 200; i += 3) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
        look(0);
        m = mallinfo2();
        for (int i = 0; i < 200; i++) {
            const struct mt_claim *c = blocks[i] ? owner_of((char *)blocks[i] + 100) : NULL;

            assert_true(!blocks[i] || (c && c->type == MT_TYPE_HEAP));
        }
        assert_int_equal(accessible_bytes_of("malloc block"), m.hblkhd);
        for (int i = 0; i < 200; i++)
            free(blocks[i]);
    }
}

static void counters_are_mallinfos(void **state)
{
    struct mt_counters counters = {.known = 0};
    void *block;
    struct mallinfo2 m;

    (void)state;
    NEEDS_GLIBC_MALLOC();
    block = malloc(3 * MIB);
    look(0);
    mt_claimer_counters(f.claimer, &counters);
    m = mallinfo2();
    assert_true(counters.known >> MT_COUNTER_HEAP_IN_USE & 1);
    assert_int_equal(counters.value[MT_COUNTER_HEAP_IN_USE], m.uordblks + m.hblkhd);
    assert_int_equal(counters.value[MT_COUNTER_HEAP_MAPPED_BLOCKS], m.hblks);
    assert_int_equal(counters.value[MT_COUNTER_HEAP_SYSTEM], m.arena);
    free(block);
}

/* ---- disturbing nothing ---- */

static void looking_makes_no_page_present(void **state)
{
    size_t bytes = 64 * MIB;
    char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char resident[16384];

    (void)state;
    assert_ptr_not_equal(area, MAP_FAILED);
    for (int i = 0; i < 5; i++)
        look(0);
    assert_int_equal(mincore(area, bytes, resident), 0);
    for (size_t i = 0; i < bytes / 4096; i++)
        assert_int_equal(resident[i] & 1, 0);
    munmap(area, bytes);
}

static void own_blocks_are_the_tracers(void **state)
{
    void *block = mt_memory_alloc(100000);
    const struct mt_claim *c;

    (void)state;
    look(0);
    mt_claim_own(&f.set, f.strings);
    c = owner_of(block);
    assert_int_equal(c->type, MT_TYPE_TRACER);
    assert_int_equal(c->rank, MT_RANK_TRACER);
    mt_memory_free(block);
}

/* ---- from outside ---- */

struct shown {
    void *block, *stack;
    void *volatile arena_memory; /* written last */
    uint32_t tid;
};

static void *child_thread(void *user)
{
    struct shown *s = user;

    s->stack = &s;
    s->tid = (uint32_t)syscall(SYS_gettid);
    s->arena_memory = malloc(1000);
    for (;;)
        pause();
    return NULL;
}

static pid_t start_child(int *out_pipe)
{
    int ends[2];
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        static struct shown s;
        pthread_t id;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        s.block = malloc(5 * MIB);
        pthread_create(&id, NULL, child_thread, &s);
        while (!s.arena_memory)
            usleep(1000);
        if (write(ends[1], &s, sizeof(s)) != sizeof(s))
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    *out_pipe = ends[0];
    return pid;
}

static void another_process_is_seen_from_outside(void **state)
{
    int input;
    pid_t pid;
    struct shown s;
    const struct mt_claim *c;

    (void)state;
    NEEDS_GLIBC_MALLOC();
    pid = start_child(&input);
    assert_int_equal(read(input, &s, sizeof(s)), sizeof(s));
    close(input);
    assert_int_equal(open_for((uint32_t)pid), 0);
    look((uint32_t)pid);
    c = owner_of((char *)s.block + 4096);
    assert_non_null(c);
    assert_string_equal(text(c->owner), "malloc block");
    assert_int_equal(c->end - c->base, 5 * MIB + 4096);
    c = owner_of(s.arena_memory);
    assert_non_null(c);
    assert_string_equal(text(c->owner), "malloc arena");
    c = owner_of(s.stack);
    assert_non_null(c);
    assert_int_equal(c->thread, s.tid);
    assert_int_equal(c->confidence, MT_CONFIDENCE_A);
    assert_int_equal(f.set.n_threads, 2);
    assert_true(f.set.n_modules >= 3);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(mt_claimer_collect(f.claimer, &f.snapshot, &f.set), 0);
    assert_int_equal(f.set.n_threads, 0);
    end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(malloc_is_heap_as_mallinfo_says, begin, end),
        cmocka_unit_test_setup_teardown(blocks_that_come_and_go_are_followed, begin, end),
        cmocka_unit_test_setup_teardown(a_long_chain_is_read_over_several_looks, begin, end),
        cmocka_unit_test_setup_teardown(counters_are_mallinfos, begin, end),
        cmocka_unit_test_setup_teardown(looking_makes_no_page_present, begin, end),
        cmocka_unit_test_setup_teardown(own_blocks_are_the_tracers, begin, end),
        cmocka_unit_test(another_process_is_seen_from_outside),
    };

    mallopt(M_MMAP_THRESHOLD, 128 * 1024); /* else it moves with what is freed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
