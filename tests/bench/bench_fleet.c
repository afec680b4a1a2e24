/* SPDX-License-Identifier: MIT */
/* bench_fleet FOLDER RUNS SAMPLES: recordings of a fleet, one file a process, by import.h.
 * Every process runs one of eight releases on one of forty hosts and is looked at each 10 s: a heap
 * that breathes with the time of day, a stack, a cache that fills, code. Releases 1.4 and 1.5 keep
 * 51.8 MiB at every third reload, 1.6 leaks 40 KiB a look, 1.7 has both repaired. The same
 * arguments give the same values. Prints what was written. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memtracer/import.h"

#define SECOND INT64_C(1000000000)
#define START (INT64_C(1767225600) * SECOND) /* 2026-01-01 */
#define LOOK_SECONDS 10
#define LOOKS_A_DAY 8640
#define LOOKS_A_RELOAD 360
#define KEPT_BYTES 54280192u
#define MIB (1u << 20)
#define RELEASES 8
#define HOSTS 40

struct process {
    int number, release;
    uint64_t random;
    int64_t start_ns;
    uint64_t kept;
    uint32_t type[4]; /* heap, stack, mapped_file, image */
    uint64_t rows;
};

static uint32_t any(struct process *p, uint32_t below)
{
    p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(p->random >> 33) % below;
}

static uint64_t heap_bytes(struct process *p, int look)
{
    double day = 1 - cos(6.283185307179586 * look / LOOKS_A_DAY);
    int reload = look / LOOKS_A_RELOAD, steps = p->release == 4 || p->release == 5;

    if (look % LOOKS_A_RELOAD == 0 && reload && reload % 3 == 0 && steps)
        p->kept += KEPT_BYTES;
    if (p->release == 6)
        p->kept += 10 * 4096;
    return 64 * MIB + p->kept + (uint64_t)(day * 16 * MIB) / 4096 * 4096 + any(p, 2048) * 4096;
}

static void set(tracer_type_bytes *t, uint32_t type, uint64_t ws)
{
    *t = (tracer_type_bytes){.type = type,
                             .known = 1u << TRACER_COLUMN_SIZE | 1u << TRACER_COLUMN_COMMITTED |
                                      1u << TRACER_COLUMN_WS | 1u << TRACER_COLUMN_SWAP,
                             .size_bytes = ws + 16 * MIB,
                             .committed_bytes = ws + MIB,
                             .ws_bytes = ws};
}

static int look_at(struct process *p, tracer_import *i, int look)
{
    tracer_type_bytes t[4];
    uint32_t n = 1;

    set(&t[0], p->type[0], heap_bytes(p, look));
    if (look == 0 || any(p, 10) == 0)
        set(&t[n++], p->type[1], 132 * 1024 + any(p, 8) * 4096);
    if (look == 0 || (look % 6 == 0 && look < LOOKS_A_DAY / 4))
        set(&t[n++], p->type[2], (uint64_t)look * 8192);
    if (look == 0)
        set(&t[n++], p->type[3], 24 * MIB);
    p->rows += n;
    return tracer_import_sample(i, p->start_ns + look * LOOK_SECONDS * SECOND, t, n);
}

static int run_process(struct process *p, tracer_import *i, int looks)
{
    static const char *const names[] = {"heap", "stack", "mapped_file", "image"};
    int error = 0;

    for (int k = 0; k < 4 && !error; k++)
        error = tracer_import_type(i, names[k], &p->type[k]);
    if (!error)
        error = tracer_import_life(i, p->start_ns);
    for (int look = 0; look < looks && !error; look++) {
        if (look && look % LOOKS_A_RELOAD == 0)
            error = tracer_import_mark(i, p->start_ns + look * LOOK_SECONDS * SECOND - SECOND,
                                       "reload");
        if (!error)
            error = look_at(p, i, look);
    }
    return error;
}

static int write_process(const char *folder, int number, int runs, int looks, uint64_t *rows)
{
    struct process p = {.number = number,
                        .release = (int)((int64_t)number * RELEASES / runs),
                        .random = (uint64_t)number + 1};
    tracer_import_options o = {.size = sizeof(o), .interval_ms = LOOK_SECONDS * 1000};
    char path[4096], label[32];
    tracer_import *i;
    int error;

    /* A release lives for a week; its processes begin within it. */
    p.start_ns = START + p.release * 7 * 86400 * SECOND + number * SECOND;
    snprintf(path, sizeof(path), "%s/%04d.db", folder, number);
    snprintf(label, sizeof(label), "server 1.%d", p.release);
    o.label = label;
    error = tracer_import_open(path, &o, &i);
    if (!error) {
        int closed;

        error = run_process(&p, i, looks);
        closed = tracer_import_close(i);
        error = error ? error : closed;
    }
    *rows += p.rows;
    if (error)
        fprintf(stderr, "%s: %s\n", path, tracer_last_error());
    return error;
}

int main(int argc, char **argv)
{
    int runs = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    int looks = argc > 3 ? (int)strtol(argv[3], NULL, 10) : LOOKS_A_DAY;
    uint64_t rows = 0;

    if (argc < 3 || runs < 1 || looks < 1) {
        fprintf(stderr, "usage: bench_fleet FOLDER RUNS [SAMPLES]\n");
        return 2;
    }
    for (int number = 0; number < runs; number++)
        if (write_process(argv[1], number, runs, looks, &rows))
            return 1;
    printf("{\"runs\": %d, \"samples\": %" PRId64 ", \"levels\": %" PRIu64 "}\n", runs,
           (int64_t)runs * looks, rows);
    return 0;
}
