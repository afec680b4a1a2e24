/* SPDX-License-Identifier: MIT */
/* record/posix: the -shm file of a write-ahead log, as SQLite's documentation of its WAL format
 * lays it out. In: region numbers. Out: shared mappings, adopted as the tracer's own memory.
 * Every page is written before it is mapped, so that a full disk is an error here and no SIGBUS
 * in the host later. */
#define _GNU_SOURCE
#include "record/posix/vfs_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os/os.h"

#define LOCK_FIRST 120 /* byte of the first of the eight locks */
#define DEAD_MAN 128   /* byte that every user of the file holds a read lock on */
#define PATH_BYTES 4200
#define PAGE_STEP 4096

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

/* Makes the file `end` bytes long, page by page; false = no room. */
static bool fill_up(int fd, off_t from, off_t end)
{
    for (off_t at = from / PAGE_STEP * PAGE_STEP; at < end; at += PAGE_STEP)
        if (!mt_os_descriptor_is_ours(fd) || pwrite(fd, "", 1, at + PAGE_STEP - 1) != 1)
            return false;
    return true;
}

/* A mapping begins at a page of the kernel's: where pages have 64 KiB, two regions of 32 KiB are
 * mapped together. */
static int regions_at_once(const struct mt_vfs_file *f)
{
    int page = f->page_bytes;

    return page > f->shm_bytes ? page / f->shm_bytes : 1;
}

static int map_next(struct mt_vfs_file *f, int extend, bool *out_absent)
{
    int at_once = regions_at_once(f);
    size_t bytes = (size_t)at_once * (size_t)f->shm_bytes;
    off_t begin = (off_t)f->n_shm * f->shm_bytes, end = begin + (off_t)bytes;
    struct stat s;
    char *p;

    if (!mt_os_descriptor_is_ours(f->shm_fd) || fstat(f->shm_fd, &s))
        return SQLITE_IOERR_SHMSIZE;
    if (f->n_shm + at_once > MT_SHM_REGIONS)
        return SQLITE_FULL;
    *out_absent = s.st_size < begin + f->shm_bytes && !extend;
    if (*out_absent)
        return SQLITE_OK;
    if (s.st_size < end && !fill_up(f->shm_fd, s.st_size, end))
        return SQLITE_IOERR_SHMSIZE;
    if (!mt_os_descriptor_is_ours(f->shm_fd))
        return SQLITE_IOERR_SHMMAP;
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->shm_fd, begin);
    if (p == MAP_FAILED)
        return SQLITE_IOERR_SHMMAP;
    mt_memory_adopt(p, bytes);
    for (int i = 0; i < at_once; i++)
        f->shm[f->n_shm++] = p + (size_t)i * (size_t)f->shm_bytes;
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
        rc = map_next(f, extend, &absent);
    if (rc == SQLITE_OK && !absent)
        *out = f->shm[region];
    return rc;
}

int mt_vfs_shm_lock(sqlite3_file *file, int first, int n, int flags)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    short type = F_WRLCK;

    if (flags & SQLITE_SHM_UNLOCK)
        type = F_UNLCK;
    else if (flags & SQLITE_SHM_SHARED)
        type = F_RDLCK;
    if (mt_vfs_set_lock(f->shm_fd, type, LOCK_FIRST + first, n) == 0)
        return SQLITE_OK;
    return errno == EBADF ? SQLITE_IOERR_SHMLOCK : SQLITE_BUSY; /* lost: not to be waited for */
}

void mt_vfs_shm_barrier(sqlite3_file *file)
{
    (void)file;
    atomic_thread_fence(memory_order_seq_cst);
}

int mt_vfs_shm_unmap(sqlite3_file *file, int delete_flag)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    char path[PATH_BYTES];

    for (int i = 0; i < f->n_shm; i += regions_at_once(f)) {
        mt_memory_disown(f->shm[i]);
        munmap(f->shm[i], (size_t)regions_at_once(f) * (size_t)f->shm_bytes);
    }
    f->n_shm = 0;
    if (f->shm_fd < 0)
        return SQLITE_OK;
    if (delete_flag && shm_path(f, path))
        unlink(path);
    mt_os_descriptor_close(f->shm_fd);
    f->shm_fd = -1;
    return SQLITE_OK;
}
