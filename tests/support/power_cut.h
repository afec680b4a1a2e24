/* SPDX-License-Identifier: MIT */
/* tests: a disk that loses power. A file layer over the recorder's own remembers what each file was
 * at its last sync and each write since; power_cut() then leaves what a disk might: the synced
 * content and, of the writes after it, a beginning (in order) or any of their sectors (reordered,
 * torn). */
#ifndef TESTS_SUPPORT_POWER_CUT_H
#define TESTS_SUPPORT_POWER_CUT_H

#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/vfs.h"

#define POWER_FILES 8
#define POWER_SECTOR 512

struct power_write {
    sqlite3_int64 at;
    int n; /* -1: the file was cut to `at` */
    unsigned char *bytes;
};

struct power_file {
    sqlite3_file *file;
    char path[256];
    unsigned char *synced;
    sqlite3_int64 synced_bytes;
    struct power_write *writes;
    int n_writes;
};

static sqlite3_vfs power_vfs, *power_beneath;
static sqlite3_io_methods power_methods;
static const sqlite3_io_methods *power_real;
static struct power_file power_files[POWER_FILES];
static void (*power_on_sync)(void);
static void (*power_on_write)(void); /* the write is remembered, and may be lost */

static inline struct power_file *power_find(sqlite3_file *f)
{
    for (int i = 0; i < POWER_FILES; i++)
        if (power_files[i].file == f)
            return &power_files[i];
    return NULL;
}

static inline void power_forget_writes(struct power_file *p)
{
    for (int i = 0; i < p->n_writes; i++)
        free(p->writes[i].bytes);
    p->n_writes = 0;
}

static inline void power_remember(sqlite3_file *f, sqlite3_int64 at, int n, const void *bytes)
{
    struct power_file *p = power_find(f);
    struct power_write *w;

    if (!p)
        return;
    p->writes = realloc(p->writes, (size_t)(p->n_writes + 1) * sizeof(*p->writes));
    w = &p->writes[p->n_writes++];
    *w = (struct power_write){.at = at, .n = n};
    if (n > 0) {
        w->bytes = malloc((size_t)n);
        memcpy(w->bytes, bytes, (size_t)n);
    }
    if (power_on_write)
        power_on_write();
}

static inline int power_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    power_remember(f, at, n, from);
    return power_real->xWrite(f, from, n, at);
}

static inline int power_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    power_remember(f, n, -1, NULL);
    return power_real->xTruncate(f, n);
}

static inline int power_sync(sqlite3_file *f, int flags)
{
    struct power_file *p = power_find(f);

    (void)flags;
    if (!p) /* the disk is the memory of this process: the real one is not waited for */
        return SQLITE_OK;
    power_real->xFileSize(f, &p->synced_bytes);
    p->synced = realloc(p->synced, (size_t)p->synced_bytes + 1);
    power_real->xRead(f, p->synced, (int)p->synced_bytes, 0);
    power_forget_writes(p);
    if (power_on_sync && strstr(p->path, "-wal"))
        power_on_sync();
    return SQLITE_OK;
}

static inline int power_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags,
                             int *out)
{
    int rc = power_beneath->xOpen(power_beneath, path, f, flags, out);

    (void)vfs;
    if (rc)
        return rc;
    power_real = f->pMethods;
    power_methods = *power_real;
    power_methods.xWrite = power_write;
    power_methods.xTruncate = power_truncate;
    power_methods.xSync = power_sync;
    f->pMethods = &power_methods;
    for (int i = 0; i < POWER_FILES; i++)
        if (!power_files[i].path[0] || !strcmp(power_files[i].path, path)) {
            power_files[i].file = f;
            snprintf(power_files[i].path, sizeof(power_files[i].path), "%s", path);
            break;
        }
    return rc;
}

static inline void power_plug_in(void)
{
    if (!power_beneath) {
        power_beneath = sqlite3_vfs_find(mt_vfs_name());
        power_vfs = *power_beneath;
        power_vfs.pNext = NULL;
        power_vfs.xOpen = power_open;
        sqlite3_vfs_register(&power_vfs, 0);
    }
    for (int i = 0; i < POWER_FILES; i++) {
        power_forget_writes(&power_files[i]);
        free(power_files[i].synced);
        free(power_files[i].writes);
        memset(&power_files[i], 0, sizeof(power_files[i]));
    }
}

static inline void power_apply(int fd, const struct power_write *w, bool torn)
{
    int done = 0;

    if (w->n < 0) {
        if (ftruncate(fd, w->at))
            abort();
        return;
    }
    while (done < w->n) { /* by sectors of the disk, not of the write */
        int room = POWER_SECTOR - (int)((w->at + done) % POWER_SECTOR);
        int n = w->n - done < room ? w->n - done : room;

        if ((!torn || random() % 2) && pwrite(fd, w->bytes + done, (size_t)n, w->at + done) != n)
            abort();
        done += n;
    }
}

/* Writes what the disk has into the same name in another folder. */
static inline void power_cut(const char *folder, bool torn)
{
    for (int i = 0; i < POWER_FILES && power_files[i].path[0]; i++) {
        const struct power_file *p = &power_files[i];
        char to[400];
        long stop = p->n_writes ? random() % (p->n_writes + 1) : 0;
        int fd;

        snprintf(to, sizeof(to), "%s%s", folder, strrchr(p->path, '/'));
        if (access(p->path, F_OK)) /* it was deleted, and that is remembered */
            continue;
        fd = open(to, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 ||
            (p->synced && pwrite(fd, p->synced, (size_t)p->synced_bytes, 0) != p->synced_bytes))
            abort();
        for (int w = 0; w < p->n_writes; w++)
            if (torn ? random() % 4 != 0 : w < stop)
                power_apply(fd, &p->writes[w], torn);
        close(fd);
    }
}

#endif
