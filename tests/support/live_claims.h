/* SPDX-License-Identifier: MIT */
/* The claims about a living process, and threads to be found in it. */
#ifndef TEST_SUPPORT_LIVE_CLAIMS_H
#define TEST_SUPPORT_LIVE_CLAIMS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "claim/claim.h"
#include "support/live_maps.h"

#define N_THREADS 6
#define MIB (UINT64_C(1) << 20)

struct fixture {
    struct mt_strings *strings;
    struct mt_snapshot snapshot;
    struct mt_claim_set set;
    struct mt_claimer *claimer;
    struct mt_claim_symbols symbols;
};

static struct fixture f;

static inline int open_for(uint32_t pid)
{
    if (mt_strings_new(8192, 1 << 20, &f.strings) ||
        mt_snapshot_init(&f.snapshot, f.strings, 8192) ||
        mt_claim_set_init(&f.set, 16384, 1024, 1024))
        return -1;
    if (!pid)
        mt_claim_symbols_find(&f.symbols);
    return mt_claimer_open(pid, &f.symbols, f.strings, &f.claimer);
}

static inline int begin(void **state)
{
    (void)state;
    return open_for(0);
}

static inline int end(void **state)
{
    (void)state;
    mt_claimer_close(f.claimer);
    mt_claim_set_release(&f.set);
    mt_snapshot_release(&f.snapshot);
    mt_strings_free(f.strings);
    return 0;
}

static inline void look(uint32_t pid)
{
    assert_true(live_maps_read(pid, &f.snapshot));
    assert_int_equal(mt_claimer_collect(f.claimer, &f.snapshot, &f.set), 0);
    assert_false(f.set.truncated);
}

static inline const char *text(uint32_t id)
{
    return mt_strings_get(f.strings, id, NULL);
}

/* The claim of the highest rank over an address, as the overlay decides. */
static inline const struct mt_claim *owner_of(const void *p)
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

static inline uint64_t accessible_bytes_of(const char *owner)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < f.set.n_claims; i++)
        if (!strcmp(text(f.set.claims[i].owner), owner) &&
            !(f.set.claims[i].flags & MT_CLAIM_RESERVED))
            sum += f.set.claims[i].end - f.set.claims[i].base;
    return sum;
}

/* With AddressSanitizer malloc is not glibc's. */
#if defined(__SANITIZE_ADDRESS__)
#define NEEDS_GLIBC_MALLOC() skip()
#else
#define NEEDS_GLIBC_MALLOC() (void)0
#endif

/* ---- workers ---- */

struct worker {
    pthread_t id;
    uint32_t tid;
    void *stack, *small;
    size_t stack_bytes, guard_bytes;
};

static struct worker workers[N_THREADS];
static pthread_barrier_t ready, done;

static inline void *work(void *user)
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
static inline void start_workers(void *own, size_t own_bytes)
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
            pthread_attr_setstack(&a, (char *)own + (size_t)(i - 4) * own_bytes / 2, own_bytes / 2);
        assert_int_equal(pthread_create(&workers[i].id, &a, work, &workers[i]), 0);
        pthread_setname_np(workers[i].id, i == 0 ? "first worker" : "worker");
        pthread_attr_destroy(&a);
    }
    pthread_barrier_wait(&ready);
}

static inline void stop_workers(void)
{
    pthread_barrier_wait(&done);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(workers[i].id, NULL);
    pthread_barrier_destroy(&ready);
    pthread_barrier_destroy(&done);
}

#endif
