/* SPDX-License-Identifier: MIT */
/* tools: interrupts and time for `record`, on POSIX.
 * Uses: pthread_sigmask, sigtimedwait, clock_gettime, stat, mkdir, rmdir (POSIX.1-2001). Called by
 * cmd_record.c, out_file.c. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../platform.h"

#define NS 1000000000

static sigset_t interrupts(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

void platform_hold_interrupts(void)
{
    sigset_t set = interrupts();

    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

bool platform_wait(int64_t ns)
{
    const struct timespec time = {(time_t)(ns / NS), (long)(ns % NS)};
    sigset_t set = interrupts();

    return sigtimedwait(&set, NULL, &time) > 0;
}

bool platform_is_there(const char *path)
{
    struct stat s;

    return !lstat(path, &s);
}

bool platform_is_irregular(const char *path)
{
    struct stat s;

    return !stat(path, &s) && !S_ISREG(s.st_mode);
}

int64_t platform_file_bytes(const char *path)
{
    struct stat s;

    return !stat(path, &s) && S_ISREG(s.st_mode) ? (int64_t)s.st_size : -1;
}

int platform_rename(const char *from, const char *to)
{
    return rename(from, to);
}

FILE *platform_new_file(const char *path)
{
    return fopen(path, "wbx");
}

int platform_make_folder(const char *path)
{
    if (!mkdir(path, 0777))
        return 1;
    return errno == EEXIST ? 0 : -1;
}

void platform_remove_folder(const char *path)
{
    rmdir(path);
}

int64_t platform_monotonic_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * NS + time.tv_nsec;
}
