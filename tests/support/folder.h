/* SPDX-License-Identifier: MIT */
/* A folder of the test's own, and its end. */
#ifndef TEST_SUPPORT_FOLDER_H
#define TEST_SUPPORT_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/os_help.h"

static char folder[128];

static inline int folder_make(void)
{
    return os_temporary_folder(folder, sizeof(folder)) ? 0 : -1;
}

/* One level deep; what the test made read-only goes as well. */
static inline int folder_remove(void)
{
    char name[400];
    DIR *d;

    chmod(folder, 0755);
    d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(name, sizeof(name), "%s/%s", folder, e->d_name);
        if (unlink(name))
            rmdir(name);
    }
    if (d)
        closedir(d);
    return rmdir(folder);
}

#endif
