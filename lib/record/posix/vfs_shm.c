/* SPDX-License-Identifier: MIT */
/* record/posix: the -shm file of a write-ahead log, as SQLite's documentation of its WAL format
 * lays it out (the index of the log: two copies of its head, the readers' marks, page numbers and
 * hashes). In: region numbers. Out: copies of them in memory, brought into line with the file at
 * each lock and barrier, before which nobody may count on what another process wrote.
 * Not mapped: whoever cut the file short would end the host with SIGBUS. So it is filled again. */
#define _GNU_SOURCE
#include "record/posix/vfs_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os/os.h"

#define LOCK_FIRST 120 /* byte of the first of the eight locks */
#define DEAD_MAN 128   /* byte that every user of the file holds a read lock on */
#define PATH_BYTES 4200
#define PAGE_STEP 4096

#define LAST_PAGE_AT 16       /* in the head: number of the log's last page */
#define COPY_BYTES 48         /* of the head; both copies alike: it is whole */
#define COPIES_BYTES 96       /* of the two, which only the writer changes … */
#define HEAD_BYTES 136        /* … with the marks, each changed by the holder of its lock */
#define WORD sizeof(uint32_t) /* a mark */
#define COMPARED_AT_ONCE 256  /* bytes */

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

/* ---- copies and file ---- */

/* What SQLite reads and writes, and behind it what the file had when they were last alike. */
static char *ours(const struct mt_vfs_file *f, int region)
{
    return f->shm[region];
}

static char *filed(const struct mt_vfs_file *f, int region)
{
    return f->shm[region] + f->shm_bytes;
}

static off_t offset_of(const struct mt_vfs_file *f, int region, size_t at)
{
    return (off_t)region * f->shm_bytes + (off_t)at;
}

/* Writes [from, to) of our copy, whether it was changed or not. */
static void write_part(struct mt_vfs_file *f, int region, size_t from, size_t to)
{
    size_t n = to - from;

    if (!mt_os_descriptor_is_ours(f->shm_fd) ||
        pwrite(f->shm_fd, ours(f, region) + from, n, offset_of(f, region, from)) != (ssize_t)n) {
        f->shm_is_lost = true;
        return;
    }
    memcpy(filed(f, region) + from, ours(f, region) + from, n);
}

/* Writes what was changed in [from, to), and what lies between. */
static void push_part(struct mt_vfs_file *f, int region, size_t from, size_t to, size_t step)
{
    const char *a = ours(f, region), *b = filed(f, region);
    size_t first = from, last = to;

    while (first < to && !memcmp(a + first, b + first, to - first < step ? to - first : step))
        first += step;
    if (first >= to)
        return;
    while (last - first > step && !memcmp(a + last - step, b + last - step, step))
        last -= step;
    write_part(f, region, first, last);
}

/* Of a file that was cut short what we know of it is all there is. */
static void fill_again(struct mt_vfs_file *f)
{
    for (int i = f->n_shm - 1; i >= 0; i--)
        write_part(f, i, 0, (size_t)f->shm_bytes);
}

static bool is_short(const struct mt_vfs_file *f)
{
    struct stat s;

    return mt_os_descriptor_is_ours(f->shm_fd) && fstat(f->shm_fd, &s) == 0 &&
           s.st_size < offset_of(f, f->n_shm, 0);
}

/* What a new head speaks of is there before it, and its second copy before its first: who finds
 * them unlike waits. Pages that no head speaks of yet are nobody else's concern. */
static void push(struct mt_vfs_file *f)
{
    size_t bytes = (size_t)f->shm_bytes;
    bool new_head;

    if (f->n_shm == 0)
        return;
    new_head = memcmp(ours(f, 0) + COPY_BYTES, filed(f, 0) + COPY_BYTES, COPY_BYTES) != 0;
    if (new_head && is_short(f))
        fill_again(f);
    for (int i = f->n_shm - 1; i >= 0 && new_head; i--) {
        push_part(f, i, bytes / 2, bytes, COMPARED_AT_ONCE);
        push_part(f, i, i ? 0 : HEAD_BYTES, bytes / 2, COMPARED_AT_ONCE);
    }
    for (size_t at = COPIES_BYTES; at < HEAD_BYTES; at += WORD)
        push_part(f, 0, at, at + WORD, WORD);
    push_part(f, 0, COPY_BYTES, COPIES_BYTES, COPY_BYTES);
    push_part(f, 0, 0, COPY_BYTES, COPY_BYTES);
}

/* Takes over what others changed of n bytes, a page at most. Returns whether they did. */
static bool pull_part(struct mt_vfs_file *f, int region, size_t at, size_t n)
{
    char now[PAGE_STEP], *a = ours(f, region) + at, *b = filed(f, region) + at;
    ssize_t got = mt_os_descriptor_is_ours(f->shm_fd)
                      ? pread(f->shm_fd, now, n, offset_of(f, region, at))
                      : -1;

    if (got != (ssize_t)n) {
        f->shm_is_lost = f->shm_is_lost || got < 0;
        if (got >= 0)
            fill_again(f);
        return false;
    }
    if (!memcmp(now, b, n))
        return false;
    for (size_t i = 0; i < n; i += WORD)
        if (memcmp(now + i, b + i, WORD) != 0) {
            memcpy(a + i, now + i, WORD);
            memcpy(b + i, now + i, WORD);
        }
    return true;
}

static void pull_region(struct mt_vfs_file *f, int region)
{
    for (size_t at = 0; at < (size_t)f->shm_bytes; at += PAGE_STEP)
        pull_part(f, region, at, PAGE_STEP);
}

/* The head first: what comes after it may be newer, which nobody minds. Where it is as before, the
 * log is. */
static void pull(struct mt_vfs_file *f)
{
    char before[COPIES_BYTES];

    if (f->n_shm == 0)
        return;
    memcpy(before, filed(f, 0), sizeof(before));
    if (!pull_part(f, 0, 0, HEAD_BYTES) || !memcmp(before, filed(f, 0), sizeof(before)))
        return;
    for (int i = 0; i < f->n_shm; i++)
        pull_region(f, i);
}

/* A writer that was ended has left pages behind those that the head speaks of, the first of them
 * where we would write our next: SQLite wants to see them. */
static void pull_remnants(struct mt_vfs_file *f)
{
    uint32_t last, in_first = (uint32_t)(f->shm_bytes / 2 - HEAD_BYTES) / (uint32_t)WORD;
    uint32_t in_others = (uint32_t)f->shm_bytes / 2 / (uint32_t)WORD;
    int region = 0;
    size_t at;

    if (f->n_shm == 0)
        return;
    memcpy(&last, ours(f, 0) + LAST_PAGE_AT, sizeof(last));
    if (last >= in_first)
        region = 1 + (int)((last - in_first) / in_others);
    at = region ? (last - in_first) % in_others * WORD : HEAD_BYTES + last * WORD;
    if (region < f->n_shm && pull_part(f, region, at, WORD))
        for (int i = 0; i < f->n_shm; i++)
            pull_region(f, i);
}

/* ---- what SQLite calls ---- */

static int copy_next(struct mt_vfs_file *f, int extend, bool *out_absent)
{
    off_t end = offset_of(f, f->n_shm + 1, 0);
    struct stat s;

    if (!mt_os_descriptor_is_ours(f->shm_fd) || fstat(f->shm_fd, &s))
        return SQLITE_IOERR_SHMSIZE;
    *out_absent = s.st_size < end && !extend;
    if (*out_absent)
        return SQLITE_OK;
    if (s.st_size < end && !fill_up(f->shm_fd, s.st_size, end))
        return SQLITE_IOERR_SHMSIZE;
    f->shm[f->n_shm] = mt_memory_alloc(2 * (size_t)f->shm_bytes);
    if (!f->shm[f->n_shm])
        return SQLITE_NOMEM;
    pull_region(f, f->n_shm++);
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

/* Where the file is lost, no waiting helps. */
static int lock_result(const struct mt_vfs_file *f, int failed)
{
    if (f->shm_is_lost || (failed && errno == EBADF))
        return SQLITE_IOERR_SHMLOCK;
    return failed ? SQLITE_BUSY : SQLITE_OK;
}

static int unlock(struct mt_vfs_file *f, int first, int n, unsigned locks)
{
    if (f->shm_exclusive)
        push(f);
    f->shm_exclusive &= ~locks;
    return lock_result(f, mt_vfs_set_lock(f->shm_fd, F_UNLCK, LOCK_FIRST + first, n));
}

/* A lock is given back when what was written under it is in the file; one that was got, or not,
 * tells what others wrote. */
int mt_vfs_shm_lock(sqlite3_file *file, int first, int n, int flags)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    unsigned locks = ((1u << n) - 1) << first;
    bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    int failed, rc;

    if (flags & SQLITE_SHM_UNLOCK)
        return unlock(f, first, n, locks);
    failed = mt_vfs_set_lock(f->shm_fd, exclusive ? F_WRLCK : F_RDLCK, LOCK_FIRST + first, n);
    rc = lock_result(f, failed);
    if (!failed && exclusive)
        f->shm_exclusive |= locks;
    pull(f);
    if (!failed && exclusive && first == 0)
        pull_remnants(f);
    return rc == SQLITE_OK ? lock_result(f, 0) : rc;
}

void mt_vfs_shm_barrier(sqlite3_file *file)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;

    atomic_thread_fence(memory_order_seq_cst);
    if (f->shm_exclusive)
        push(f);
    pull(f);
}

int mt_vfs_shm_unmap(sqlite3_file *file, int delete_flag)
{
    struct mt_vfs_file *f = (struct mt_vfs_file *)file;
    char path[PATH_BYTES];

    while (f->n_shm > 0)
        mt_memory_free(f->shm[--f->n_shm]);
    f->shm_exclusive = 0;
    f->shm_is_lost = false;
    if (f->shm_fd < 0)
        return SQLITE_OK;
    if (delete_flag && shm_path(f, path))
        unlink(path);
    mt_os_descriptor_close(f->shm_fd);
    f->shm_fd = -1;
    return SQLITE_OK;
}
