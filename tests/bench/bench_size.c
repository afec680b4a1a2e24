/* SPDX-License-Identifier: MIT */
/* bench: how large a recording grows. In: days, and max_file_bytes (0 = none). Out: one JSON
 * object.
 *
 * Feeds the recorder as the sampler does, one tick a second without waiting: in one tick of ten one
 * type grows or shrinks, a region comes or goes, and counters move. Costs are CPU time. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "record/recorder.h"

#define NS_PER_S INT64_C(1000000000)
#define REGIONS 200u
#define CHANGE_EVERY 10

struct world {
    struct mt_levels levels;
    struct mt_counters counters;
    struct mt_interval items[REGIONS];
    int64_t ended;
    uint64_t next_base;
    unsigned seed;
};

static void die(const char *doing, int error)
{
    fprintf(stderr, "%s: %s: %s\n", doing, mt_error_name(error), mt_error_detail());
    exit(2);
}

static unsigned random_below(struct world *w, unsigned n)
{
    w->seed = w->seed * 1103515245u + 12345u;
    return (w->seed >> 8) % n;
}

static void begin(struct world *w)
{
    memset(w, 0, sizeof(*w));
    w->seed = 1;
    w->next_base = UINT64_C(1) << 32;
    for (unsigned t = 1; t < MT_TYPE_BUILTIN_END; t++) {
        w->levels.present |= UINT64_C(1) << t;
        w->levels.type[t].known = MT_COLUMNS_ALL;
    }
    for (unsigned i = 0; i < REGIONS; i++) {
        w->items[i].base = w->next_base;
        w->items[i].end = w->next_base += 1 << 20;
        w->items[i].type = MT_TYPE_PRIVATE;
        w->items[i].confidence = 'B';
        w->items[i].protection = 3;
    }
}

/* A new region takes the place of an old one; its type's levels follow. */
static void change(struct world *w, struct mt_sample *s)
{
    struct mt_interval *v = &w->items[random_below(w, REGIONS)];
    unsigned type = 1 + random_below(w, 6);
    int64_t *value = w->levels.type[type].value;
    int64_t bytes = (int64_t)(1 + random_below(w, 64)) << 16;

    w->ended = v->row;
    v->row = 0;
    v->base = w->next_base;
    v->end = w->next_base += (uint64_t)bytes;
    s->ended_regions = &w->ended;
    s->n_ended_regions = 1;
    if (random_below(w, 2) && value[MT_COLUMN_WS] > bytes)
        bytes = -bytes;
    value[MT_COLUMN_SIZE] += bytes > 0 ? bytes : 0;
    value[MT_COLUMN_COMMITTED] = value[MT_COLUMN_SIZE];
    value[MT_COLUMN_WS] += bytes;
    value[MT_COLUMN_PRIVATE] = value[MT_COLUMN_WS_PRIVATE] = value[MT_COLUMN_WS];
    for (unsigned c = MT_COUNTER_RSS_ANON; c <= MT_COUNTER_CPU_NS; c++) {
        w->counters.known |= UINT64_C(1) << c;
        w->counters.value[c] += random_below(w, 100000);
    }
}

static uint64_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static void feed(struct mt_recorder *r, struct world *w, int64_t seconds)
{
    for (int64_t i = 0; i < seconds; i++) {
        struct mt_sample s = {.t_ns = i * NS_PER_S,
                              .wall_ns = INT64_C(1700000000) * NS_PER_S + i * NS_PER_S,
                              .depth = i % CHANGE_EVERY ? MT_DEPTH_COUNTERS : MT_DEPTH_PAGES,
                              .own_bytes = 1 << 20,
                              .n_regions = REGIONS,
                              .levels = &w->levels,
                              .counters = &w->counters};
        int error;

        if (i % CHANGE_EVERY == 0) {
            change(w, &s);
            s.intervals = w->items;
            s.n_intervals = REGIONS;
        }
        error = mt_recorder_sample(r, &s);
        if (!error && !mt_recorder_can_wait(r))
            error = mt_recorder_commit(r);
        if (error)
            die("sample", error);
    }
}

int main(int argc, char **argv)
{
    int64_t seconds = (int64_t)((argc > 1 ? strtod(argv[1], NULL) : 30) * 86400);
    uint64_t most = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, before_close;
    const char *path = argc > 3 ? argv[3] : "/tmp/memtracer-bench-size.db";
    struct mt_os_facts *facts = mt_memory_alloc(sizeof(*facts));
    struct world *w = mt_memory_alloc(sizeof(*w));
    struct mt_run_info info = {.label = "bench",
                               .pid = mt_os_process_id(),
                               .interval_ms = 1000,
                               .commit_ms = 1000,
                               .max_file_bytes = most,
                               .facts = facts};
    struct mt_strings *strings;
    struct mt_recorder *r;
    int64_t begun;
    int error;

    unlink(path);
    mt_os_facts_read(info.pid, facts);
    begin(w);
    error = mt_strings_new(1024, 65536, &strings);
    if (!error)
        error = mt_recorder_open(path, &info, strings, &r);
    if (error)
        die("open", error);
    begun = mt_os_thread_cpu_ns();
    feed(r, w, seconds);
    before_close = mt_recorder_file_bytes(r);
    error = mt_recorder_close(r, "stopped", "");
    if (error)
        die("close", error);
    printf("{\"days\": %.2f, \"ns_a_tick\": %lld, \"bytes_recording\": %llu, \"bytes\": %llu}\n",
           (double)seconds / 86400, (long long)((mt_os_thread_cpu_ns() - begun) / seconds),
           (unsigned long long)before_close, (unsigned long long)size_of(path));
    return 0;
}
