/* SPDX-License-Identifier: MIT */
/* source/linux: the cheap counters of the process.
 * In: kept descriptors. Out: counters, each with its bit only when it was read.
 * Called as an operation of the source at every tick, so it reads little: one status, and stat
 * or getrusage. Must not count descriptors in the calling thread's table: that one is private.
 * Uses: /proc/PID/status (RssAnon since 4.5), stat; st_size of /proc/PID/fd since 6.2; getrusage.
 */
#define _GNU_SOURCE
#include "source/linux/linux_source.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/os/os.h"
#include "source/linux/status.h"

static int read_status(struct mt_linux_source *s, int fd, struct mt_counters *out,
                       struct mt_sizes *sizes)
{
    const char *line;
    size_t n;
    int got;

    mt_lines_start(&s->lines, fd, MT_LINES_BUFFER_BYTES, NULL);
    while ((got = mt_lines_next(&s->lines, &line, &n)) > 0) {
        mt_status_line(line, n, out);
        mt_sizes_line(line, n, sizes);
    }
    return got;
}

/* A leader that has ended has no memory lines; a thread that lives has the process's. What the
 * leader said of itself stays. */
static int complete_status(struct mt_linux_source *s, struct mt_counters *out,
                           struct mt_sizes *sizes)
{
    struct mt_counters task = {.known = 0};
    int error;

    if (mt_status_knows(out, MT_COUNTER_VM_SIZE) || s->task_status < 0)
        return TRACER_OK;
    error = read_status(s, s->task_status, &task, sizes);
    for (unsigned c = 0; c < MT_COUNTER_CAPACITY && !error; c++)
        if (mt_status_knows(&task, (enum mt_counter)c) && !mt_status_knows(out, (enum mt_counter)c))
            mt_status_set(out, (enum mt_counter)c, task.value[c]);
    return error;
}

static uint64_t ns_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static void read_own_usage(struct mt_counters *out)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage))
        return;
    mt_status_set(out, MT_COUNTER_MINOR_FAULTS, (uint64_t)usage.ru_minflt);
    mt_status_set(out, MT_COUNTER_MAJOR_FAULTS, (uint64_t)usage.ru_majflt);
    mt_status_set(out, MT_COUNTER_CPU_NS, ns_of(usage.ru_utime) + ns_of(usage.ru_stime));
}

static void read_stat(struct mt_linux_source *s, struct mt_counters *out)
{
    const char *line;
    size_t n;

    if (s->stat < 0)
        return;
    mt_lines_start(&s->lines, s->stat, MT_LINES_BUFFER_BYTES, NULL);
    if (mt_lines_next(&s->lines, &line, &n) > 0)
        mt_status_stat(line, n, s->ticks_per_second, out);
}

/* Older kernels say 0, which a process may not be told from: unknown. */
static void read_descriptors(const struct mt_linux_source *s, struct mt_counters *out)
{
    struct stat st;

    if (s->live && mt_os_descriptor_is_ours(s->leader) && !fstatat(s->leader, "fd", &st, 0) &&
        st.st_size > 0)
        mt_status_set(out, MT_COUNTER_DESCRIPTORS, (uint64_t)st.st_size);
}

int mt_linux_counters(struct mt_source *source, struct mt_counters *out)
{
    struct mt_linux_source *s = (struct mt_linux_source *)(void *)source;
    struct mt_counters counters = {.known = 0};
    struct mt_sizes sizes = {.known = 0};
    int error = s->status < 0 ? TRACER_OK : read_status(s, s->status, &counters, &sizes);

    if (!error)
        error = complete_status(s, &counters, &sizes);
    mt_follow_sizes(&s->follow, &sizes);
    if (error)
        return error;
    if (s->live && !s->pid)
        read_own_usage(&counters);
    else
        read_stat(s, &counters);
    read_descriptors(s, &counters);
    *out = counters;
    return TRACER_OK;
}
