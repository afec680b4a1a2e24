/* SPDX-License-Identifier: MIT */
/* base/os/posix: process identity, forks, paths, keeping the library loaded.
 * Called by api/ in the host's threads and by sampler/. Must not allocate.
 * Uses: madvise MADV_WIPEONFORK (Linux 4.14); getrandom (3.17); dladdr. */
#define _GNU_SOURCE
#include "base/os/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/random.h>
#endif

#include "base/memory.h"

static atomic_uint generation = 1;
static pthread_once_t watch_once = PTHREAD_ONCE_INIT;

/* One word that the kernel clears in every child, also in those made without the C library. */
static atomic_uint *alive_here;

static void watch_forks(void)
{
    alive_here = mt_memory_alloc(sizeof(*alive_here));
#if defined(MADV_WIPEONFORK)
    if (alive_here && madvise(alive_here, mt_os_page_bytes(), MADV_WIPEONFORK)) {
        mt_memory_free(alive_here);
        alive_here = NULL;
    }
#endif
    if (alive_here)
        atomic_store(alive_here, 1);
}

uint32_t mt_os_fork_generation(void)
{
    unsigned wiped = 0;

    pthread_once(&watch_once, watch_forks);
    if (!alive_here)
        return (uint32_t)getpid();
    if (atomic_load(alive_here) == 0 && atomic_compare_exchange_strong(alive_here, &wiped, 1))
        atomic_fetch_add(&generation, 1);
    return atomic_load(&generation);
}

uint32_t mt_os_process_id(void)
{
    return (uint32_t)getpid();
}

bool mt_os_path_absolute(const char *path, char *out, size_t out_bytes)
{
    size_t used = 0;

    if (path[0] != '/') {
        if (!getcwd(out, out_bytes))
            return false;
        used = strlen(out);
        if (used + 1 >= out_bytes)
            return false;
        out[used++] = '/';
    }
    if (strlen(path) >= out_bytes - used)
        return false;
    memcpy(out + used, path, strlen(path) + 1);
    return true;
}

bool mt_os_path_irregular(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

void mt_os_library_pin(void)
{
    static const char here;
    Dl_info info;

    if (dladdr(&here, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

bool mt_os_process_alive(uint32_t pid)
{
    return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

void mt_os_random(void *out, size_t bytes)
{
    uint64_t mix = (uint64_t)mt_os_monotonic_ns() ^ (uint64_t)getpid() << 32;
    unsigned char *p = out;

#if defined(__linux__)
    if (getrandom(out, bytes, GRND_NONBLOCK) == (ssize_t)bytes)
        return;
#endif
    for (size_t i = 0; i < bytes; i++) {
        mix = mix * 6364136223846793005u + 1442695040888963407u;
        p[i] = (unsigned char)(mix >> 33);
    }
}
