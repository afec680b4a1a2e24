/* SPDX-License-Identifier: MIT */
/* record: how the recorder's connection reaches its file.
 *
 * The sampler thread has a descriptor table of its own. SQLite's own file layer shares descriptors
 * and locks of one file among all connections of a process: a host that opens our file with the
 * same SQLite would use our numbers in its table, and the reverse. So the recorder brings a file
 * layer that shares nothing. To others it looks like any connection in another process. */
#ifndef MT_RECORD_VFS_H
#define MT_RECORD_VFS_H

#include <sqlite3.h>

/* The name to open with, registered on first use; NULL = SQLite's default does no harm here. */
const char *mt_vfs_name(void);

/* For sqlite3_file_control(): takes, until the file is closed, the lock that says "it is being
 * recorded", and which no SQLite knows. SQLITE_OK: ours; BUSY: a live recorder has it; another
 * code: this file system, or this file layer, cannot tell. No argument. */
#define MT_VFS_CLAIM 0x6d74

/* A file control: whether the file or its log has less than was committed. int *, set to 0 or 1. */
#define MT_VFS_IS_CUT 0x6d75

#endif
