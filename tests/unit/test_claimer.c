/* SPDX-License-Identifier: MIT */
/* Description: the claims about this process, and about a child from outside, against what the C
 * library and the loader say themselves. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "claim/claim.h"
#include "support/live_maps.h"

#define N_THREADS 6
#define MIB (UINT64_C(1) << 20)

struct fixture {
    struct mt_strings *strings;
    struct mt_snapshot snapshot;
    struct mt_claim_set set;
    struct mt_claimer *claimer;
};

static struct fixture f;

static int open_for(uint32_t pid)
{
    if (mt_strings_new(8192, 1 << 20, &f.strings) ||
        mt_snapshot_init(&f.snapshot, f.strings, 8192) ||
        mt_claim_set_init(&f.set, 16384, 1024, 1024))
        return -1;
    return mt_claimer_open(pid, f.strings, &f.claimer);
}

static int begin(void **state)
{
    (void)state;
    return open_for(0);
}

static int end(void **state)
{
    (void)state;
    mt_claimer_close(f.claimer);
    mt_claim_set_release(&f.set);
    mt_snapshot_release(&f.snapshot);
    mt_strings_free(f.strings);
    return 0;
}

static void look(uint32_t pid)
{
    assert_true(live_maps_read(pid, &f.snapshot));
    assert_int_equal(mt_claimer_collect(f.claimer, &f.snapshot, &f.set), 0);
    assert_false(f.set.truncated);
}

static const char *text(uint32_t id)
{
    return mt_strings_get(f.strings, id, NULL);
}

/* The claim of the highest rank over an address, as the overlay decides. */
static const struct mt_claim *owner_of(const void *p)
{
    uint64_t address = (uint64_t)(uintptr_t)p;
    const struct mt_claim *best = NULL;

    for (uint32_t i = 0; i < f.set.n_claims; i++) {
        const struct mt_claim *c = &f.set.claims[i];

        if (c->base <= address && address < c->end && (!best || c->rank >= best->rank))
            best = c;
    }
    return best;
}

static uint64_t accessible_bytes_of(const char *owner)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < f.set.n_claims; i++)
        if (!strcmp(text(f.set.claims[i].owner), owner) &&
            !(f.set.claims[i].flags & MT_CLAIM_RESERVED))
            sum += f.set.claims[i].end - f.set.claims[i].base;
    return sum;
}

/* ---- threads ---- */

struct worker {
    pthread_t id;
    uint32_t tid;
    void *stack, *small;
    size_t stack_bytes, guard_bytes;
};

static struct worker workers[N_THREADS];
static pthread_barrier_t ready, done;

static void *work(void *user)
{
    struct worker *w = user;
    pthread_attr_t a;

    w->tid = (uint32_t)syscall(SYS_gettid);
    pthread_getattr_np(pthread_self(), &a);
    pthread_attr_getstack(&a, &w->stack, &w->stack_bytes);
    pthread_attr_getguardsize(&a, &w->guard_bytes);
    pthread_attr_destroy(&a);
    w->small = malloc(100);
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&done);
    free(w->small);
    return NULL;
}

/* Default, small, without a guard, large guard, and two in memory of the program's own. */
static void start_workers(void *own, size_t own_bytes)
{
    pthread_barrier_init(&ready, NULL, N_THREADS + 1);
    pthread_barrier_init(&done, NULL, N_THREADS + 1);
    for (int i = 0; i < N_THREADS; i++) {
        pthread_attr_t a;

        pthread_attr_init(&a);
        if (i == 1 || i == 2)
            pthread_attr_setstacksize(&a, 128 * 1024);
        if (i == 2)
            pthread_attr_setguardsize(&a, 0);
        if (i == 3)
            pthread_attr_setguardsize(&a, 64 * 1024);
        if (i >= 4)
            pthread_attr_setstack(&a, (char *)own + (size_t)(i - 4) * own_bytes / 2,
                                  own_bytes / 2);
        assert_int_equal(pthread_create(&workers[i].id, &a, work, &workers[i]), 0);
        pthread_setname_np(workers[i].id, i == 0 ? "first worker" : "worker");
        pthread_attr_destroy(&a);
    }
    pthread_barrier_wait(&ready);
}

static void stop_workers(void)
{
    pthread_barrier_wait(&done);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(workers[i].id, NULL);
    pthread_barrier_destroy(&ready);
    pthread_barrier_destroy(&done);
}

static const struct mt_thread *thread_of(uint32_t tid)
{
    for (uint32_t i = 0; i < f.set.n_threads; i++)
        if (f.set.threads[i].tid == tid)
            return &f.set.threads[i];
    return NULL;
}

static void check_worker(const struct worker *w)
{
    const struct mt_thread *t = thread_of(w->tid);
    uint64_t top = (uint64_t)(uintptr_t)w->stack + w->stack_bytes;

    assert_non_null(t);
    assert_int_equal(t->stack_base + t->stack_bytes, top);
    assert_int_equal(t->stack_base + t->guard_bytes, (uint64_t)(uintptr_t)w->stack);
    assert_true(t->start_ticks > 0);
}

static void threads_have_their_stacks(void **state)
{
    size_t own_bytes = 512 * 1024;
    void *own = malloc(own_bytes);
    const struct mt_claim *c;

    (void)state;
    start_workers(own, own_bytes);
    look(0);
    assert_int_equal(f.set.n_threads, N_THREADS + 1);
    for (int i = 0; i < N_THREADS; i++)
        check_worker(&workers[i]);
    for (uint32_t i = 1; i < f.set.n_threads; i++)
        assert_true(f.set.threads[i - 1].tid < f.set.threads[i].tid);
    assert_string_equal(text(thread_of(workers[0].tid)->name), "first worker");
    c = owner_of((char *)workers[0].stack + 8192);
    assert_int_equal(c->type, MT_TYPE_STACK);
    assert_int_equal(c->thread, workers[0].tid);
    assert_string_equal(text(c->owner), "thread first worker");
    assert_int_equal(c->confidence, MT_CONFIDENCE_A);
    c = owner_of((char *)workers[0].stack - 1);
    assert_int_equal(c->flags, MT_CLAIM_GUARD);
    c = owner_of((char *)workers[4].stack + 4096);
    assert_int_equal(c->thread, workers[4].tid);
    stop_workers();
    free(own);
}

static void ended_threads_leave_cached_stacks(void **state)
{
    size_t own_bytes = 512 * 1024;
    void *own = malloc(own_bytes);
    const struct mt_claim *c;

    (void)state;
    start_workers(own, own_bytes);
    look(0);
    stop_workers();
    look(0);
    assert_int_equal(f.set.n_threads, 1);
    c = owner_of((char *)workers[0].stack + 8192);
    assert_non_null(c);
    assert_int_equal(c->type, MT_TYPE_STACK);
    assert_string_equal(text(c->owner), "cached stack");
    assert_true(c->flags & MT_CLAIM_CACHED);
    c = owner_of((char *)own + 4096);
    assert_true(!c || c->type == MT_TYPE_HEAP);
    free(own);
}

static void the_main_stack_is_the_main_threads(void **state)
{
    int local = 0;
    const struct mt_claim *c;

    (void)state;
    look(0);
    c = owner_of(&local);
    assert_non_null(c);
    assert_int_equal(c->type, MT_TYPE_STACK);
    assert_int_equal(c->thread, (uint32_t)getpid());
}

/* ---- malloc ---- */

static void malloc_is_heap_as_mallinfo_says(void **state)
{
    size_t own_bytes = 512 * 1024;
    void *own = malloc(own_bytes), *blocks[8], *small = malloc(64);
    struct mallinfo2 m;

    (void)state;
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

static void blocks_that_come_and_go_are_followed(void **state)
{
    void *blocks[200];

    (void)state;
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
    struct mt_counters counters = { .known = 0 };
    void *block = malloc(3 * MIB);
    struct mallinfo2 m;

    (void)state;
    look(0);
    mt_claimer_counters(f.claimer, &counters);
    m = mallinfo2();
    assert_true(counters.known >> MT_COUNTER_HEAP_IN_USE & 1);
    assert_int_equal(counters.value[MT_COUNTER_HEAP_IN_USE], m.uordblks + m.hblkhd);
    assert_int_equal(counters.value[MT_COUNTER_HEAP_MAPPED_BLOCKS], m.hblks);
    assert_int_equal(counters.value[MT_COUNTER_HEAP_SYSTEM], m.arena);
    free(block);
}

/* ---- modules ---- */

struct expected {
    uint32_t n, n_found;
};

static int compare_module(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct expected *e = user;
    uint64_t low = UINT64_MAX, high = 0;

    (void)bytes;
    if (strstr(info->dlpi_name, "vdso"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            uint64_t stop = (start + info->dlpi_phdr[i].p_memsz + 4095) / 4096 * 4096;

            low = start / 4096 * 4096 < low ? start / 4096 * 4096 : low;
            high = stop > high ? stop : high;
        }
    e->n++;
    for (uint32_t i = 0; i < f.set.n_modules; i++)
        if (f.set.modules[i].base == low && f.set.modules[i].end == high) {
            char *real = realpath(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe", NULL);

            assert_string_equal(text(f.set.modules[i].path), real);
            assert_true(f.set.modules[i].build_id_bytes == 0 ||
                        f.set.modules[i].build_id_bytes >= 8);
            free(real);
            e->n_found++;
        }
    return 0;
}

static void modules_are_what_the_loader_lists(void **state)
{
    struct expected e = { 0, 0 };
    static int zero_data[4096];
    const struct mt_claim *c;
    void *library;

    (void)state;
    look(0);
    dl_iterate_phdr(compare_module, &e);
    assert_int_equal(e.n_found, e.n);
    assert_int_equal(f.set.n_modules, e.n);
    zero_data[2048] = 1;
    c = owner_of(&zero_data[2048]);
    assert_non_null(c);
    assert_int_equal(c->type, MT_TYPE_IMAGE);

    library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        skip();
    e = (struct expected){ 0, 0 };
    look(0);
    dl_iterate_phdr(compare_module, &e);
    assert_int_equal(e.n_found, e.n);
    assert_int_equal(f.set.n_modules, e.n);
    dlclose(library);
    look(0);
    assert_int_equal(f.set.n_modules, e.n - 1);
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
    pid_t pid = start_child(&input);
    struct shown s;
    const struct mt_claim *c;

    (void)state;
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
        cmocka_unit_test_setup_teardown(threads_have_their_stacks, begin, end),
        cmocka_unit_test_setup_teardown(ended_threads_leave_cached_stacks, begin, end),
        cmocka_unit_test_setup_teardown(the_main_stack_is_the_main_threads, begin, end),
        cmocka_unit_test_setup_teardown(malloc_is_heap_as_mallinfo_says, begin, end),
        cmocka_unit_test_setup_teardown(blocks_that_come_and_go_are_followed, begin, end),
        cmocka_unit_test_setup_teardown(counters_are_mallinfos, begin, end),
        cmocka_unit_test_setup_teardown(modules_are_what_the_loader_lists, begin, end),
        cmocka_unit_test_setup_teardown(looking_makes_no_page_present, begin, end),
        cmocka_unit_test_setup_teardown(own_blocks_are_the_tracers, begin, end),
        cmocka_unit_test(another_process_is_seen_from_outside),
    };

    mallopt(M_MMAP_THRESHOLD, 128 * 1024); /* else it moves with what is freed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
