/* SPDX-License-Identifier: MIT */
/* record/posix: the recorder's file layer, see record/vfs.h. Reading, writing, syncing.
 * In: SQLite's calls on the sampler's connection. Out: system calls on descriptors of the
 * sampler's own table. Path handling, time and sleep are those of SQLite's default layer.
 * Must not share anything between two open files. */
#define _GNU_SOURCE
#include "record/vfs.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os.h"
#include "record/posix/vfs_file.h"

#define NAME "memtracer"
#define SECTOR_BYTES 4096
#define PATH_BYTES 4200

static int failed(struct mt_vfs_file *f, int code)
{
    f->last_errno = errno;
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? SQLITE_FULL : code;
}

/* Where the descriptors are the host's, it may have closed ours. SQLite asks the layer for errno:
 * this one tells mt_db_error(). */
static bool is_lost(struct mt_vfs_file *f)
{
    if (mt_os_descriptor_is_ours(f->fd))
        return false;
    f->last_errno = errno = EBADF;
    return true;
}

static int write_all(struct mt_vfs_file *f, const char *from, int bytes, sqlite3_int64 at)
{
    int done = 0;

    if (is_lost(f))
        return SQLITE_IOERR_WRITE;
    while (done < bytes) {
        ssize_t n = pwrite(f->fd, from + done, (size_t)(bytes - done), at + done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return failed(f, SQLITE_IOERR_WRITE);
        done += (int)n;
    }
    f->written_to = at + bytes;
    return SQLITE_OK;
}

/* Every call but the one that brings the page finds the file as SQLite left it. */
static int write_held(struct mt_vfs_file *f)
{
    int n = f->n_held;

    f->n_held = 0;
    return n ? write_all(f, f->held, n, f->held_at) : SQLITE_OK;
}

static int vfs_close(sqlite3_file *file)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;

    write_held(f);
    mt_vfs_shm_unmap(file, 0);
    if (f->delete_at_end)
        unlink(f->path);
    mt_os_descriptor_close(f->fd);
    return SQLITE_OK;
}

static int vfs_read(sqlite3_file *file, void *to, int bytes, sqlite3_int64 at)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    char *p = to;
    int done = 0;

    if (write_held(f) || is_lost(f))
        return SQLITE_IOERR_READ;
    while (done < bytes) {
        ssize_t n = pread(f->fd, p + done, (size_t)(bytes - done), at + done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            f->last_errno = errno;
            return SQLITE_IOERR_READ;
        }
        if (n == 0)
            break;
        done += (int)n;
    }
    memset(p + done, 0, (size_t)(bytes - done));
    return done == bytes ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

/* A head in the middle of the log gets another checksum, when a page that was already there was
 * written again: no page comes behind it, and it may be the last write before the commit. */
static bool is_to_be_held(const struct mt_vfs_file *f, int bytes, sqlite3_int64 at)
{
    return f->is_log && bytes <= MT_VFS_HEAD_BYTES && at == f->written_to;
}

/* A log is written from end to end: what lacks below was cut away. */
static bool would_leave_a_hole(const struct mt_vfs_file *f, sqlite3_int64 at)
{
    struct stat s;

    return f->is_log && at > f->n_held && mt_os_descriptor_is_ours(f->fd) && !fstat(f->fd, &s) &&
           s.st_size < at - f->n_held;
}

static int vfs_write(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 at)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    int held = f->n_held, error;

    if (would_leave_a_hole(f, at))
        return SQLITE_IOERR_WRITE;

    if (held && at == f->held_at + held && bytes <= (int)sizeof(f->held) - held) {
        memcpy(f->held + held, from, (size_t)bytes);
        f->n_held = 0;
        return write_all(f, f->held, held + bytes, f->held_at);
    }
    error = write_held(f);
    if (error || !is_to_be_held(f, bytes, at))
        return error ? error : write_all(f, from, bytes, at);
    memcpy(f->held, from, (size_t)bytes);
    f->n_held = bytes;
    f->held_at = at;
    return SQLITE_OK;
}

static int vfs_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;

    if (write_held(f) || is_lost(f))
        return SQLITE_IOERR_TRUNCATE;
    return ftruncate(f->fd, bytes) ? failed(f, SQLITE_IOERR_TRUNCATE) : SQLITE_OK;
}

/* A new name is safe only when its folder is on the disk, too. */
static void sync_folder(struct mt_vfs_file *f)
{
    char folder[PATH_BYTES];
    char *slash;
    int fd;

    f->sync_folder = false;
    if (snprintf(folder, sizeof(folder), "%s", f->path) >= (int)sizeof(folder))
        return;
    slash = strrchr(folder, '/');
    if (!slash)
        return;
    slash[slash == folder] = '\0';
    fd = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

static int vfs_sync(sqlite3_file *file, int flags)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;

    int error = write_held(f);

    (void)flags;
    if (error)
        return error;
    if (is_lost(f))
        return SQLITE_IOERR_FSYNC;
    if (fdatasync(f->fd))
        return failed(f, SQLITE_IOERR_FSYNC);
    if (f->sync_folder)
        sync_folder(f);
    return SQLITE_OK;
}

static int vfs_size(sqlite3_file *file, sqlite3_int64 *out)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    struct stat s;

    if (write_held(f) || is_lost(f))
        return SQLITE_IOERR_FSTAT;
    if (fstat(f->fd, &s))
        return failed(f, SQLITE_IOERR_FSTAT);
    *out = s.st_size;
    return SQLITE_OK;
}

/* The file under our name is no longer the one we have open. A folder that may not be looked into
 * any more, as after a host gave up its rights, says nothing of it. */
static bool has_moved(const struct mt_vfs_file *f)
{
    struct stat s;

    if (stat(f->path, &s))
        return errno == ENOENT || errno == ENOTDIR;
    return s.st_ino != f->inode || s.st_dev != f->device;
}

static bool is_cut(struct mt_vfs_file *f)
{
    char log[PATH_BYTES];

    return snprintf(log, sizeof(log), "%s-wal", f->path) < (int)sizeof(log) &&
           mt_vfs_index_knows_more(f, log);
}

static int vfs_control(sqlite3_file *file, int what, void *argument)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;

    switch (what) {
    case SQLITE_FCNTL_LOCKSTATE: *(int *)argument = f->level; return SQLITE_OK;
    case SQLITE_FCNTL_LAST_ERRNO: *(int *)argument = f->last_errno; return SQLITE_OK;
    case SQLITE_FCNTL_HAS_MOVED: *(int *)argument = has_moved(f); return SQLITE_OK;
    case MT_VFS_CLAIM: return mt_vfs_claim(f);
    case MT_VFS_IS_CUT: *(int *)argument = is_cut(f); return SQLITE_OK;
    default: return SQLITE_NOTFOUND;
    }
}

static int vfs_sector(sqlite3_file *file)
{
    (void)file;
    return SECTOR_BYTES;
}

static int vfs_device(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = vfs_close,
    .xRead = vfs_read,
    .xWrite = vfs_write,
    .xTruncate = vfs_truncate,
    .xSync = vfs_sync,
    .xFileSize = vfs_size,
    .xLock = mt_vfs_lock,
    .xUnlock = mt_vfs_unlock,
    .xCheckReservedLock = mt_vfs_check_reserved,
    .xFileControl = vfs_control,
    .xSectorSize = vfs_sector,
    .xDeviceCharacteristics = vfs_device,
    .xShmMap = mt_vfs_shm_map,
    .xShmLock = mt_vfs_shm_lock,
    .xShmBarrier = mt_vfs_shm_barrier,
    .xShmUnmap = mt_vfs_shm_unmap,
};

/* A log or journal may be read by whoever may read the database beside it. */
static mode_t mode_of_new(const char *path, int flags)
{
    char db[PATH_BYTES];
    struct stat s;
    char *dash;

    if (flags & SQLITE_OPEN_MAIN_DB || snprintf(db, sizeof(db), "%s", path) >= (int)sizeof(db))
        return 0600;
    dash = strrchr(db, '-');
    if (!dash)
        return 0600;
    *dash = '\0';
    return stat(db, &s) ? 0600 : s.st_mode & 0777;
}

static int open_descriptor(const char *path, int flags, int *out_flags)
{
    int how = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK; /* a pipe must not be waited for */
    int fd, why;

    how |= flags & SQLITE_OPEN_READWRITE ? O_RDWR : O_RDONLY;
    how |= flags & SQLITE_OPEN_CREATE ? O_CREAT : 0;
    how |= flags & SQLITE_OPEN_EXCLUSIVE ? O_EXCL : 0;
    *out_flags = flags;
    fd = open(path, how, mode_of_new(path, flags));
    if (fd >= 0 || !(flags & SQLITE_OPEN_READWRITE) || (errno != EACCES && errno != EROFS))
        return fd;
    why = errno;
    *out_flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    errno = why;
    return fd;
}

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                    int *out_flags)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    struct stat s;
    int opened;

    (void)vfs;
    memset(f, 0, sizeof(*f));
    f->shm_fd = -1;
    if (!path) /* a temporary file: temp_store is memory, so there is none */
        return SQLITE_CANTOPEN;
    f->fd = mt_os_descriptor_keep(open_descriptor(path, flags, &opened));
    if (f->fd < 0)
        return SQLITE_CANTOPEN;
    if (fstat(f->fd, &s) || !S_ISREG(s.st_mode)) {
        mt_os_descriptor_close(f->fd);
        return SQLITE_IOERR_FSTAT;
    }
    f->device = s.st_dev;
    f->inode = s.st_ino;
    f->path = path;
    f->sync_folder = s.st_size == 0;
    f->written_to = -1;
    f->is_log = (flags & SQLITE_OPEN_WAL) != 0;
    f->delete_at_end = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    f->base.pMethods = &methods;
    if (out_flags)
        *out_flags = opened;
    return SQLITE_OK;
}

static sqlite3_vfs layer;
static int registered = SQLITE_ERROR;

static void register_once(void)
{
    sqlite3_vfs *standard = sqlite3_initialize() ? NULL : sqlite3_vfs_find("unix");

    if (!standard)
        return;
    layer = *standard;
    layer.pNext = NULL;
    layer.zName = NAME;
    layer.szOsFile = sizeof(struct mt_vfs_file);
    layer.xOpen = vfs_open;
    registered = sqlite3_vfs_register(&layer, 0);
}

const char *mt_vfs_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, register_once);
    return registered == SQLITE_OK ? NAME : NULL;
}
