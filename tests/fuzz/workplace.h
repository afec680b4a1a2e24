/* SPDX-License-Identifier: MIT */
/* A folder in memory that the target works in, so that no input reaches another. */
#ifndef TEST_FUZZ_WORKPLACE_H
#define TEST_FUZZ_WORKPLACE_H

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

static char folder_path[64];

static void folder_empty(void)
{
    DIR *d = opendir(".");
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            unlink(e->d_name);
    if (d)
        closedir(d);
}

static inline void folder_leave(void)
{
    folder_empty();
    rmdir(folder_path);
}

static void folder_make(void)
{
    snprintf(folder_path, sizeof(folder_path), "%s/memtracer-fuzz-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (!mkdtemp(folder_path) || chdir(folder_path))
        abort();
}

/* The first call makes it and goes there; at the end of the program it is removed. */
static inline void folder_enter(void)
{
    if (folder_path[0])
        return;
    folder_make();
    atexit(folder_leave);
}

static void folder_write(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(name, "wb");

    if (!file || fwrite(bytes, 1, n, file) != n || fclose(file))
        abort();
}

#endif
