/* SPDX-License-Identifier: MIT */
/* Description: A22, a host that counts what the sampler's thread takes from the host's allocator
 * and maps once it has warmed up: `steady FILE` with a tracer of its own, `steady` recorded by
 * others. Prints how many calls came from SQLite and how many from anybody else; steady.py judges.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memtracer/memtracer.h"

#define ROUND_US 3000

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);

static atomic_int counting;
static atomic_ulong n_by_sqlite, n_by_others, n_maps;
static pid_t sampler;

/* Who called: the library that the return address lies in. */
static void count(void *caller)
{
    Dl_info info;

    if (!counting || (pid_t)syscall(SYS_gettid) != sampler)
        return;
    if (dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libsqlite3"))
        n_by_sqlite++;
    else
        n_by_others++;
}

void *malloc(size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_realloc(p, bytes);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (counting && (pid_t)syscall(SYS_gettid) == sampler)
        n_maps++;
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset); /* NOLINT */
}

/* The thread of the sampler's name; 0 = none. */
static pid_t find_sampler(void)
{
    char path[64], name[32];

    for (pid_t id = getpid() + 1; id < getpid() + 1000; id++) {
        FILE *f;
        int ours;

        snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)id);
        f = fopen(path, "r");
        if (!f)
            continue;
        ours = fgets(name, sizeof(name), f) && !strcmp(name, "memtracer\n");
        fclose(f);
        if (ours)
            return id;
    }
    return 0;
}

/* Each round is something new to see, and leaves nothing behind. */
static void work(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        size_t bytes = (size_t)(1 + i % 16) << 18;
        char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        void *block = malloc(200000);

        if (p == MAP_FAILED || !block)
            exit(1);
        memset(p, 1, bytes);
        memset(block, 1, 200000);
        usleep(ROUND_US);
        munmap(p, bytes);
        free(block);
    }
}

int main(int argc, char **argv)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;

    o.interval_ms = 10;
    o.commit_ms = 100;
    if (argc > 1 && tracer_start(argv[1], &o, &t)) {
        fprintf(stderr, "%s\n", tracer_last_error());
        return 1;
    }
    sampler = find_sampler();
    work(700);
    counting = 1;
    work(700);
    counting = 0;
    printf("sampler %d sqlite %lu others %lu maps %lu\n", sampler != 0, n_by_sqlite, n_by_others,
           n_maps);
    return tracer_stop(t) ? 1 : 0;
}
