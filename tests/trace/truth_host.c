/* SPDX-License-Identifier: MIT */
/* Ground truth: makes random mmap, munmap, mremap, mprotect, malloc, calloc, realloc, free calls in
 * several threads at a given pace and writes what it did, one line a call, to a file:
 *     truth_host LOG CALLS_PER_THREAD THREADS CALLS_PER_SECOND MIN
 * A line: thread id, name, address, bytes, old address, old bytes, rights. Calls below MIN and
 * their ends are made, but are not in the log. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LIVE = 64, THREADS_MOST = 8, PAGE = 4096 };

struct line {
    const char *name;
    uint64_t address, bytes, old_address, old_bytes;
    int rights;
};

struct piece {
    char *base;
    size_t bytes;
    int tracked; /* its end is an event */
};

struct worker {
    pthread_t id;
    long tid;
    uint64_t random;
    struct piece maps[LIVE], blocks[LIVE];
    struct line *lines;
    size_t n;
};

static size_t n_calls, n_threads, pace, min_bytes;
static struct worker workers[THREADS_MOST];

static size_t pick(struct worker *w, size_t below)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (size_t)(w->random % below);
}

static void note(struct worker *w, const char *name, const struct piece *now, uint64_t old_address,
                 size_t old_bytes, int rights)
{
    w->lines[w->n++] =
        (struct line){name, (uintptr_t)now->base, now->bytes, old_address, old_bytes, rights};
}

static void map_call(struct worker *w)
{
    struct piece *p = &w->maps[pick(w, LIVE)], old = *p;
    size_t bytes = (1 + pick(w, 64)) * PAGE;

    if (!p->base) {
        p->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        p->bytes = bytes;
        note(w, "mmap", p, 0, 0, 3);
    } else if (pick(w, 3) == 0) {
        p->base = mremap(p->base, p->bytes, bytes, MREMAP_MAYMOVE);
        p->bytes = bytes;
        note(w, "mremap", p, (uintptr_t)old.base, old.bytes, 0);
    } else if (pick(w, 2) == 0) {
        mprotect(p->base, p->bytes, PROT_READ);
        note(w, "mprotect", p, 0, 0, 1);
    } else {
        munmap(p->base, p->bytes);
        note(w, "munmap", p, 0, 0, 0);
        p->base = NULL;
    }
}

static void take(struct worker *w, struct piece *p, size_t bytes)
{
    if (pick(w, 2)) {
        p->base = malloc(bytes);
        p->tracked = bytes >= min_bytes;
        p->bytes = bytes;
        if (p->tracked)
            note(w, "malloc", p, 0, 0, 0);
    } else {
        p->base = calloc(bytes / 16, 16);
        p->bytes = bytes / 16 * 16;
        p->tracked = p->bytes >= min_bytes;
        if (p->tracked)
            note(w, "calloc", p, 0, 0, 0);
    }
}

static void block_call(struct worker *w)
{
    struct piece *p = &w->blocks[pick(w, LIVE)], old = *p;
    uint64_t old_address = (uintptr_t)p->base;
    size_t bytes = 1024 + pick(w, 2 * min_bytes);

    if (!p->base) {
        take(w, p, bytes);
    } else if (pick(w, 3) == 0) {
        p->base = realloc(p->base, bytes);
        p->bytes = bytes;
        if (!old.tracked)
            old.bytes = 0; /* nobody knew it */
        p->tracked = old.tracked || bytes >= min_bytes;
        if (p->tracked)
            note(w, "realloc", p, old_address, old.bytes, 0);
    } else {
        if (p->tracked)
            note(w, "free", p, 0, 0, 0);
        free(p->base);
        p->base = NULL;
    }
}

static void keep_pace(const struct timespec *begun, size_t n)
{
    struct timespec until = *begun;
    uint64_t ns = (uint64_t)n * 1000000000u / pace;

    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec += (long)(ns % 1000000000u);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void *work(void *user)
{
    struct worker *w = user;
    struct timespec begun;

    w->tid = gettid();
    clock_gettime(CLOCK_MONOTONIC, &begun);
    while (w->n < n_calls) {
        if (pick(w, 2))
            map_call(w);
        else
            block_call(w);
        if (w->n % 64 == 0)
            keep_pace(&begun, w->n);
    }
    return NULL;
}

static void write_log(const char *path)
{
    FILE *log = fopen(path, "w");

    for (size_t t = 0; log && t < n_threads; t++)
        for (size_t i = 0; i < workers[t].n; i++) {
            const struct line *l = &workers[t].lines[i];

            fprintf(log, "%ld %s %lx %lu %lx %lu %d\n", workers[t].tid, l->name,
                    (unsigned long)l->address, (unsigned long)l->bytes,
                    (unsigned long)l->old_address, (unsigned long)l->old_bytes, l->rights);
        }
    if (log)
        fclose(log);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 1;
    n_calls = strtoul(argv[2], NULL, 10);
    n_threads = strtoul(argv[3], NULL, 10);
    pace = strtoul(argv[4], NULL, 10) / n_threads;
    min_bytes = strtoul(argv[5], NULL, 10);
    for (size_t t = 0; t < n_threads; t++) {
        workers[t].random = 88172645463325252u + t;
        workers[t].lines = calloc(n_calls + 1, sizeof(struct line));
    }
    for (size_t t = 0; t < n_threads; t++)
        pthread_create(&workers[t].id, NULL, work, &workers[t]);
    for (size_t t = 0; t < n_threads; t++)
        pthread_join(workers[t].id, NULL);
    write_log(argv[1]);
    return 0;
}
