/* SPDX-License-Identifier: MIT */
/* record/posix: locks on the file, as SQLite's documentation of its file format lays them out.
 * In: levels. Out: byte-range locks that belong to our open file alone, so that a close() of the
 * same file anywhere else in the process cannot drop them.
 * Uses: fcntl F_OFD_SETLK (Linux 3.15); else F_SETLK, whose owner is the descriptor table. */
#define _GNU_SOURCE
#include "record/posix/vfs_file.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/os/os.h"

#define PENDING_BYTE 0x40000000
#define RESERVED_BYTE (PENDING_BYTE + 1)
#define SHARED_FIRST (PENDING_BYTE + 2)
#define SHARED_BYTES 510
/* On the page that SQLite leaves empty for its locks, behind those. */
#define CLAIM_BYTE (PENDING_BYTE + 1024)

#if !defined(F_OFD_SETLK)
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#endif

static atomic_bool no_ofd; /* found by trying */

static int lock_call(int fd, bool query, struct flock *lock)
{
    int result;

    if (!mt_os_descriptor_is_ours(fd)) {
        errno = EBADF;
        return -1;
    }
    if (!atomic_load(&no_ofd)) {
        result = fcntl(fd, query ? F_OFD_GETLK : F_OFD_SETLK, lock);
        if (result == 0 || errno != EINVAL)
            return result;
        atomic_store(&no_ofd, true);
    }
    return fcntl(fd, query ? F_GETLK : F_SETLK, lock);
}

int mt_vfs_set_lock(int fd, short type, off_t at, off_t n)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = n};

    return lock_call(fd, false, &lock);
}

int mt_vfs_foreign_lock(int fd, off_t at, off_t n)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = n};

    return lock_call(fd, true, &lock) ? -1 : lock.l_type;
}

static int refused(struct mt_vfs_file *f, int code)
{
    f->last_errno = errno;
    return errno == EAGAIN || errno == EACCES || errno == EINTR ? SQLITE_BUSY : code;
}

static int lock_shared(struct mt_vfs_file *f)
{
    int rc = SQLITE_OK;

    if (mt_vfs_set_lock(f->fd, F_RDLCK, PENDING_BYTE, 1))
        return refused(f, SQLITE_IOERR_LOCK);
    if (mt_vfs_set_lock(f->fd, F_RDLCK, SHARED_FIRST, SHARED_BYTES))
        rc = refused(f, SQLITE_IOERR_LOCK);
    if (mt_vfs_set_lock(f->fd, F_UNLCK, PENDING_BYTE, 1) && rc == SQLITE_OK)
        rc = SQLITE_IOERR_UNLOCK;
    return rc;
}

int mt_vfs_claim(struct mt_vfs_file *f)
{
    if (mt_vfs_set_lock(f->fd, F_WRLCK, CLAIM_BYTE, 1) == 0)
        return SQLITE_OK;
    return errno == EAGAIN || errno == EACCES ? SQLITE_BUSY : SQLITE_IOERR_LOCK;
}

int mt_vfs_lock(sqlite3_file *file, int level)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    int rc = SQLITE_OK;

    if (f->level >= level)
        return SQLITE_OK;
    if (level == SQLITE_LOCK_SHARED)
        rc = lock_shared(f);
    else if (level == SQLITE_LOCK_RESERVED && mt_vfs_set_lock(f->fd, F_WRLCK, RESERVED_BYTE, 1))
        rc = refused(f, SQLITE_IOERR_LOCK);
    else if (level >= SQLITE_LOCK_PENDING && f->level < SQLITE_LOCK_PENDING &&
             mt_vfs_set_lock(f->fd, F_WRLCK, PENDING_BYTE, 1))
        rc = refused(f, SQLITE_IOERR_LOCK);
    if (rc == SQLITE_OK && level == SQLITE_LOCK_EXCLUSIVE) {
        f->level = SQLITE_LOCK_PENDING;
        if (mt_vfs_set_lock(f->fd, F_WRLCK, SHARED_FIRST, SHARED_BYTES))
            rc = refused(f, SQLITE_IOERR_LOCK);
    }
    if (rc == SQLITE_OK)
        f->level = level;
    return rc;
}

int mt_vfs_unlock(sqlite3_file *file, int level)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    int failed;

    if (f->level <= level)
        return SQLITE_OK;
    if (level == SQLITE_LOCK_SHARED) {
        failed = f->level == SQLITE_LOCK_EXCLUSIVE &&
                 mt_vfs_set_lock(f->fd, F_RDLCK, SHARED_FIRST, SHARED_BYTES);
        failed |= mt_vfs_set_lock(f->fd, F_UNLCK, PENDING_BYTE, 2);
    } else {
        failed = mt_vfs_set_lock(f->fd, F_UNLCK, PENDING_BYTE, 2 + SHARED_BYTES);
    }
    f->level = level;
    return failed ? SQLITE_IOERR_UNLOCK : SQLITE_OK;
}

int mt_vfs_check_reserved(sqlite3_file *file, int *out)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    int type;

    *out = f->level > SQLITE_LOCK_SHARED;
    if (*out)
        return SQLITE_OK;
    type = mt_vfs_foreign_lock(f->fd, RESERVED_BYTE, 1);
    if (type < 0)
        return SQLITE_IOERR_CHECKRESERVEDLOCK;
    *out = type != F_UNLCK;
    return SQLITE_OK;
}
