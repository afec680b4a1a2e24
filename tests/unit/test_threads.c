/* SPDX-License-Identifier: MIT */
/* Description: threads of this process and their stacks, against pthread_getattr_np. */
#define _GNU_SOURCE

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_have_their_stacks, begin, end),
        cmocka_unit_test_setup_teardown(ended_threads_leave_cached_stacks, begin, end),
        cmocka_unit_test_setup_teardown(the_main_stack_is_the_main_threads, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
