/* SPDX-License-Identifier: MIT */
/* base/os: the recording's file before SQLite opens it. In: a path. Out: an empty file, mode 0600,
 * which SQLite would make readable by all. Called by record/ in the thread that records.
 * Uses: open (O_EXCL, so no descriptor of ours is ever closed on a file that has locks). */
#include <fcntl.h>
#include <unistd.h>

#include "base/os/os.h"

#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif

void mt_os_file_create(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
}
