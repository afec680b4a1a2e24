/* SPDX-License-Identifier: MIT */
/* Description: threads of this process and their stacks, against pthread_getattr_np. */
#define _GNU_SOURCE

#include <sys/mman.h>

#include "support/live_claims.h"

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
    const struct mt_claim *c;

    (void)state;
    look(0);
    c = owner_of(environ); /* on the main stack, where under ASan a local need not be */
    assert_non_null(c);
    assert_int_equal(c->type, MT_TYPE_STACK);
    assert_int_equal(c->thread, (uint32_t)getpid());
}

/* ---- many at once ---- */

#define MANY 900
#define MANY_STACK ((size_t)64 * 1024)

struct one_of_many {
    pthread_t id;
    uint32_t tid;
    char *stack;
};

static struct one_of_many many[MANY];
static pthread_barrier_t met, let_go;

static void *rest(void *user)
{
    struct one_of_many *one = user;

    one->tid = (uint32_t)syscall(SYS_gettid);
    pthread_barrier_wait(&met);
    pthread_barrier_wait(&let_go);
    return NULL;
}

static void start_many(char *stacks)
{
    pthread_barrier_init(&met, NULL, MANY + 1);
    pthread_barrier_init(&let_go, NULL, MANY + 1);
    for (unsigned i = 0; i < MANY; i++) {
        pthread_attr_t a;

        many[i].stack = stacks + i * MANY_STACK;
        pthread_attr_init(&a);
        pthread_attr_setstack(&a, many[i].stack, MANY_STACK);
        assert_int_equal(pthread_create(&many[i].id, &a, rest, &many[i]), 0);
        pthread_attr_destroy(&a);
    }
    pthread_barrier_wait(&met);
}

static void stop_many(void)
{
    pthread_barrier_wait(&let_go);
    for (unsigned i = 0; i < MANY; i++)
        pthread_join(many[i].id, NULL);
    pthread_barrier_destroy(&met);
    pthread_barrier_destroy(&let_go);
}

/* A deadline long past leaves threads out, says so, and never shows a wrong one; further looks
 * complete the list. */
static void many_new_threads_are_spread_over_looks(void **state)
{
    char *stacks =
        mmap(NULL, MANY * MANY_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned looks = 1;

    (void)state;
    start_many(stacks);
    f.set.deadline_ns = 1;
    look(0);
    assert_true(f.set.partial);
    assert_true(f.set.n_threads < MANY + 1);
    for (; f.set.partial && looks < MANY; looks++)
        look(0);
    assert_int_equal(f.set.n_threads, MANY + 1);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(thread_of(many[i].tid)->stack_base, (uint64_t)(uintptr_t)many[i].stack);
    stop_many();
    munmap(stacks, MANY * MANY_STACK);
}

static void who_has_time_sees_all_threads_at_once(void **state)
{
    char *stacks =
        mmap(NULL, MANY * MANY_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    start_many(stacks);
    look(0);
    assert_false(f.set.partial);
    assert_int_equal(f.set.n_threads, MANY + 1);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(thread_of(many[i].tid)->stack_bytes, MANY_STACK);
    stop_many();
    munmap(stacks, MANY * MANY_STACK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_have_their_stacks, begin, end),
        cmocka_unit_test_setup_teardown(ended_threads_leave_cached_stacks, begin, end),
        cmocka_unit_test_setup_teardown(the_main_stack_is_the_main_threads, begin, end),
        cmocka_unit_test_setup_teardown(many_new_threads_are_spread_over_looks, begin, end),
        cmocka_unit_test_setup_teardown(who_has_time_sees_all_threads_at_once, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
