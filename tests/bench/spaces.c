/* SPDX-License-Identifier: MIT */
/* bench: address spaces of known shape, from a small program to 8 GB and 20,000 mappings.
 * In: a name. Out: this process looks like that. Nothing is ever given back. */
#define _GNU_SOURCE
#include "spaces.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define PAGE ((size_t)4096)

const char *const space_names[][2] = {
    {"a", "small program: 6 libraries, 16 anonymous mappings, 19 MB"},
    {"b", "typical service: 88 libraries, 100 threads, 20 half-used arenas, 370 anonymous, 1 GB"},
    {"bx", "the same, physically scattered"},
    {"c", "many mappings: 2,000 of files, 17,950 anonymous of 100 to 340 KB, 4 GB"},
    {"d", "large: 20 x 410 MB of small pages"},
    {"dx", "the same, physically scattered"},
    {"e", "large with huge pages: 20 x 410 MB"},
    {"f", "small program with a reservation of 1 TB and 16 windows in it"},
    {"g", "file-heavy: 500 libraries of 4 segments"},
    {"h", "fragmented: every second page of 1 GB"},
    {"i", "sparse: 64 GB reserved, a page touched in each 2 MB"},
    {"nN", "N mappings of 16 KB, for growth against their number"},
    {"rN", "N mappings of 1 GB, for growth against resident memory"},
    {"mN", "N mappings of one memory object of 1 GB: N GB resident in 1 GB of memory"},
    {NULL, NULL},
};

static unsigned seed = 12345;

static unsigned random_below(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % n;
}

static char *map_flags(size_t bytes, int protection, int flags)
{
    char *p =
        mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

    if (p == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return p;
}

/* A page without rights above it keeps the mapping from merging with the next. */
static char *map_apart(size_t bytes)
{
    char *p = map_flags(bytes + PAGE, PROT_NONE, 0);

    mprotect(p, bytes, PROT_READ | PROT_WRITE);
    madvise(p, bytes, MADV_NOHUGEPAGE);
    munmap(p + bytes, PAGE);
    return p;
}

static void touch(char *p, size_t bytes, size_t step)
{
    for (size_t at = 0; at < bytes; at += step)
        p[at] = 1;
}

/* Touches the pages in an order that spreads them over physical memory. */
static void touch_scattered(char *p, size_t bytes)
{
    size_t n = bytes / PAGE, at = 0, stride = n / 2 + 7919;

    while (n % stride == 0 || stride % 2 == 0)
        stride++;
    for (size_t i = 0; i < n; i++, at = (at + stride) % n)
        p[at * PAGE] = 1;
    touch(p, bytes, PAGE);
}

static int make_file(size_t bytes)
{
    int fd = memfd_create("bench-library", MFD_CLOEXEC);
    char block[4096] = {1};

    for (size_t at = 0; at < bytes; at += sizeof(block))
        if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
            exit(2);
    return fd;
}

/* One library of four segments as the loader maps it. */
static void map_library(size_t bytes)
{
    static const int rights[4] = {PROT_READ, PROT_READ | PROT_EXEC, PROT_READ,
                                  PROT_READ | PROT_WRITE};
    int fd = make_file(bytes);
    size_t segment = bytes / 4 / PAGE * PAGE;
    char *base = map_flags(bytes + PAGE, PROT_NONE, 0);
    volatile char sum = 0;

    for (size_t i = 0; i < 4; i++) {
        char *p = mmap(base + i * segment, segment, rights[i], MAP_PRIVATE | MAP_FIXED, fd,
                       (off_t)(i * segment));

        for (size_t at = 0; at < segment; at += PAGE)
            sum = (char)(sum + p[at]);
        if (i == 3)
            touch(p, segment, 2 * PAGE);
    }
    munmap(base + 4 * segment, bytes + PAGE - 4 * segment);
    close(fd);
}

static void libraries(unsigned n, size_t bytes)
{
    for (unsigned i = 0; i < n; i++)
        map_library(bytes);
}

static void anonymous(unsigned n, size_t least, size_t most)
{
    for (unsigned i = 0; i < n; i++) {
        size_t bytes = (least + random_below((unsigned)(most - least) + 1)) / PAGE * PAGE;

        touch(map_apart(bytes), bytes, PAGE);
    }
}

static void *sleep_forever(void *user)
{
    char room[40 * 1024];

    memset(room, 1, sizeof(room));
    for (;;)
        pause();
    return user;
}

static void threads(unsigned n)
{
    pthread_attr_t attributes;
    pthread_t t;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 * KIB);
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&t, &attributes, sleep_forever, NULL))
            exit(2);
}

static void arenas(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char *p = map_flags(64 * MIB, PROT_NONE, 0);

        mprotect(p, 32 * MIB, PROT_READ | PROT_WRITE);
        madvise(p, 32 * MIB, MADV_NOHUGEPAGE);
        touch(p, 32 * MIB, PAGE);
    }
}

static void build_small(void)
{
    libraries(6, 512 * KIB);
    anonymous(16, 512 * KIB, 1536 * KIB);
}

static void build_typical(void)
{
    libraries(88, 1 * MIB);
    threads(100);
    arenas(20);
    anonymous(370, 300 * KIB, 1100 * KIB);
}

static void build_scattered(void)
{
    size_t total = 900 * MIB;
    char *p;

    libraries(88, 1 * MIB);
    threads(100);
    p = map_flags(total + 390 * PAGE, PROT_READ | PROT_WRITE, 0);
    madvise(p, total + 390 * PAGE, MADV_NOHUGEPAGE);
    touch_scattered(p, total + 390 * PAGE);
    for (size_t i = 1; i <= 390; i++)
        mprotect(p + i * (total / 390 / PAGE + 1) * PAGE - PAGE, PAGE, PROT_NONE);
}

static void build_large(int scattered)
{
    for (int i = 0; i < 20; i++) {
        char *p = map_apart(410 * MIB);

        if (scattered)
            touch_scattered(p, 410 * MIB);
        else
            touch(p, 410 * MIB, PAGE);
    }
}

static void build_huge(void)
{
    for (int i = 0; i < 20; i++) {
        char *p = map_flags(412 * MIB + PAGE, PROT_NONE, 0);
        size_t bytes = 410 * MIB;

        mprotect(p, bytes, PROT_READ | PROT_WRITE);
        madvise(p, bytes, MADV_HUGEPAGE);
        touch(p, bytes, PAGE);
    }
}

static void build_reservation(void)
{
    char *p;

    build_small();
    p = map_flags(1024 * GIB, PROT_NONE, 0);
    for (size_t i = 0; i < 16; i++) {
        mprotect(p + i * 64 * GIB, 1 * MIB, PROT_READ | PROT_WRITE);
        touch(p + i * 64 * GIB, 256 * KIB, PAGE);
    }
}

static void build_fragmented(void)
{
    for (int i = 0; i < 8; i++)
        touch(map_apart(256 * MIB), 256 * MIB, 2 * PAGE);
}

static void build_sparse(void)
{
    char *p = map_apart(64 * GIB);

    touch(p, 64 * GIB, 2 * MIB);
}

static void build_shared(unsigned n)
{
    int fd = memfd_create("bench-object", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, (off_t)GIB))
        exit(2);
    for (unsigned i = 0; i < n; i++) {
        char *p = mmap(NULL, GIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (p == MAP_FAILED)
            exit(2);
        touch(p, GIB, PAGE);
    }
    close(fd);
}

/* Names with a number. */
static int build_counted(const char *name)
{
    unsigned n = (unsigned)strtoul(name + 1, NULL, 10);

    if (n == 0 || !strchr("nrm", name[0]))
        return -1;
    if (name[0] == 'm') {
        build_shared(n);
        return 0;
    }
    for (unsigned i = 0; i < n; i++) {
        size_t bytes = name[0] == 'n' ? 16 * KIB : GIB;

        touch(map_apart(bytes), bytes, PAGE);
    }
    return 0;
}

int space_build(const char *name)
{
    if (!strcmp(name, "a"))
        build_small();
    else if (!strcmp(name, "b"))
        build_typical();
    else if (!strcmp(name, "bx"))
        build_scattered();
    else if (!strcmp(name, "c")) {
        libraries(500, 128 * KIB);
        anonymous(17950, 100 * KIB, 340 * KIB);
    } else if (!strcmp(name, "d") || !strcmp(name, "dx"))
        build_large(name[1] == 'x');
    else if (!strcmp(name, "e"))
        build_huge();
    else if (!strcmp(name, "f"))
        build_reservation();
    else if (!strcmp(name, "g"))
        libraries(500, 640 * KIB);
    else if (!strcmp(name, "h"))
        build_fragmented();
    else if (!strcmp(name, "i"))
        build_sparse();
    else
        return build_counted(name);
    return 0;
}
