/* SPDX-License-Identifier: MIT */
/* Description: in a program linked with musl, malloc's memory of known size and the threads' stacks
 * are found, against what the program asked for and pthread_getattr_np. Built by musl.py with the
 * sources of base/ and claim/, since distributions have neither SQLite nor CMocka for musl.
 * Exit 0 when all facts hold, else 1 with a line for each that does not. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "claim/claim.h"
#include "support/live_maps.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define LARGE 8u
#define LARGE_BYTES (1 * MIB)
#define SMALL 4000u
#define SMALL_BYTES ((size_t)1000)
#define N_THREADS 6u
#define LOOKS 8

static struct mt_strings *strings;
static struct mt_snapshot snapshot;
static struct mt_claim_set set;
static struct mt_claimer *claimer;
static int failed;

#define EXPECT(fact)                                                                               \
    do {                                                                                           \
        if (!(fact)) {                                                                             \
            printf("line %d: not so: %s\n", __LINE__, #fact);                                      \
            failed = 1;                                                                            \
        }                                                                                          \
    } while (0)

static void look(void)
{
    EXPECT(live_maps_read(0, &snapshot));
    EXPECT(mt_claimer_collect(claimer, &snapshot, &set) == 0);
    EXPECT(!set.truncated);
}

static const struct mt_claim *owner_of(const void *p)
{
    uint64_t address = (uint64_t)(uintptr_t)p;
    const struct mt_claim *best = NULL;

    for (uint32_t i = 0; i < set.n_claims; i++)
        if (set.claims[i].base <= address && address < set.claims[i].end &&
            (!best || set.claims[i].rank >= best->rank))
            best = &set.claims[i];
    return best;
}

static bool is_of(const void *p, uint8_t type)
{
    const struct mt_claim *c = owner_of(p);

    return c && c->type == type;
}

/* ---- threads ---- */

static struct worker {
    pthread_t id;
    uint32_t tid;
    uintptr_t base;
    size_t bytes;
} workers[N_THREADS];
static pthread_barrier_t ready, done;

static void *work(void *user)
{
    struct worker *w = user;
    pthread_attr_t a;
    void *base;

    w->tid = (uint32_t)syscall(SYS_gettid);
    pthread_getattr_np(pthread_self(), &a);
    pthread_attr_getstack(&a, &base, &w->bytes);
    pthread_attr_destroy(&a);
    w->base = (uintptr_t)base;
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&done);
    return NULL;
}

static void start_threads(void)
{
    pthread_barrier_init(&ready, NULL, N_THREADS + 1);
    pthread_barrier_init(&done, NULL, N_THREADS + 1);
    for (unsigned i = 0; i < N_THREADS; i++) {
        pthread_attr_t a;

        pthread_attr_init(&a);
        if (i % 2)
            pthread_attr_setstacksize(&a, (256 + 64 * i) * KIB);
        EXPECT(pthread_create(&workers[i].id, &a, work, &workers[i]) == 0);
        pthread_attr_destroy(&a);
    }
    pthread_barrier_wait(&ready);
    usleep(20000); /* they block: only then the kernel tells their stack pointers */
}

/* musl's mapping holds the stack and, above it, the thread's own data, up to the next page. */
static void check_thread(const struct worker *w)
{
    const struct mt_claim *top = owner_of((void *)(w->base + w->bytes - 1));
    const struct mt_claim *bottom = owner_of((void *)w->base);

    EXPECT(top && top->type == MT_TYPE_STACK && top->thread == w->tid);
    EXPECT(bottom && bottom->type == MT_TYPE_STACK && bottom->thread == w->tid);
    for (uint32_t i = 0; i < set.n_threads; i++) {
        const struct mt_thread *t = &set.threads[i];

        if (t->tid != w->tid)
            continue;
        EXPECT(t->stack_base + t->guard_bytes == w->base);
        EXPECT(t->guard_bytes > 0);
        EXPECT(t->stack_base + t->stack_bytes >= w->base + w->bytes);
        EXPECT(t->stack_base + t->stack_bytes < w->base + w->bytes + 16 * KIB);
    }
}

static void threads(void)
{
    start_threads();
    for (int i = 0; i < LOOKS; i++)
        look();
    EXPECT(set.n_threads == N_THREADS + 1);
    for (unsigned i = 0; i < N_THREADS; i++)
        check_thread(&workers[i]);
    pthread_barrier_wait(&done);
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(workers[i].id, NULL);
    look();
    EXPECT(set.n_threads == 1);
}

/* ---- malloc ---- */

/* The library gives the rest of the program's last data page to malloc: that stays the image's. */
static bool is_malloced(const char *p)
{
    return is_of(p, MT_TYPE_HEAP) || is_of(p, MT_TYPE_IMAGE);
}

static unsigned n_found(char *const *blocks, unsigned n, size_t bytes)
{
    unsigned found = 0;

    for (unsigned i = 0; i < n; i++)
        found += is_malloced(blocks[i]) && is_malloced(blocks[i] + bytes - 1);
    return found;
}

static void blocks(void)
{
    static char *large[LARGE], *small[SMALL];
    char *own = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    madvise(own, 4 * MIB, MADV_DONTFORK); /* keeps it apart from its neighbours */
    memset(own, 1, 4 * MIB);
    for (unsigned i = 0; i < LARGE; i++)
        large[i] = memset(malloc(LARGE_BYTES), 2, LARGE_BYTES);
    for (unsigned i = 0; i < SMALL; i++)
        small[i] = memset(malloc(SMALL_BYTES), 3, SMALL_BYTES);
    look();
    EXPECT(!is_of(own + MIB, MT_TYPE_HEAP));
    EXPECT(n_found(large, LARGE, LARGE_BYTES) == LARGE);
    EXPECT(n_found(small, SMALL, SMALL_BYTES) == SMALL);
    for (unsigned i = 0; i < LARGE; i++)
        free(large[i]);
    look();
    for (unsigned i = 0; i < LARGE; i++)
        EXPECT(!is_of(large[i] + LARGE_BYTES / 2, MT_TYPE_HEAP));
    for (unsigned i = 0; i < SMALL; i++)
        free(small[i]);
}

int main(void)
{
    struct mt_claim_symbols symbols;

    mt_claim_symbols_find(&symbols);
    if (mt_strings_new(8192, 1 << 20, &strings) || mt_snapshot_init(&snapshot, strings, 8192) ||
        mt_claim_set_init(&set, 16384, 1024, 1024) ||
        mt_claimer_open(0, &symbols, strings, &claimer))
        return 1;
    printf("allocator: \"%s\"\n", mt_claimer_allocator(claimer));
    EXPECT(!strcmp(mt_claimer_allocator(claimer), "musl"));
    look();
    EXPECT(!strcmp(mt_claimer_allocator(claimer), "musl"));
    blocks();
    threads();
    mt_claimer_close(claimer);
    return failed;
}
