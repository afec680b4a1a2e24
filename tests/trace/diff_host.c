/* SPDX-License-Identifier: MIT */
/* What two snapshots can know: makes random calls that change its address space and, every so many,
 * takes a sample; writes /proc/self/maps before and after it, and the blocks that malloc mapped:
 *     diff_host FILE.db LOG DATA ROUNDS CALLS_PER_ROUND SEED
 * mmap (private, shared, of a file, of a memfd), munmap, mprotect and mremap cut and join each
 * other at random pages of a window; malloc, realloc, free and mmap work where the system puts
 * them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "memtracer/memtracer.h"

#define PAGE ((size_t)4096)
#define WINDOW ((uintptr_t)0x100000000000)

enum { PAGES = 512, SPAN = 32, LIVE = 24, MAPS = 8, FILES = 3, TEXT = 1 << 20 };

static uint64_t state;
static int files[FILES];
static char *blocks[LIVE], text[TEXT];
static struct {
    char *base;
    size_t bytes;
} maps[MAPS];

static size_t pick(size_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % below);
}

static int rights(void)
{
    static const int some[] = {PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_NONE,
                               PROT_READ | PROT_EXEC};

    return some[pick(5)];
}

static void *window_page(void)
{
    return (void *)(WINDOW + pick(PAGES) * PAGE); /* NOLINT: an address of our own choice */
}

static void map_in_window(size_t bytes)
{
    int sharing = pick(3) ? MAP_PRIVATE : MAP_SHARED;

    if (pick(2))
        mmap(window_page(), bytes, rights(), sharing | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    else
        mmap(window_page(), bytes, rights(), sharing | MAP_FIXED, files[pick(FILES)],
             (off_t)(pick(SPAN) * PAGE));
}

static void call_in_window(void)
{
    size_t bytes = (1 + pick(SPAN)) * PAGE;

    switch (pick(5)) {
    case 0:
    case 1: map_in_window(bytes); break;
    case 2: munmap(window_page(), bytes); break;
    case 3: mprotect(window_page(), bytes, rights()); break;
    default:
        if (pick(2))
            mremap(window_page(), bytes, (1 + pick(SPAN)) * PAGE, 0);
        else
            mremap(window_page(), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, window_page());
    }
}

/* MAP_NORESERVE: so that the kernel does not join it with malloc's, whose blocks nobody could tell
 * from it then. */
static void call_elsewhere(void)
{
    size_t i = pick(MAPS);

    if (!maps[i].base) {
        maps[i].bytes = (1 + pick(SPAN)) * PAGE;
        maps[i].base = mmap(NULL, maps[i].bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    } else {
        munmap(maps[i].base, maps[i].bytes);
        maps[i].base = NULL;
    }
}

static void call_of_heap(void)
{
    size_t i = pick(LIVE), bytes = pick(2) ? pick(100000) : 131072 + pick(400000);

    if (!blocks[i]) {
        blocks[i] = malloc(bytes + 1);
    } else if (pick(3) == 0) {
        blocks[i] = realloc(blocks[i], bytes + 1);
    } else {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

static void call(void)
{
    if (pick(2))
        call_in_window();
    else if (pick(4))
        call_of_heap();
    else
        call_elsewhere();
}

static void write_all(int to, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(to, data, bytes);

        if (n < 0 && errno != EINTR)
            _exit(3);
        if (n > 0) {
            data += n;
            bytes -= (size_t)n;
        }
    }
}

static void write_maps(int log)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t bytes = 0;
    ssize_t n;

    while (bytes < TEXT && (n = read(fd, text + bytes, TEXT - bytes)) > 0)
        bytes += (size_t)n;
    close(fd);
    write_all(log, text, bytes);
}

/* A block that malloc mapped alone begins a page: 16 bytes of header, then what it handed out. */
static void write_blocks(int log)
{
    char line[64];

    for (size_t i = 0; i < LIVE; i++) {
        uintptr_t base = (uintptr_t)blocks[i] - 16;

        if (!blocks[i] || base % PAGE || (malloc_usable_size(blocks[i]) + 16) % PAGE)
            continue;
        write_all(log, line,
                  (size_t)snprintf(line, sizeof(line), "block %lx %lx\n", (unsigned long)base,
                                   (unsigned long)(base + malloc_usable_size(blocks[i]) + 16)));
    }
}

static void write_time(int log)
{
    struct timespec now;
    char line[64];

    clock_gettime(CLOCK_MONOTONIC, &now);
    write_all(log, line,
              (size_t)snprintf(line, sizeof(line), "time %lld%09ld\n", (long long)now.tv_sec,
                               now.tv_nsec));
}

static int sample(tracer *t, int log)
{
    write_all(log, "round\n", 6);
    write_maps(log);
    write_blocks(log);
    write_time(log);
    if (tracer_sample(t))
        return 1;
    write_time(log);
    write_maps(log);
    return 0;
}

static int open_files(const char *data)
{
    files[0] = open(data, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    files[1] = memfd_create("shared", MFD_CLOEXEC);
    files[2] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    return files[0] < 0 || files[1] < 0 || files[2] < 0 ||
           ftruncate(files[0], (off_t)(2 * SPAN * PAGE)) ||
           ftruncate(files[1], (off_t)(2 * SPAN * PAGE));
}

int main(int argc, char **argv)
{
    int log = argc == 7 ? open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    tracer *t;

    if (log < 0 || open_files(argv[3]) || tracer_start(argv[1], NULL, &t) || tracer_pause(t))
        return 1;
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    mallopt(M_TRIM_THRESHOLD, 64 * 1024);
    state = 88172645463325252u ^ strtoull(argv[6], NULL, 10) * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < strtoul(argv[4], NULL, 10); i++) {
        if (sample(t, log))
            return 2;
        for (size_t k = 0; k < strtoul(argv[5], NULL, 10); k++)
            call();
    }
    return tracer_stop(t) != 0;
}
