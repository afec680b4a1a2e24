/* SPDX-License-Identifier: MIT */
/* bench: how the cost of one collection of claims grows with what there is to claim.
 * In: nothing. Out: a line of JSON for each kind (threads, arenas, blocks) and number: microseconds
 * of the first collection, how many it took to know all with a budget of 10 ms each, microseconds
 * of one when nothing changed, and of one after one more of the kind came.
 * CPU time of the thread, the median of rounds. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/os.h"
#include "claim/claim.h"
#include "support/live_maps.h"

#define ROUNDS 15
#define REGIONS 65536
#define BUDGET_NS 10000000
#define BLOCK_BYTES ((size_t)160 * 1024)

static struct mt_strings *strings;
static struct mt_snapshot snapshot;
static struct mt_claim_set set;
static struct mt_claimer *claimer;
static pthread_barrier_t ready;

static void *rest(void *user)
{
    if (user)
        *(volatile char *)malloc(64) = 1;
    pthread_barrier_wait(&ready);
    for (;;)
        pause();
    return NULL;
}

static void start_thread(bool with_arena)
{
    pthread_attr_t a;
    pthread_t id;

    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 64 * 1024);
    pthread_barrier_init(&ready, NULL, 2);
    if (pthread_create(&id, &a, rest, with_arena ? &a : NULL)) {
        perror("pthread_create");
        exit(1);
    }
    pthread_barrier_wait(&ready);
}

static void one_more_thread(void)
{
    start_thread(false);
}

static void one_more_arena(void)
{
    start_thread(true);
}

static void one_more_block(void)
{
    char *p = malloc(BLOCK_BYTES);

    *(volatile char *)p = 1;
}

static const struct {
    const char *name;
    void (*one_more)(void);
    unsigned n[4];
} kinds[] = {
    {"arenas", one_more_arena, {1, 8, 64, 0}},
    {"blocks", one_more_block, {10, 100, 1000, 10000}},
    {"threads", one_more_thread, {1, 100, 1000, 10000}},
};

static double collect_us(void)
{
    int64_t begun;

    if (!live_maps_read(0, &snapshot))
        exit(1);
    set.deadline_ns = mt_os_monotonic_ns() + BUDGET_NS;
    begun = mt_os_thread_cpu_ns();
    mt_claimer_collect(claimer, &snapshot, &set);
    return (double)(mt_os_thread_cpu_ns() - begun) / 1000;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_us(void (*before)(void))
{
    double us[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        if (before)
            before();
        us[i] = collect_us();
    }
    qsort(us, ROUNDS, sizeof(us[0]), by_value);
    return us[ROUNDS / 2];
}

static void measure(unsigned kind, unsigned n)
{
    double first, steady, changed;
    unsigned collections = 1;
    struct mt_claim_symbols symbols;

    mt_claim_symbols_find(&symbols);
    if (mt_strings_new(65536, 4 << 20, &strings) || mt_snapshot_init(&snapshot, strings, REGIONS) ||
        mt_claim_set_init(&set, 4 * REGIONS, 1024, REGIONS) ||
        mt_claimer_open(0, &symbols, strings, &claimer))
        exit(1);
    for (unsigned i = 0; i < n; i++)
        kinds[kind].one_more();
    first = collect_us();
    for (; set.partial; collections++)
        collect_us();
    median_us(NULL); /* until all is known */
    steady = median_us(NULL);
    changed = median_us(kinds[kind].one_more);
    printf("{\"%s\": %u, \"claims\": %u, \"first_us\": %.0f, \"collections\": %u, "
           "\"steady_us\": %.0f, "
           "\"changed_us\": %.0f}\n",
           kinds[kind].name, n, set.n_claims, first, collections, steady, changed);
    fflush(stdout);
    _exit(set.truncated);
}

int main(void)
{
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (unsigned i = 0; i < 4 && kinds[k].n[i]; i++) {
            pid_t pid = fork();
            int status;

            if (pid == 0)
                measure(k, kinds[k].n[i]);
            if (waitpid(pid, &status, 0) != pid || status != 0)
                return 1;
        }
    return 0;
}
