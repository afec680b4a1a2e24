/* SPDX-License-Identifier: MIT */
/* record/posix: one open file of the recorder's file layer. Sampler thread only. */
#ifndef MT_RECORD_VFS_FILE_H
#define MT_RECORD_VFS_FILE_H

#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <sys/types.h>

#define MT_SHM_REGIONS 256
#define MT_SHM_WRITER 1u /* of the locks, the one of who may write the log */

/* SQLite appends to a log frame by frame, each as a head and a page. */
#define MT_VFS_HEAD_BYTES 32
#define MT_VFS_PAGE_BYTES 4096

struct mt_vfs_file {
    sqlite3_file base; /* SQLite's part; first */
    int fd;
    int level; /* SQLITE_LOCK_… held */
    int last_errno;
    bool sync_folder; /* the file is new: its folder must be synced with it once */
    bool delete_at_end;
    bool is_log; /* the write-ahead log */
    dev_t device;
    ino_t inode;
    const char *path; /* SQLite keeps it while the file is open */
    int shm_fd;       /* the -shm file, -1 = not open */
    char *shm[MT_SHM_REGIONS];
    int n_shm, shm_bytes;     /* regions copied, size of one */
    unsigned shm_exclusive;   /* bits of the locks on it that are held exclusively */
    bool shm_is_lost;         /* it could not be read or written, which nobody was told yet */
    bool shm_is_void;         /* it was cut short: not to be believed until it is made anew */
    bool shm_is_fresh;        /* it was read when a lock was asked for, and no barrier came yet */
    off_t seen_bytes;         /* of the database, when it was compared with the index last */
    sqlite3_int64 written_to; /* where the last write ended, -1 = none did */
    int n_held;               /* bytes of a log's head that wait for its page, 0 = none … */
    sqlite3_int64 held_at;
    char held[MT_VFS_HEAD_BYTES + MT_VFS_PAGE_BYTES]; /* … and room for both */
};

/* Sets a lock of `type` (F_RDLCK, F_WRLCK, F_UNLCK) on bytes [at, at + n): 0, or -1 with errno. */
int mt_vfs_set_lock(int fd, short type, off_t at, off_t n);

/* The type of lock that somebody else holds against a write lock there; F_UNLCK = none; -1. */
int mt_vfs_foreign_lock(int fd, off_t at, off_t n);

/* See MT_VFS_CLAIM. */
int mt_vfs_claim(struct mt_vfs_file *f);

/* In vfs_index.c. Makes the -shm file `end` bytes long, page by page; false = no room. */
bool mt_vfs_index_fill(int fd, off_t from, off_t end);

/* A region's copy, as the file has it. */
void mt_vfs_index_load(struct mt_vfs_file *f, int region);

/* What SQLite changed goes to the file, before a lock is given back. */
void mt_vfs_index_push(struct mt_vfs_file *f);

/* What others changed comes from it, after a lock was got or refused, and at barriers. */
void mt_vfs_index_pull(struct mt_vfs_file *f, bool becomes_writer);

/* Whether the index speaks of more than file and log have: somebody cut one of them short. */
bool mt_vfs_index_knows_more(struct mt_vfs_file *f, const char *log_path);

/* Methods of sqlite3_io_methods, in vfs_lock.c and vfs_shm.c. */
int mt_vfs_lock(sqlite3_file *file, int level);
int mt_vfs_unlock(sqlite3_file *file, int level);
int mt_vfs_check_reserved(sqlite3_file *file, int *out);
int mt_vfs_shm_map(sqlite3_file *file, int region, int bytes, int extend, void volatile **out);
int mt_vfs_shm_lock(sqlite3_file *file, int first, int n, int flags);
void mt_vfs_shm_barrier(sqlite3_file *file);
int mt_vfs_shm_unmap(sqlite3_file *file, int delete_flag);

#endif
