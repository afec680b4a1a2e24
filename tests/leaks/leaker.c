/* SPDX-License-Identifier: MIT */
/* tests/leaks: a program that treats memory in one known way: leaker KIND FILE.
 * In: a kind. Out: a recording of itself in FILE, a tick each 10 ms for a few seconds.
 * Run by leaks.py, which knows what each kind must be called. */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "memtracer/memtracer.h"

#define KIB 1024u
#define TICKS 300
#define MOST_BLOCKS 65536

static void *blocks[MOST_BLOCKS];
static unsigned n_blocks;
static tracer *t;

static void pause_ms(long ms)
{
    struct timespec s = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&s, NULL);
}

static void *take(size_t bytes)
{
    void *p = malloc(bytes);

    if (!p)
        exit(2);
    memset(p, 1, bytes);
    return blocks[n_blocks++ % MOST_BLOCKS] = p;
}

static void give(unsigned from)
{
    while (n_blocks > from)
        free(blocks[--n_blocks]);
}

/* Six steps of 4 MiB, each after a mark, with busy work that keeps nothing between them. */
static void punctuated(int i)
{
    if (i % 45 == 30) {
        tracer_mark(t, "load");
        take(4096 * KIB);
    }
    free(malloc(64 * KIB));
}

static void linear(int i)
{
    (void)i;
    take(40 * KIB);
}

/* Every tenth tick a wave of small blocks, larger each time, then one block that stays on top of
 * it: all of the wave is given back, but the allocator cannot return it to the system. */
static void retention(int i)
{
    static void *volatile pins[TICKS];

    if (i % 10 != 9)
        return;
    for (int k = 0; k < 64 * i; k++)
        take(1040);
    pins[i % TICKS] = malloc(1040);
    if (!pins[i % TICKS])
        exit(2);
    give(0);
}

static void sawtooth(int i)
{
    if (i % 25 == 24)
        give(0);
    else
        take(300 * KIB);
}

static void warmup(int i)
{
    if (i < 100)
        take(200 * KIB);
    free(malloc(64 * KIB));
}

/* A file that is mapped and read further and further. */
static void file_growth(int i)
{
    static char *map;
    static int fd = -1;
    volatile char sum = 0;

    if (fd < 0) {
        char path[] = "leaker-XXXXXX";

        fd = mkstemp(path);
        unlink(path);
        if (fd < 0 || ftruncate(fd, (off_t)TICKS * 128 * 1024) != 0)
            exit(2);
        map = mmap(NULL, (size_t)TICKS * 128 * KIB, PROT_READ, MAP_SHARED, fd, 0);
        madvise(map, (size_t)TICKS * 128 * KIB, MADV_RANDOM);
    }
    for (size_t k = 0; k < 32; k++)
        sum = (char)(sum + map[((size_t)i * 32 + k) * 4096]);
}

/* 8 MiB from the start, and a wave of 1 MiB taken in ten ticks and given back. */
static void steady(int i)
{
    unsigned kept = 64;

    while (n_blocks < kept)
        take(128 * KIB - 64);
    if (i % 20 == 19)
        give(kept);
    else if (i % 20 >= 10)
        take(112 * KIB);
}

/* The same, above 4 MiB more. */
static void steady_more(int i)
{
    static void *volatile more;

    if (!more)
        more = memset(malloc(4096 * KIB), 1, 4096 * KIB);
    steady(i);
}

static const struct {
    const char *name;
    void (*tick)(int i);
} kinds[] = {
    {"punctuated", punctuated}, {"linear", linear},           {"retention", retention},
    {"sawtooth", sawtooth},     {"warmup", warmup},           {"file_growth", file_growth},
    {"steady", steady},         {"steady_more", steady_more},
};

int main(int argc, char **argv)
{
    tracer_options options = TRACER_OPTIONS_INIT;

    options.interval_ms = 10;
    options.budget_ns = 5000000;
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    for (size_t k = 0; argc == 3 && k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        if (strcmp(kinds[k].name, argv[1]) != 0)
            continue;
        if (tracer_start(argv[2], &options, &t))
            return 2;
        for (int i = 0; i < TICKS; i++) {
            kinds[k].tick(i);
            pause_ms(10);
        }
        return tracer_stop(t) ? 2 : 0;
    }
    fprintf(stderr, "usage: leaker KIND FILE\n");
    return 2;
}
