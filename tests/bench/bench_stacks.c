/* SPDX-License-Identifier: MIT */
/* bench: what recording calls costs the host: bench_stacks malloc|threaded|map|touch. Prints
 * nanoseconds of CPU time that the calling thread spent from main() on. malloc: blocks of 16 to
 * 2015 bytes, far below the threshold, filled and freed; threaded: the same beside a thread that
 * sleeps; map: mmap and munmap of 1 MiB; touch: the same with one page written. From a process's
 * second thread on the C library's malloc takes its locks, whoever made that thread: "malloc" shows
 * what it costs to be no longer alone, "threaded" what else there is. What depends on the
 * neighbours that a preloaded library brings is kept out: a heap that is trimmed or not by what
 * lies on top, a mapping that the kernel joins with the next one or not. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 1000, ROUNDS = 1500, MAPS = 60000, MIB = 1 << 20 };

static void small_blocks(void)
{
    static void *volatile blocks[BLOCKS];
    unsigned random = 1;

    mallopt(M_TRIM_THRESHOLD, 64 * MIB);
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < BLOCKS; i++) {
            size_t bytes;

            random = random * 1103515245u + 12345u;
            bytes = 16 + (random >> 16) % 2000;
            blocks[i] = malloc(bytes);
            if (blocks[i])
                memset(blocks[i], 1, bytes);
        }
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
}

static void maps(int touch)
{
    int rights = touch ? PROT_READ | PROT_WRITE : PROT_READ;

    for (int i = 0; i < MAPS; i++) {
        char *p = mmap(NULL, MIB, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (touch)
            *(volatile char *)p = 1;
        munmap(p, MIB);
    }
}

static void *sleep_forever(void *user)
{
    for (;;)
        pause();
    return user;
}

static void threaded_blocks(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, sleep_forever, NULL))
        exit(2);
    small_blocks();
}

static long long cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "malloc";
    long long begun = cpu_ns();

    if (!strcmp(what, "malloc"))
        small_blocks();
    else if (!strcmp(what, "threaded"))
        threaded_blocks();
    else
        maps(!strcmp(what, "touch"));
    printf("%lld\n", cpu_ns() - begun);
    return 0;
}
