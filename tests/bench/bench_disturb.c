/* SPDX-License-Identifier: MIT */
/* bench: what a sampler at 10 Hz does to a thread of the host that maps memory all the time.
 * In: a space and seconds. Out: one JSON object: quantiles of mmap + touch + munmap in µs, without
 * a sampler, with one that counts what changed, and with one that is asked for full samples. */
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
#define BLOCK_BYTES ((size_t)64 * 1024)
#define PAUSE_NS 100000

static double took[OPS_MOST];
static atomic_bool done;

static long preemptions(void)
{
    struct rusage u;

    getrusage(RUSAGE_THREAD, &u);
    return u.ru_nivcsw;
}

/* Operations in which the victim itself was preempted measure the machine's other work. */
static void *victim(void *n_ops)
{
    const struct timespec pause = {0, PAUSE_NS};
    size_t n = 0;

    while (!atomic_load(&done) && n < OPS_MOST) {
        long before = preemptions();
        int64_t begun = mt_os_monotonic_ns();
        char *p =
            mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        for (size_t at = 0; at < BLOCK_BYTES; at += 4096)
            p[at] = 1;
        munmap(p, BLOCK_BYTES);
        took[n] = (double)(mt_os_monotonic_ns() - begun) / 1e3;
        n += preemptions() == before;
        nanosleep(&pause, NULL);
    }
    *(size_t *)n_ops = n;
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void run(const char *name, tracer *t, double seconds)
{
    int64_t end = mt_os_monotonic_ns() + (int64_t)(seconds * 1e9);
    const struct timespec tenth = {0, 100000000};
    pthread_t thread;
    size_t n = 0;

    atomic_store(&done, false);
    pthread_create(&thread, NULL, victim, &n);
    while (mt_os_monotonic_ns() < end) {
        nanosleep(&tenth, NULL);
        if (t)
            tracer_sample(t);
    }
    atomic_store(&done, true);
    pthread_join(thread, NULL);
    qsort(took, n, sizeof(took[0]), by_value);
    printf(", \"%s\": {\"ops\": %zu, \"p50\": %.0f, \"p99\": %.0f, \"p999\": %.0f, \"max\": %.0f}",
           name, n, took[n / 2], took[n * 99 / 100], took[n * 999 / 1000], took[n - 1]);
}

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 10;
    tracer_options options;
    tracer *t;

    if (argc < 2 || space_build(argv[1])) {
        fprintf(stderr, "usage: bench_disturb SPACE [SECONDS]\n");
        return 1;
    }
    memset(took, 0, sizeof(took));
    printf("{\"space\": \"%s\"", argv[1]);
    run("off", NULL, seconds);
    tracer_options_init(&options, sizeof(options));
    options.interval_ms = 100;
    if (tracer_start("/tmp/memtracer-bench-disturb.db", &options, &t)) {
        fprintf(stderr, "%s\n", tracer_last_error());
        return 2;
    }
    run("timer", NULL, seconds);
    run("asked", t, seconds);
    tracer_stop(t);
    unlink("/tmp/memtracer-bench-disturb.db");
    printf("}\n");
    return 0;
}
