/* SPDX-License-Identifier: MIT */
/* claim/linux: lists threads and reads the few facts about each that the kernel prints.
 * In: /proc/PID/task. Out: numbers, names, start times, stack pointers. Called by threads.c.
 * Must not allocate (opendir would).
 * Uses: getdents64; stat, comm (2.6.33), syscall (2.6.27) of each thread. */
#define _GNU_SOURCE
#include "claim/linux/tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os/os.h"

#define STAT_BYTES 1024
#define FIELD_START 22u /* of stat, counted from 1; the first behind the name is 3 */

/* The kernel's record; its name follows. */
struct entry {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[1];
};

void mt_tasks_open(struct mt_tasks *t, uint32_t pid)
{
    char path[64] = "/proc/self/task";

    if (pid)
        snprintf(path, sizeof(path), "/proc/%u/task", pid);
    t->directory = mt_os_descriptor_keep(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    t->at = t->filled = 0;
}

void mt_tasks_close(struct mt_tasks *t)
{
    mt_os_descriptor_close(t->directory);
    t->directory = -1;
}

static bool is_there(const struct mt_tasks *t)
{
    return t->directory >= 0 && mt_os_descriptor_is_ours(t->directory);
}

void mt_tasks_rewind(struct mt_tasks *t)
{
    t->at = t->filled = 0;
    if (is_there(t))
        lseek(t->directory, 0, SEEK_SET);
}

static bool fill(struct mt_tasks *t)
{
    long got =
        is_there(t) ? syscall(SYS_getdents64, t->directory, t->buffer, sizeof(t->buffer)) : -1;

    t->at = 0;
    t->filled = got > 0 ? (size_t)got : 0;
    return got > 0;
}

bool mt_tasks_next(struct mt_tasks *t, uint32_t *out_tid, uint64_t *out_identity)
{
    for (;;) {
        const size_t name_offset = offsetof(struct entry, name);
        struct entry e;
        const char *name;

        if (t->at + name_offset >= t->filled && !fill(t))
            return false;
        memcpy(&e, t->buffer + t->at, name_offset);
        name = t->buffer + t->at + name_offset;
        if (e.bytes <= name_offset || e.bytes > t->filled - t->at)
            return false;
        t->at += e.bytes;
        if (name[0] < '1' || name[0] > '9')
            continue;
        *out_tid = (uint32_t)strtoul(name, NULL, 10);
        *out_identity = e.inode;
        return true;
    }
}

static size_t read_file(const struct mt_tasks *t, uint32_t tid, const char *name, char *out,
                        size_t bytes)
{
    char path[64];
    ssize_t got;
    int file;

    if (!is_there(t))
        return 0;
    snprintf(path, sizeof(path), "%u/%s", tid, name);
    file = openat(t->directory, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    got = read(file, out, bytes - 1);
    close(file);
    out[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

static void copy_name(char *out, const char *name, size_t n)
{
    if (n >= MT_TASK_NAME_BYTES)
        n = MT_TASK_NAME_BYTES - 1;
    memcpy(out, name, n);
    out[n] = '\0';
}

/* A name may hold blanks and brackets: it ends at the last bracket. */
bool mt_tasks_stat(const struct mt_tasks *t, uint32_t tid, char *out_name, uint64_t *out_start)
{
    char text[STAT_BYTES];
    char *begin, *end;

    if (!read_file(t, tid, "stat", text, sizeof(text)))
        return false;
    begin = strchr(text, '(');
    end = strrchr(text, ')');
    if (!begin || !end || end < begin)
        return false;
    copy_name(out_name, begin + 1, (size_t)(end - begin - 1));
    for (unsigned field = 2; field < FIELD_START && end; field++)
        end = strchr(end + 1, ' ');
    *out_start = end ? strtoull(end + 1, NULL, 10) : 0;
    return true;
}

bool mt_tasks_name(const struct mt_tasks *t, uint32_t tid, char *out_name)
{
    char text[MT_TASK_NAME_BYTES];
    size_t n = read_file(t, tid, "comm", text, sizeof(text));

    if (n > 0 && text[n - 1] == '\n')
        n--;
    copy_name(out_name, text, n);
    return n > 0;
}

/* "number arguments … sp pc", "-1 sp pc" or "running": the last word but one. */
uint64_t mt_tasks_stack_pointer(const struct mt_tasks *t, uint32_t tid)
{
    char text[256];
    char *space;

    if (!read_file(t, tid, "syscall", text, sizeof(text)))
        return 0;
    space = strrchr(text, ' ');
    if (!space)
        return 0;
    *space = '\0';
    space = strrchr(text, ' ');
    return space ? strtoull(space + 1, NULL, 16) : 0;
}
