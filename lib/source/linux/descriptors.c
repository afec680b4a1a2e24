/* SPDX-License-Identifier: MIT */
/* source/linux: the descriptors a source keeps.
 * In: directories of a process and of a thread. Out: its files, opened once.
 * Called by open_process.c, open_files.c and, when a list came out empty, listing.c. Must not
 * allocate (a directory is listed by the system call) nor use O_NOATIME: the files of a process
 * that changed its user belong to root. Directories are held, so that a reused process id is
 * never taken for the old process.
 * Uses: openat, getdents64. */
#define _GNU_SOURCE
#include "source/linux/linux_source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/os/os.h"

#define DIRECTORY (O_RDONLY | O_CLOEXEC | O_DIRECTORY)

/* The kernel's struct linux_dirent64, up to the name. */
struct entry_head {
    uint64_t inode;
    int64_t next;
    unsigned short bytes;
    unsigned char type;
};
#define ENTRY_NAME 19u

static int open_in(int directory, const char *name, int how)
{
    if (directory < 0)
        return -1;
    if (!mt_os_descriptor_is_ours(directory)) {
        errno = EBADF;
        return -1;
    }
    return mt_os_descriptor_keep(openat(directory, name, how));
}

static int open_text(int directory, const char *name)
{
    return open_in(directory, name, O_RDONLY | O_CLOEXEC);
}

static void close_one(int *fd)
{
    mt_os_descriptor_close(*fd);
    *fd = -1;
}

static void close_task_files(struct mt_linux_source *s)
{
    close_one(&s->maps);
    close_one(&s->smaps);
    close_one(&s->pagemap);
    close_one(&s->task_status);
}

void mt_descriptors_close(struct mt_linux_source *s)
{
    close_task_files(s);
    close_one(&s->status);
    close_one(&s->stat);
    close_one(&s->leader);
    close_one(&s->task);
}

static int refusal(const struct mt_linux_source *s, int error)
{
    if (error == EACCES || error == EPERM)
        return mt_error_set(TRACER_EDENIED,
                            "the memory of process %u may not be looked at: run as the same user "
                            "with kernel.yama.ptrace_scope=0, or with CAP_SYS_PTRACE",
                            s->pid);
    if (error == ESRCH || (error == ENOENT && s->pid))
        return mt_error_set(TRACER_ESTATE, "process %u has ended", s->pid);
    return mt_error_set(TRACER_EIO, "neither maps nor smaps can be opened: %s", strerror(error));
}

/* pagemap needs more rights than maps and smaps, and both may be missing in a sandbox. */
static int open_task_files(struct mt_linux_source *s)
{
    int error;

    s->maps = open_text(s->task, "maps");
    error = errno;
    s->smaps = open_text(s->task, "smaps");
    if (s->maps < 0 && s->smaps < 0)
        return refusal(s, error);
    s->pagemap = open_text(s->task, "pagemap");
    s->task_status = open_text(s->task, "status");
    mt_count_init(&s->count, s->pagemap, s->count.scan.regions, s->count.pagemap.entries, &s->pace);
    s->count.own = s->live && !s->pid;
    return TRACER_OK;
}

int mt_descriptors_open(struct mt_linux_source *s)
{
    s->status = open_text(s->leader, "status");
    s->stat = open_text(s->leader, "stat");
    return open_task_files(s);
}

static bool has_memory(int directory)
{
    char byte;
    int fd = open_text(directory, "maps");
    bool has = fd >= 0 && mt_os_descriptor_is_ours(fd) && pread(fd, &byte, 1, 0) == 1;

    close_one(&fd);
    return has;
}

/* The directory of the first thread in `tasks` that has memory, or -1. The text buffer, unused
 * between two lists, takes the entries. */
static int find_task(int tasks, char *buffer, size_t capacity)
{
    long n;

    while (mt_os_descriptor_is_ours(tasks) &&
           (n = syscall(SYS_getdents64, tasks, buffer, capacity)) > 0) {
        struct entry_head head;

        for (long at = 0; at < n; at += head.bytes) {
            const char *name = buffer + at + ENTRY_NAME;
            int task;

            memcpy(&head, buffer + at, sizeof(head));
            task = name[0] == '.' ? -1 : open_in(tasks, name, DIRECTORY);
            if (task >= 0 && has_memory(task))
                return task;
            close_one(&task);
        }
    }
    return -1;
}

bool mt_descriptors_renew(struct mt_linux_source *s)
{
    int tasks, task = -1;

    if (!s->live || s->leader < 0)
        return false;
    if (has_memory(s->leader)) {
        task = open_in(s->leader, ".", DIRECTORY);
    } else {
        tasks = open_in(s->leader, "task", DIRECTORY);
        if (tasks >= 0)
            task = find_task(tasks, s->lines.buffer, s->lines.capacity);
        close_one(&tasks);
    }
    if (task < 0)
        return false;
    close_task_files(s);
    close_one(&s->task);
    s->task = task;
    return open_task_files(s) == TRACER_OK;
}
