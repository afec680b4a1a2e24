/* SPDX-License-Identifier: MIT */
/* bench: what a sampler does to a thread of the host that maps memory all the time.
 * In: a space, seconds of one stretch, samples a second, rounds. Out: one JSON object: quantiles of
 * mmap + touch + munmap in µs, without a sampler, with one that counts what changed, and with one
 * that is asked for full samples; and the sampler's CPU time in percent of one core. The three take
 * turns, so that a slow minute is shared by all. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/os/os.h"
#include "memtracer/memtracer.h"
#include "spaces.h"

#define OPS_MOST 200000
#define DB "/tmp/memtracer-bench-disturb.db"
#define BLOCK_BYTES ((size_t)64 * 1024)
#define PAUSE_NS 100000

enum { OFF, TIMER, ASKED, N_KINDS };
static const char *const kinds[N_KINDS] = {"off", "timer", "asked"};

struct ops {
    size_t n;
    int64_t cpu_ns, elapsed_ns; /* of the sampler, over all stretches */
    double took[OPS_MOST];
};

static struct ops ops[N_KINDS];
static atomic_bool done;

static long preemptions(void)
{
    struct rusage u;

    getrusage(RUSAGE_THREAD, &u);
    return u.ru_nivcsw;
}

/* Operations in which the victim itself was preempted measure the machine's other work. */
static void *victim(void *user)
{
    const struct timespec pause = {0, PAUSE_NS};
    struct ops *o = user;

    while (!atomic_load(&done) && o->n < OPS_MOST) {
        long before = preemptions();
        int64_t begun = mt_os_monotonic_ns();
        char *p =
            mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        for (size_t at = 0; at < BLOCK_BYTES; at += 4096)
            p[at] = 1;
        munmap(p, BLOCK_BYTES);
        o->took[o->n] = (double)(mt_os_monotonic_ns() - begun) / 1e3;
        o->n += preemptions() == before;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static tracer *start(uint64_t interval_ms)
{
    tracer_options options;
    tracer *t;

    tracer_options_init(&options, sizeof(options));
    options.interval_ms = interval_ms;
    if (tracer_start(DB, &options, &t)) {
        fprintf(stderr, "%s\n", tracer_last_error());
        exit(2);
    }
    return t;
}

/* Ends a sampler and adds what it cost since `first`. */
static void stop(tracer *t, struct ops *o, const tracer_stats *first, int64_t begun_ns)
{
    tracer_stats last = {.size = sizeof(last)};

    if (!t)
        return;
    tracer_get_stats(t, &last);
    o->cpu_ns += (int64_t)(last.cost_cpu_ns - first->cost_cpu_ns);
    o->elapsed_ns += mt_os_monotonic_ns() - begun_ns;
    tracer_stop(t);
    unlink(DB);
}

/* One stretch; its samples are those of the timer, or each is asked for. */
static void run(int kind, double seconds, uint64_t interval_ms)
{
    const struct timespec pause = {(time_t)(interval_ms / 1000),
                                   (long)(interval_ms % 1000) * 1000000};
    tracer *t = kind == OFF ? NULL : start(interval_ms);
    tracer_stats first = {.size = sizeof(first)};
    int64_t begun;
    pthread_t thread;

    if (t && (tracer_sample(t) || tracer_get_stats(t, &first))) /* its first looks are no rule */
        exit(2);
    begun = mt_os_monotonic_ns();
    atomic_store(&done, false);
    pthread_create(&thread, NULL, victim, &ops[kind]);
    while (mt_os_monotonic_ns() - begun < (int64_t)(seconds * 1e9)) {
        nanosleep(&pause, NULL);
        if (kind == ASKED)
            tracer_sample(t);
    }
    atomic_store(&done, true);
    pthread_join(thread, NULL);
    stop(t, &ops[kind], &first, begun);
}

static void print_kind(int kind)
{
    size_t n = ops[kind].n;
    double *took = ops[kind].took;

    if (n == 0)
        return;
    qsort(took, n, sizeof(took[0]), by_value);
    printf(", \"%s\": {\"ops\": %zu, \"p50\": %.0f, \"p99\": %.0f, \"p999\": %.0f, "
           "\"max\": %.0f, \"cpu_percent\": %.3f}",
           kinds[kind], n, took[n / 2], took[n * 99 / 100], took[n * 999 / 1000], took[n - 1],
           100.0 * (double)ops[kind].cpu_ns / (double)(ops[kind].elapsed_ns + 1));
}

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 5;
    double hz = argc > 3 ? strtod(argv[3], NULL) : 10;
    int rounds = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 3;

    if (argc < 2 || hz <= 0 || space_build(argv[1])) {
        fprintf(stderr, "usage: bench_disturb SPACE [SECONDS [HZ [ROUNDS]]]\n");
        return 1;
    }
    memset(ops, 0, sizeof(ops));
    for (int i = 0; i < rounds; i++)
        for (int kind = 0; kind < N_KINDS; kind++)
            run(kind, seconds, (uint64_t)(1000 / hz));
    printf("{\"space\": \"%s\", \"hz\": %g, \"rounds\": %d", argv[1], hz, rounds);
    for (int kind = 0; kind < N_KINDS; kind++)
        print_kind(kind);
    printf("}\n");
    return 0;
}
