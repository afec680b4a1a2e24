/* SPDX-License-Identifier: MIT */
/* bench: what recording calls costs the host: bench_stacks malloc|map|touch. Prints nanoseconds of
 * the calling thread's CPU time. malloc: blocks of 16 to 2015 bytes, far below the threshold,
 * filled and freed; map: mmap and munmap of 1 MiB; touch: the same with one page written.
 * What depends on the neighbours that a preloaded library brings is kept out: a heap that is
 * trimmed or not by what lies on top, a mapping that the kernel joins with the next one or not. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

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

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "malloc";
    struct timespec t;

    if (!strcmp(what, "malloc"))
        small_blocks();
    else
        maps(!strcmp(what, "touch"));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    printf("%lld\n", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
    return 0;
}
