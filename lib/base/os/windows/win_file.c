/* SPDX-License-Identifier: MIT */
/* base/os/windows: the recording's file before SQLite opens it.
 * In: a path. Out: nothing to do: a new file has the access rights of its folder, which on Windows
 * are the user's own, and SQLite leaves them alone. Called by record/. */
#include "base/compiler.h"
#include "base/os/os.h"

void mt_os_file_create(const char *path MT_UNUSED)
{
}

void mt_os_path_distrust(const char *path MT_UNUSED, char *out, size_t out_bytes MT_UNUSED)
{
    out[0] = '\0';
}
