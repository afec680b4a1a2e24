/* SPDX-License-Identifier: MIT */
/* base/os/posix: what table run says about the host, the process and its limits.
 * In: a process id. Out: struct mt_os_facts. Called by sampler/ once a run, in its own thread, so
 * that the descriptors used here are never in the host's table.
 * Uses: /proc/PID/{exe,comm,stat,limits,cgroup}, /proc/{meminfo,stat}, /sys/fs/cgroup. */
#define _GNU_SOURCE
#include "base/os/os.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The beginning of a file as text; 0 = cannot be read. */
static size_t read_text(const char *path, char *out, size_t out_bytes)
{
    size_t used = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    while (used + 1 < out_bytes) {
        ssize_t n = read(fd, out + used, out_bytes - used - 1);

        if (n <= 0)
            break;
        used += (size_t)n;
    }
    close(fd);
    out[used] = '\0';
    return used;
}

static size_t read_process_text(uint32_t pid, const char *file, char *out, size_t out_bytes)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, file);
    return read_text(path, out, out_bytes);
}

/* The whole number behind `key` in `text`, -1 = not there or no number ("unlimited", "max"). */
static int64_t number_behind(const char *text, const char *key)
{
    const char *p = strstr(text, key);
    char *end;
    long long value;

    if (!p)
        return -1;
    p += strlen(key);
    p += strspn(p, " \t:");
    value = strtoll(p, &end, 10);
    return end == p || value < 0 ? -1 : value;
}

static void read_names(uint32_t pid, struct mt_os_facts *out)
{
    struct utsname u;
    char path[64];
    ssize_t n;
    size_t comm;

    if (!uname(&u)) {
        snprintf(out->host, sizeof(out->host), "%s", u.nodename);
        snprintf(out->os, sizeof(out->os), "%.30s %.60s %.30s", u.sysname, u.release, u.machine);
    }
    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
    n = readlink(path, out->exe, sizeof(out->exe) - 1);
    out->exe[n > 0 ? n : 0] = '\0';
    comm = read_process_text(pid, "comm", out->name, sizeof(out->name));
    if (comm > 0 && out->name[comm - 1] == '\n')
        out->name[comm - 1] = '\0';
}

static void read_limits(uint32_t pid, struct mt_os_facts *out)
{
    char text[4096];
    int64_t kib;

    if (read_process_text(pid, "limits", text, sizeof(text))) {
        out->address_limit_bytes = number_behind(text, "Max address space");
        out->data_limit_bytes = number_behind(text, "Max data size");
    }
    if (read_text("/proc/meminfo", text, sizeof(text)) &&
        (kib = number_behind(text, "MemTotal:")) >= 0)
        out->host_memory_bytes = kib * 1024;
    if (read_text("/proc/sys/vm/max_map_count", text, sizeof(text)))
        out->max_regions = number_behind(text, "");
}

/* Version 2 has one line "0::/path", version 1 one with the controller's name. */
static int64_t cgroup_limit(uint32_t pid)
{
    char text[4096], path[4608], value[64];
    char *line, *name;
    bool v1 = false;

    if (!read_process_text(pid, "cgroup", text, sizeof(text)))
        return -1;
    line = strstr(text, ":memory:");
    if (line) {
        v1 = true;
        name = line + strlen(":memory:");
    } else {
        line = strstr(text, "0::");
        if (!line)
            return -1;
        name = line + strlen("0::");
    }
    name[strcspn(name, "\n")] = '\0';
    snprintf(path, sizeof(path),
             v1 ? "/sys/fs/cgroup/memory%s/memory.limit_in_bytes" : "/sys/fs/cgroup%s/memory.max",
             name);
    return read_text(path, value, sizeof(value)) ? number_behind(value, "") : -1;
}

/* Fields 4 (parent) and 22 (start, in ticks since boot) of stat, behind the name in brackets. */
static void read_stat(uint32_t pid, struct mt_os_facts *out)
{
    char text[1024], boot[65536];
    const char *p;
    unsigned long long start = 0;
    long long parent = 0;
    int64_t boot_s;

    if (!read_process_text(pid, "stat", text, sizeof(text)) || !(p = strrchr(text, ')')))
        return;
    if (sscanf(p + 1,
               " %*c %lld %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
               "%*d %llu",
               &parent, &start) != 2)
        return;
    out->parent_pid = parent;
    if (read_text("/proc/stat", boot, sizeof(boot)) && (boot_s = number_behind(boot, "btime")) >= 0)
        out->process_start_ns =
            boot_s * 1000000000 + (int64_t)(start * (1000000000u / (unsigned)sysconf(_SC_CLK_TCK)));
}

void mt_os_facts_read(uint32_t pid, struct mt_os_facts *out)
{
    memset(out, 0, sizeof(*out));
    out->parent_pid = -1;
    out->host_memory_bytes = -1;
    out->cgroup_limit_bytes = -1;
    out->address_limit_bytes = -1;
    out->data_limit_bytes = -1;
    out->max_regions = -1;
    out->process_start_ns = -1;
    read_names(pid, out);
    read_limits(pid, out);
    read_stat(pid, out);
    out->cgroup_limit_bytes = cgroup_limit(pid);
    if (out->cgroup_limit_bytes > INT64_MAX / 2)
        out->cgroup_limit_bytes = -1;
}
