/* SPDX-License-Identifier: MIT */
/* Description: C11, a host linked with musl, whose threads have small stacks, with thread-local
 * storage of 120 kB: the sampler's stack is large enough all the same, on every rung of its work.
 * Built by musl_host.py. Exit 0 when all is as it must be. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memtracer/memtracer.h"

static __thread volatile char large_storage[122880];

static int failed(const char *what)
{
    printf("%s: %s\n", what, tracer_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer_stats stats = {.size = sizeof(stats)};
    tracer *t = NULL;

    large_storage[0] = 1;
    o.interval_ms = 2;
    o.commit_ms = 10;
    o.max_file_bytes = 1 << 20; /* retention is at work, too */
    if (argc < 2 || tracer_start(argv[1], &o, &t))
        return failed("start");
    for (int i = 0; i < 1000; i++) {
        size_t bytes = (size_t)(1 + i % 9) << 16;
        char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        memset(p, 1, bytes);
        if (i % 10 == 0 && (tracer_mark(t, "turn") || tracer_sample(t)))
            return failed("use");
        usleep(1000);
        munmap(p, bytes);
    }
    if (tracer_get_stats(t, &stats) || stats.n_failed || stats.n_ticks < 100)
        return failed("ticks");
    return tracer_stop(t) ? failed("stop") : 0;
}
