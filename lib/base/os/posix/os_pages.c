/* SPDX-License-Identifier: MIT */
/* base/os/posix: pages of memory. Called by base/memory.c only.
 * Uses: mmap MAP_NORESERVE; prctl PR_SET_VMA_ANON_NAME (Linux 5.17 with CONFIG_ANON_VMA_NAME). */
#define _GNU_SOURCE
#include "base/os/os.h"

#include <sys/mman.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#endif

#include "base/compiler.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

/* A label in maps, where the kernel keeps labels. */
static void name_pages(void *p MT_UNUSED, size_t bytes MT_UNUSED)
{
#if defined(__linux__)
    prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, (unsigned long)p, bytes, "memtracer");
#endif
}

void *mt_os_pages_map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    if (p == MAP_FAILED)
        return NULL;
#if defined(MADV_NOHUGEPAGE)
    /* One byte must not cost 2 MiB; the flag also keeps the block apart from its neighbours. */
    madvise(p, bytes, MADV_NOHUGEPAGE);
#endif
    name_pages(p, bytes);
    return p;
}

void mt_os_pages_unmap(void *p, size_t bytes)
{
    munmap(p, bytes);
}

size_t mt_os_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}
