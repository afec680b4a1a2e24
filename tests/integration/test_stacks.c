/* SPDX-License-Identifier: MIT */
/* Description: every thread's stack is found with the size pthread_getattr_np() gives, wherever it
 * lies (default, small, huge, on the heap, static, mapped); threads that come and go by the
 * thousand while sampling runs never make a wrong row. */
#define _GNU_SOURCE
#include "support/host.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define N_KINDS 6

static tracer *t;
static pthread_barrier_t meet;
static char static_stack[512 * 1024] __attribute__((aligned(4096)));

static int begin(void **state)
{
    int failed = host_begin(state);

    if (failed)
        return failed;
    t = host_start(3600000);
    return 0;
}

static int end(void **state)
{
    tracer_stop(t);
    return host_end(state);
}

struct stack {
    pthread_t id;
    uint32_t tid;
    uintptr_t base; /* as the C library says, guard included */
    size_t bytes;
};

static void *report(void *user)
{
    struct stack *s = user;
    pthread_attr_t attributes;
    size_t guard = 0;
    void *base = NULL;

    s->tid = (uint32_t)gettid();
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &base, &s->bytes);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    s->base = (uintptr_t)base - guard;
    s->bytes += guard;
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    return NULL;
}

static void start(struct stack *s, size_t bytes, void *memory)
{
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    if (memory)
        assert_int_equal(pthread_attr_setstack(&attributes, memory, bytes), 0);
    else if (bytes)
        assert_int_equal(pthread_attr_setstacksize(&attributes, bytes), 0);
    assert_int_equal(pthread_create(&s->id, &attributes, report, s), 0);
    pthread_attr_destroy(&attributes);
}

static void expect_found(const struct stack *s)
{
    char sql[256];
    struct host_answer a;

    snprintf(sql, sizeof(sql),
             "SELECT stack_base FROM thread WHERE tid = %u AND last_sample IS "
             "NULL",
             s->tid);
    a = host_ask(sql);
    assert_int_equal(a.n_rows, 1);
    assert_int_equal(a.integer, s->base);
    snprintf(sql, sizeof(sql),
             "SELECT stack_bytes FROM thread WHERE tid = %u AND last_sample IS "
             "NULL",
             s->tid);
    assert_int_equal(host_ask(sql).integer, s->bytes);
    snprintf(sql, sizeof(sql),
             "SELECT sum(bytes) FROM region WHERE thread = %u AND last_sample IS "
             "NULL AND type = 6",
             s->tid);
    assert_int_equal(host_ask(sql).integer, s->bytes);
}

static void stacks_of_every_kind(void **state)
{
    struct stack s[N_KINDS];
    char *heap = aligned_alloc(4096, 1 * MIB), *small_heap = aligned_alloc(4096, 64 * KIB);
    char *mapped = mmap(NULL, 3 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    pthread_barrier_init(&meet, NULL, N_KINDS + 1);
    start(&s[0], 0, NULL);
    start(&s[1], 64 * KIB, NULL);
    start(&s[2], 256 * MIB, NULL);
    start(&s[3], 512 * KIB, heap + 16 * KIB);
    start(&s[4], sizeof(static_stack), static_stack);
    start(&s[5], 1 * MIB, mapped + 1 * MIB);
    pthread_barrier_wait(&meet);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    for (int i = 0; i < N_KINDS; i++)
        expect_found(&s[i]);
    pthread_barrier_wait(&meet);
    for (int i = 0; i < N_KINDS; i++)
        pthread_join(s[i].id, NULL);
    free(heap);
    free(small_heap);
    munmap(mapped, 3 * MIB);
}

static void *return_at_once(void *user)
{
    return user;
}

static void threads_that_come_and_go(void **state)
{
    tracer *fast;
    char path[320];
    tracer_options o = TRACER_OPTIONS_INIT;
    pthread_t ids[8];

    (void)state;
    tracer_stop(t);
    snprintf(path, sizeof(path), "%s", host_db);
    o.interval_ms = 1;
    assert_int_equal(tracer_start(path, &o, &fast), TRACER_OK);
    t = fast;
    for (int i = 0; i < 10000 / 8; i++) {
        for (int k = 0; k < 8; k++)
            assert_int_equal(pthread_create(&ids[k], NULL, return_at_once, NULL), 0);
        for (int k = 0; k < 8; k++)
            pthread_join(ids[k], NULL);
    }
    assert_int_equal(tracer_flush(t), TRACER_OK);
    /* 8 MiB and a guard page each, by `ulimit -s`, is all a thread's row may say */
    assert_int_equal(
        host_ask("SELECT count(*) FROM thread WHERE stack_bytes IS NOT NULL AND tid <> "
                 "(SELECT pid FROM run LIMIT 1) AND name <> (SELECT id FROM string "
                 "WHERE text = 'memtracer') AND stack_bytes NOT IN (8388608 + 4096)")
            .integer,
        0);
    assert_int_equal(host_ask("SELECT count(*) FROM sample WHERE flags & 1").integer, 0);
    assert_int_equal(host_ask("SELECT count(*) FROM region a JOIN region b ON a.id < b.id "
                              "AND a.base < b.base + b.bytes AND b.base < a.base + a.bytes "
                              "AND a.first_sample = b.first_sample")
                         .integer,
                     0);
}

/* ---- more threads than one look has time for ---- */

#define N_MANY 1200

static void *wait_for_the_end(void *user)
{
    pthread_barrier_wait(&meet);
    return user;
}

static int64_t count_samples(const char *condition)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM sample WHERE %s", condition);
    assert_int_equal(tracer_flush(t), TRACER_OK);
    return host_ask(sql).integer;
}

/* The first look says that it is partial (16), later ones complete it though nothing changes, and
 * who asks then gets a whole one. */
static void many_threads_are_known_after_a_while(void **state)
{
    static pthread_t ids[N_MANY];
    tracer_options o = TRACER_OPTIONS_INIT;
    pthread_attr_t small;

    (void)state;
    tracer_stop(t);
    pthread_barrier_init(&meet, NULL, N_MANY + 1);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * KIB);
    for (int i = 0; i < N_MANY; i++)
        assert_int_equal(pthread_create(&ids[i], &small, wait_for_the_end, NULL), 0);
    o.interval_ms = 10;
    o.budget_ns = 1000;
    assert_int_equal(tracer_start(host_db, &o, &t), TRACER_OK);
    assert_true(count_samples("flags & 16") > 0);
    for (int i = 0;
         i < 1000 && host_ask("SELECT flags & 16 FROM sample ORDER BY id DESC LIMIT 1").integer;
         i++) {
        usleep(10000);
        assert_int_equal(tracer_flush(t), TRACER_OK);
    }
    assert_int_equal(tracer_sample(t), TRACER_OK);
    assert_int_equal(
        host_ask("SELECT flags & 16 FROM sample WHERE flags & 512 ORDER BY id DESC LIMIT 1")
            .integer,
        0); /* the one that was asked for; a timer's may come after it */
    assert_int_equal(host_ask("SELECT count(*) FROM thread WHERE stack_bytes = 65536 + 4096 AND "
                              "last_sample IS NULL AND run = (SELECT max(id) FROM run)")
                         .integer,
                     N_MANY);
    pthread_barrier_wait(&meet);
    for (int i = 0; i < N_MANY; i++)
        pthread_join(ids[i], NULL);
    pthread_attr_destroy(&small);
}

/* ---- what lies in stacks, and what they lie in ---- */

#define TLS_BYTES (24 * KIB) /* the smallest stack above must hold it, too */
#define N_HEAVY 16

static _Thread_local char thread_data[TLS_BYTES];
static char *alternate_stacks[2];
static const char *data_addresses[N_HEAVY];

static void *use_thread_data(void *user)
{
    const char **address = user;

    memset(thread_data, 1, TLS_BYTES);
    *address = thread_data;
    if (address == &data_addresses[0])
        for (int i = 0; i < 2; i++) {
            stack_t other = {.ss_sp = alternate_stacks[i], .ss_size = 64 * KIB};

            sigaltstack(&other, NULL);
        }
    pthread_barrier_wait(&meet);
    pthread_barrier_wait(&meet);
    return NULL;
}

static struct host_answer ask_about(const char *what, const void *address)
{
    char sql[320];

    snprintf(sql, sizeof(sql),
             "SELECT %s FROM region_now WHERE base_address <= printf('0x%%012x', %llu) AND "
             "end_address > printf('0x%%012x', %llu)",
             what, (unsigned long long)(uintptr_t)address, (unsigned long long)(uintptr_t)address);
    return host_ask(sql);
}

/* A thread's data lies in its stack's mapping. An alternate stack is what it was made of: nobody
 * but its thread knows that it is one. */
static void thread_data_and_alternate_stacks(void **state)
{
    pthread_t ids[N_HEAVY];

    (void)state;
    pthread_barrier_init(&meet, NULL, N_HEAVY + 1);
    alternate_stacks[0] = malloc(64 * KIB);
    alternate_stacks[1] =
        mmap(NULL, 64 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(alternate_stacks[1], 64 * KIB, MADV_DONTFORK); /* keeps it apart */
    for (int i = 0; i < N_HEAVY; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, use_thread_data, &data_addresses[i]), 0);
    pthread_barrier_wait(&meet);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    for (int i = 0; i < N_HEAVY; i++) {
        assert_string_equal(ask_about("type", data_addresses[i]).text, "stack");
        assert_true(ask_about("ws", data_addresses[i]).integer >= (int64_t)TLS_BYTES);
    }
    assert_string_equal(ask_about("type", alternate_stacks[0]).text, "heap");
    assert_string_equal(ask_about("type", alternate_stacks[1]).text, "private");
    pthread_barrier_wait(&meet);
    for (int i = 0; i < N_HEAVY; i++)
        pthread_join(ids[i], NULL);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    /* the C library keeps up to 40 MiB: four of these stay, marked, and are nobody's */
    assert_int_equal(host_ask("SELECT count(*) FROM region_now WHERE type = 'stack' AND "
                              "flags & 16 AND NOT flags & 4 AND owner = 'cached stack'")
                         .integer,
                     40 / 8 - 1);
    assert_int_equal(host_ask("SELECT count(*) FROM region_now WHERE type = 'stack' AND "
                              "flags & 16 AND thread IS NOT NULL")
                         .integer,
                     0);
    free(alternate_stacks[0]);
    munmap(alternate_stacks[1], 64 * KIB);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(HOST_EXACT(stacks_of_every_kind)),
        T(HOST_EXACT(thread_data_and_alternate_stacks)),
        T(HOST_EXACT(threads_that_come_and_go)),
        T(HOST_EXACT(many_threads_are_known_after_a_while)),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
