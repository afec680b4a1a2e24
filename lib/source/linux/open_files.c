/* SPDX-License-Identifier: MIT */
/* source/linux: opens the source of a copy of /proc/PID in a directory.
 * In: a directory with maps or smaps, and perhaps status, stat, pagemap. Out: a source.
 * Called by tests and for post-mortem copies. The files stay open and are read anew at each list,
 * so a test may rewrite them in place. A copied pagemap counts files' pages only: see count.h. */
#define _GNU_SOURCE
#include "source/linux/linux_source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/os/os.h"

int mt_source_open_files(const char *directory, struct mt_source **out)
{
    struct mt_linux_source *s = mt_linux_new();
    int error;

    if (!s)
        return TRACER_ENOMEM;
    s->leader = mt_os_descriptor_keep(open(directory, O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    s->task = mt_os_descriptor_keep(open(directory, O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    error = s->task < 0 ? mt_error_set(TRACER_EIO, "%s: %s", directory, strerror(errno))
                        : mt_descriptors_open(s);
    if (error) {
        mt_linux_close(&s->base);
        return error;
    }
    *out = &s->base;
    return TRACER_OK;
}
