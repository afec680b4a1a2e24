/* SPDX-License-Identifier: MIT */
/* base/os: the recording's file before SQLite opens it. In: a path. Out: an empty file, mode 0600,
 * which SQLite would make readable by all; whether the path leads where its user thinks. SQLite
 * resolves links by itself, so that the kernel's own guard of /tmp (fs.protected_symlinks) never
 * sees them. Called by record/ in the thread that records.
 * Uses: open (O_EXCL, so no descriptor of ours is ever closed on a file that has locks); lstat;
 * getauxval AT_SECURE (Linux 2.6). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "base/compiler.h"
#include "base/os/os.h"

#define PATH_ROOM 4300
#define LINKS_MOST 8

#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif

void mt_os_file_create(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
}

/* ---- whose path is it? ---- */

static bool has_more_rights(void)
{
    bool secure = geteuid() == 0 || getuid() != geteuid() || getgid() != getegid();

#if defined(__linux__)
    secure = secure || getauxval(AT_SECURE) != 0;
#endif
    return secure;
}

/* A folder where everybody may put what he likes, and nobody may move what is another's. */
static bool is_for_all(const struct stat *folder)
{
    return (folder->st_mode & S_ISVTX) && (folder->st_mode & S_IWOTH);
}

static bool is_ours(const struct stat *s)
{
    return s->st_uid == geteuid() || s->st_uid == 0;
}

/* Of what stands in `folder`: may it be used? */
static bool is_trusted(const struct stat *folder, const struct stat *s)
{
    if (is_ours(s) || s->st_uid == folder->st_uid)
        return !S_ISLNK(s->st_mode) || is_ours(s) || !has_more_rights();
    return !is_for_all(folder) && !(S_ISLNK(s->st_mode) && has_more_rights());
}

/* Looks at the first `n` bytes of the path; 1 = a link, -1 = not to be trusted. */
static int look_at(const char *path, size_t n, struct stat *out)
{
    char part[PATH_ROOM];
    struct stat folder;
    size_t parent = n;

    while (parent > 1 && path[parent - 1] != '/')
        parent--;
    snprintf(part, sizeof(part), "%.*s", (int)parent, path);
    if (stat(part, &folder))
        return 0;
    snprintf(part, sizeof(part), "%.*s", (int)n, path);
    if (lstat(part, out))
        return 0;
    if (!is_trusted(&folder, out))
        return -1;
    return S_ISLNK(out->st_mode) ? 1 : 0;
}

/* Puts the link's target in the place of its first `n` bytes; false = it does not fit. */
static bool follow(char *path, size_t n)
{
    char target[PATH_ROOM], rest[PATH_ROOM];
    ssize_t got;
    size_t keep = n;

    snprintf(rest, sizeof(rest), "%s", path + n);
    path[n] = '\0';
    got = readlink(path, target, sizeof(target) - 1);
    if (got <= 0)
        return false;
    target[got] = '\0';
    while (path[keep - 1] != '/')
        keep--;
    if (target[0] == '/')
        keep = 0;
    return snprintf(path + keep, PATH_ROOM - keep, "%s%s", target, rest) < (int)(PATH_ROOM - keep);
}

/* Walks the path and what its links lead to; the length of what is not to be trusted, 0 = none. */
static size_t find_untrusted(char *path)
{
    struct stat s;
    int n_links = 0;

    for (size_t n = 1; path[n - 1];) {
        int found;

        n += strcspn(path + n, "/");
        found = look_at(path, n, &s);
        if (found < 0)
            return n;
        if (found > 0 && (++n_links > LINKS_MOST || !follow(path, n)))
            return n;
        n = found > 0 ? 1 : n + (path[n] == '/');
        if (!path[n - 1] || !path[n])
            break;
    }
    return 0;
}

void mt_os_path_distrust(const char *path, char *out, size_t out_bytes)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char walked[PATH_ROOM];
    struct stat s;

    out[0] = '\0';
    for (size_t i = 0; i < MT_COUNT_OF(endings) && !out[0]; i++) {
        size_t n;

        snprintf(walked, sizeof(walked), "%s%s", path, endings[i]);
        n = find_untrusted(walked);
        if (!n)
            continue;
        walked[n] = '\0';
        snprintf(out, out_bytes,
                 "%.200s is %s of user %u, who could make this process write where he likes: "
                 "remove it, or choose a folder that others cannot write to",
                 walked, lstat(walked, &s) == 0 && S_ISLNK(s.st_mode) ? "a link" : "a file",
                 lstat(walked, &s) == 0 ? (unsigned)s.st_uid : 0u);
    }
}
