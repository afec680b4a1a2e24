/* SPDX-License-Identifier: MIT */
/* record/posix: the -shm file of a write-ahead log, as SQLite's documentation of its WAL format
 * lays it out. In: region numbers, locks. Out: copies of regions in memory, brought into line with
 * the file (vfs_index.c) at each lock and barrier, before which nobody may count on what another
 * process wrote.
 * Not mapped: whoever cut the file short would end the host with SIGBUS. So it is made anew. */
#define _GNU_SOURCE
#include "record/posix/vfs_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os/os.h"

#define LOCK_FIRST 120 /* byte of the first of the eight locks */
#define FIRST_READER 3
#define DEAD_MAN 128 /* byte that every user of the file holds a read lock on */
#define PATH_BYTES 4200

static bool shm_path(const struct mt_vfs_file *f, char *out)
{
    return snprintf(out, PATH_BYTES, "%s-shm", f->path) < PATH_BYTES;
}

/* Who comes first empties the file: what an ended process left in it is void. */
static int enter(struct mt_vfs_file *f)
{
    int type = mt_vfs_foreign_lock(f->shm_fd, DEAD_MAN, 1);

    if (type == F_WRLCK)
        return SQLITE_BUSY;
    if (type == F_UNLCK) {
        if (mt_vfs_set_lock(f->shm_fd, F_WRLCK, DEAD_MAN, 1))
            return SQLITE_BUSY;
        if (!mt_os_descriptor_is_ours(f->shm_fd) || ftruncate(f->shm_fd, 3))
            return SQLITE_IOERR_SHMOPEN;
    }
    return mt_vfs_set_lock(f->shm_fd, F_RDLCK, DEAD_MAN, 1) ? SQLITE_BUSY : SQLITE_OK;
}

static int open_shm(struct mt_vfs_file *f)
{
    char path[PATH_BYTES];
    struct stat of_db;
    mode_t mode;
    int rc;

    if (!mt_os_descriptor_is_ours(f->fd) || !shm_path(f, path))
        return SQLITE_CANTOPEN;
    mode = fstat(f->fd, &of_db) ? 0600 : of_db.st_mode & 0777;
    f->shm_fd = mt_os_descriptor_keep(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode));
    if (f->shm_fd < 0)
        return SQLITE_CANTOPEN;
    rc = fchmod(f->shm_fd, mode) && errno != EPERM ? SQLITE_IOERR_SHMOPEN : enter(f);
    if (rc != SQLITE_OK) {
        mt_os_descriptor_close(f->shm_fd);
        f->shm_fd = -1;
    }
    return rc;
}

static int copy_next(struct mt_vfs_file *f, int extend, bool *out_absent)
{
    off_t end = (off_t)(f->n_shm + 1) * f->shm_bytes;
    struct stat s;

    if (!mt_os_descriptor_is_ours(f->shm_fd) || fstat(f->shm_fd, &s))
        return SQLITE_IOERR_SHMSIZE;
    *out_absent = s.st_size < end && !extend;
    if (*out_absent)
        return SQLITE_OK;
    if (s.st_size < end && !mt_vfs_index_fill(f->shm_fd, s.st_size, end))
        return SQLITE_IOERR_SHMSIZE;
    f->shm[f->n_shm] = mt_memory_alloc(2 * (size_t)f->shm_bytes);
    if (!f->shm[f->n_shm])
        return SQLITE_NOMEM;
    mt_vfs_index_load(f, f->n_shm++);
    return SQLITE_OK;
}

int mt_vfs_shm_map(sqlite3_file *file, int region, int bytes, int extend, void volatile **out)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    bool absent = false;
    int rc = SQLITE_OK;

    *out = NULL;
    if (f->shm_fd < 0)
        rc = open_shm(f);
    f->shm_bytes = bytes;
    if (rc == SQLITE_OK && region >= MT_SHM_REGIONS)
        rc = SQLITE_FULL;
    while (rc == SQLITE_OK && f->n_shm <= region && !absent)
        rc = copy_next(f, extend, &absent);
    if (rc == SQLITE_OK && !absent)
        *out = f->shm[region];
    return rc;
}

static int give_back(struct mt_vfs_file *f, int first, int n)
{
    f->shm_exclusive &= ~(((1u << n) - 1) << first);
    return mt_vfs_set_lock(f->shm_fd, F_UNLCK, LOCK_FIRST + first, n);
}

static int unlock(struct mt_vfs_file *f, int first, int n)
{
    if (f->shm_exclusive)
        mt_vfs_index_push(f);
    f->shm_is_fresh = false;
    return give_back(f, first, n) ? SQLITE_IOERR_SHMLOCK : SQLITE_OK;
}

/* 0, or why not. */
static int take(struct mt_vfs_file *f, int first, int n, bool exclusive)
{
    if (mt_vfs_set_lock(f->shm_fd, exclusive ? F_WRLCK : F_RDLCK, LOCK_FIRST + first, n))
        return errno ? errno : EAGAIN;
    if (exclusive)
        f->shm_exclusive |= ((1u << n) - 1) << first;
    return 0;
}

/* Where the file is lost, no waiting helps: that is told once, then tried again. A lock is given
 * back when what was written under it is in the file; one that was got, or not, tells what others
 * wrote. Who gets a reader's for itself only sets its mark. */
int mt_vfs_shm_lock(sqlite3_file *file, int first, int n, int flags)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0, lost = f->shm_is_lost;
    int error;

    if (flags & SQLITE_SHM_UNLOCK)
        return unlock(f, first, n);
    f->shm_is_lost = false;
    error = take(f, first, n, exclusive);
    if (error || !exclusive || first < FIRST_READER) {
        mt_vfs_index_pull(f, !error && exclusive && first == 0);
        f->shm_is_fresh = true;
    }
    if (!lost && !f->shm_is_lost && error != EBADF)
        return error ? SQLITE_BUSY : SQLITE_OK;
    if (!error)
        give_back(f, first, n);
    return SQLITE_IOERR_SHMLOCK;
}

void mt_vfs_shm_barrier(sqlite3_file *file)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;

    atomic_thread_fence(memory_order_seq_cst);
    if (f->shm_exclusive)
        mt_vfs_index_push(f);
    if (!f->shm_is_fresh && !(f->shm_exclusive & MT_SHM_WRITER)) /* which nobody else changes */
        mt_vfs_index_pull(f, false);
    f->shm_is_fresh = false;
}

int mt_vfs_shm_unmap(sqlite3_file *file, int delete_flag)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    char path[PATH_BYTES];

    while (f->n_shm > 0)
        mt_memory_free(f->shm[--f->n_shm]);
    f->shm_exclusive = 0;
    f->shm_is_lost = f->shm_is_void = f->shm_is_fresh = false;
    if (f->shm_fd < 0)
        return SQLITE_OK;
    if (delete_flag && shm_path(f, path))
        unlink(path);
    mt_os_descriptor_close(f->shm_fd);
    f->shm_fd = -1;
    return SQLITE_OK;
}
