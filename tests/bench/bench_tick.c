/* SPDX-License-Identifier: MIT */
/* bench: what one tick costs, as a ratio to one raw read of smaps in the same process, in the same
 * round. In: the name of a space and a number of rounds. Out: one JSON object.
 *
 * The stages are driven from this thread, just as the sampler's thread does it, so that every
 * kind of tick can be had on demand: planner, source, claims, classify, differences, rows and the
 * commit are all inside the measured time. Times are CPU time of the thread, user and system. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "sampler/sampler.h"
#include "sampler/stages.h"
#include "spaces.h"

#define ROUNDS_MOST 200
#define RAW_BUFFER (64 * 1024)
#define GROW_BYTES ((size_t)64 << 20)

enum { RAW, ROLLUP, SMAPS, STEADY, CHANGED, LISTED, WHOLE, FULL, N_KINDS };
static const char *const kinds[N_KINDS] = {"raw_smaps", "smaps_rollup",   "smaps_list", "steady",
                                           "changed",   "changed_listed", "whole",      "full"};

static int64_t cost[N_KINDS][ROUNDS_MOST];
static char buffer[RAW_BUFFER];

static int64_t read_file(const char *path)
{
    int64_t begun = mt_os_thread_cpu_ns();
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    while (read(fd, buffer, sizeof(buffer)) > 0)
        ;
    close(fd);
    return mt_os_thread_cpu_ns() - begun;
}

static int64_t tick(struct tracer *t, const struct mt_tick_request *request)
{
    int64_t begun;
    int error;

    t->work->credit_ns = 0; /* ticks follow each other closely: none may be put off */
    begun = mt_os_thread_cpu_ns();
    error = mt_tick(t, request);

    if (!error)
        error = mt_recorder_commit(t->work->recorder);
    if (error) {
        fprintf(stderr, "tick: %s: %s\n", mt_error_name(error), mt_error_detail());
        exit(2);
    }
    return mt_os_thread_cpu_ns() - begun;
}

/* Reads smaps as a full sample does, parsed and with gaps, into a list that nothing else uses. */
static int64_t list_smaps(struct mt_source *source)
{
    static struct mt_snapshot list;
    struct mt_strings *names;
    int64_t begun;

    if (!list.regions &&
        (mt_strings_new(131072, 1 << 24, &names) || mt_snapshot_init(&list, names, 131072)))
        exit(2);
    begun = mt_os_thread_cpu_ns();
    if (source->ops->list(source, &list, true))
        exit(2);
    return mt_os_thread_cpu_ns() - begun;
}

/* A look at 64 MB more. */
static int64_t grow_and_tick(struct tracer *t)
{
    const struct mt_tick_request timer = {0};
    char *p = mmap(NULL, GROW_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int64_t ns;

    madvise(p, GROW_BYTES, MADV_NOHUGEPAGE);
    memset(p, 1, GROW_BYTES);
    ns = tick(t, &timer);
    munmap(p, GROW_BYTES);
    tick(t, &timer);
    return ns;
}

/* A list that was read lately may be kept, see source/linux/follow.c; after smaps was read it is
 * not: that is the cost of a change in a process that seldom changes. */
static void one_round(struct tracer *t, int i)
{
    const struct mt_tick_request timer = {0}, everything = {.at_least = MT_DEPTH_WHOLE},
                                 asked = {.explicit_sample = true},
                                 listed = {.at_least = MT_DEPTH_PAGES};

    cost[RAW][i] = read_file("/proc/thread-self/smaps");
    cost[ROLLUP][i] = read_file("/proc/thread-self/smaps_rollup");
    cost[SMAPS][i] = list_smaps(t->work->source);
    tick(t, &timer);
    tick(t, &timer);
    cost[STEADY][i] = tick(t, &timer);
    cost[LISTED][i] = grow_and_tick(t);
    tick(t, &listed);
    cost[CHANGED][i] = grow_and_tick(t);
    tick(t, &listed);
    cost[WHOLE][i] = tick(t, &everything);
    cost[FULL][i] = tick(t, &asked);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median and quartiles of the per-round ratios to the raw read. */
static void print_kind(int kind, int rounds)
{
    double ratio[ROUNDS_MOST], ns[ROUNDS_MOST];

    for (int i = 0; i < rounds; i++) {
        ratio[i] = (double)cost[kind][i] / (double)cost[RAW][i];
        ns[i] = (double)cost[kind][i];
    }
    qsort(ratio, (size_t)rounds, sizeof(ratio[0]), by_value);
    qsort(ns, (size_t)rounds, sizeof(ns[0]), by_value);
    printf(", \"%s\": {\"us\": %.1f, \"ratio\": %.4f, \"p25\": %.4f, \"p75\": %.4f}", kinds[kind],
           ns[rounds / 2] / 1e3, ratio[rounds / 2], ratio[rounds / 4], ratio[rounds * 3 / 4]);
}

static struct tracer *open_stages(const char *db)
{
    struct tracer *t = mt_memory_alloc(sizeof(*t));
    int error;

    tracer_options_init(&t->options, sizeof(t->options));
    t->options.interval_ms = 1000;
    t->options.commit_ms = 1000;
    t->options.budget_ns = 1000000000; /* no look may stop halfway */
    snprintf(t->path, sizeof(t->path), "%s", db);
    t->start_monotonic_ns = mt_os_monotonic_ns();
    t->start_wall_ns = mt_os_wall_ns();
    mt_claim_symbols_find(&t->symbols);
    error = mt_os_lock_new(&t->lock);
    if (!error)
        error = mt_stages_open(t);
    if (error) {
        fprintf(stderr, "%s: %s\n", mt_error_name(error), mt_error_detail());
        exit(2);
    }
    return t;
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 21;
    char db[] = "/tmp/memtracer-bench-XXXXXX";
    struct tracer *t;

    if (argc < 2 || space_build(argv[1])) {
        fprintf(stderr, "usage: bench_tick SPACE [ROUNDS]\n");
        for (int i = 0; space_names[i][0]; i++)
            fprintf(stderr, "  %-3s %s\n", space_names[i][0], space_names[i][1]);
        return 1;
    }
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    memset(cost, 0, sizeof(cost));
    memset(buffer, 0, sizeof(buffer));
    close(mkstemp(db));
    t = open_stages(db);
    for (int i = 0; i < 3; i++)
        one_round(t, 0);
    for (int i = 0; i < rounds; i++)
        one_round(t, i);
    printf("{\"space\": \"%s\", \"rounds\": %d, \"regions\": %u", argv[1], rounds,
           t->work->snapshot.n_regions);
    for (int kind = 0; kind < N_KINDS; kind++)
        print_kind(kind, rounds);
    printf("}\n");
    mt_stages_close(t, "stopped", "");
    unlink(db);
    return 0;
}
