/* SPDX-License-Identifier: MIT */
/* source/linux: opens the source of a live process.
 * In: a process id. Out: a source with its descriptors and buffers.
 * Called by sampler/ in the thread that will sample, and by tests with a /proc of their own.
 * For this process the files are those of the calling thread: /proc/self/maps is empty once the
 * main thread has ended, while other threads go on.
 * Uses: /proc/self, /proc/thread-self (3.17), /proc/sys/vm/mmap_min_addr. */
#define _GNU_SOURCE
#include "source/linux/linux_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "source/linux/cursor.h"

#define PATH_BYTES 1024
#define LOWEST_ADDRESS_DEFAULT 65536

/* One region can hold the lock for many milliseconds here, which no gap makes shorter. Gaps are for
 * the many short reads; each costs what reading several regions does, and after 4 ms the kernel
 * hands the lock to who waits. */
#define SMAPS_GAP_FROM_NS 4000000

static int count_pages(struct mt_source *source, const struct mt_snapshot *snapshot,
                       struct mt_interval *intervals, uint32_t n_intervals, uint32_t *next,
                       int64_t deadline_ns)
{
    struct mt_linux_source *s = (struct mt_linux_source *)(void *)source;

    s->count.deadline_ns = deadline_ns;
    return mt_count_intervals(&s->count, snapshot, intervals, n_intervals, next);
}

static const struct mt_source_ops ops = {
    .counters = mt_linux_counters,
    .list = mt_linux_list,
    .follow = mt_linux_follow,
    .count = count_pages,
    .close = mt_linux_close,
};

struct mt_linux_source *mt_linux_new(void)
{
    const size_t entries = MT_PAGEMAP_ENTRIES * sizeof(uint64_t);
    const size_t regions = MT_SCAN_REGIONS * sizeof(struct mt_scan_region);
    const size_t flags = sizeof(struct mt_kept_flags);
    char *block = mt_memory_alloc(entries + regions + flags + MT_LINES_BUFFER_BYTES +
                                  sizeof(struct mt_linux_source));
    struct mt_linux_source *s;

    if (!block) {
        mt_error_set(TRACER_ENOMEM, "no memory to read the list of mappings");
        return NULL;
    }
    s = (struct mt_linux_source *)(void *)block;
    block += (sizeof(*s) + 63) / 64 * 64;
    *s = (struct mt_linux_source){.base = {&ops}};
    s->leader = s->task = s->maps = s->smaps = s->pagemap = -1;
    s->status = s->stat = s->task_status = -1;
    s->lowest_address = LOWEST_ADDRESS_DEFAULT;
    s->text_pace.gap_from_ns = SMAPS_GAP_FROM_NS;
    s->ticks_per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    s->count.pagemap.entries = (uint64_t *)(void *)block;
    s->count.scan.regions = (struct mt_scan_region *)(void *)(block + entries);
    s->kept_flags = (struct mt_kept_flags *)(void *)(block + entries + regions);
    mt_lines_init(&s->lines, block + entries + regions + flags, MT_LINES_BUFFER_BYTES - 64);
    return s;
}

void mt_linux_close(struct mt_source *source)
{
    struct mt_linux_source *s = (struct mt_linux_source *)(void *)source;

    if (!s)
        return;
    mt_descriptors_close(s);
    mt_list_text_release(&s->text);
    mt_memory_free(s);
}

static void read_lowest_address(struct mt_linux_source *s, const char *proc_root)
{
    char text[PATH_BYTES];
    struct mt_cursor c;
    uint64_t value;
    ssize_t n;
    int fd;

    snprintf(text, sizeof(text), "%s/sys/vm/mmap_min_addr", proc_root);
    fd = open(text, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    n = read(fd, text, sizeof(text));
    close(fd);
    c = (struct mt_cursor){text, text + (n > 0 ? n : 0)};
    if (mt_cursor_number(&c, 10, &value))
        s->lowest_address = value;
}

static int open_directory(const char *proc_root, const char *name)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%s/%s", proc_root, name);

    if (n < 0 || (size_t)n >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return mt_os_descriptor_keep(open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY));
}

static int open_directories(struct mt_linux_source *s, const char *proc_root)
{
    char pid[16];
    int error;

    snprintf(pid, sizeof(pid), "%u", s->pid);
    s->leader = open_directory(proc_root, s->pid ? pid : "self");
    s->task = s->pid || s->leader < 0 ? -1 : open_directory(proc_root, "thread-self");
    if (s->task < 0 && s->leader >= 0)
        s->task = mt_os_descriptor_keep(openat(s->leader, ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    error = errno; /* of the call that failed last */
    if (s->task >= 0)
        return TRACER_OK;
    if (error == EMFILE || error == ENFILE)
        return mt_error_set(TRACER_ELIMIT, "no descriptor is left (%s): raise ulimit -n",
                            strerror(error));
    if (access(proc_root, F_OK) || !s->pid)
        return mt_error_set(TRACER_EUNSUPPORTED, "%s is not there (%s): mount procfs", proc_root,
                            strerror(error));
    return mt_error_set(TRACER_ESTATE, "there is no process %u to be seen in %s", s->pid,
                        proc_root);
}

int mt_linux_open(const char *proc_root, uint32_t pid, struct mt_source **out)
{
    struct mt_linux_source *s = mt_linux_new();
    int error;

    if (!s)
        return TRACER_ENOMEM;
    s->live = true;
    mt_list_text_init(&s->text);
    s->pid = pid == mt_os_process_id() ? 0 : pid;
    read_lowest_address(s, proc_root);
    error = open_directories(s, proc_root);
    if (!error)
        error = mt_descriptors_open(s);
    if (error) {
        mt_linux_close(&s->base);
        return error;
    }
    *out = &s->base;
    return TRACER_OK;
}

int mt_source_open_process(uint32_t pid, struct mt_source **out)
{
    return mt_linux_open("/proc", pid, out);
}
