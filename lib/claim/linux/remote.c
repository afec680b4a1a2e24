/* SPDX-License-Identifier: MIT */
/* claim/linux: memory of a process, read from the outside even when it is our own.
 * In: addresses. Out: bytes, only of pages that are present. Called by the providers.
 * Must not touch the sampled memory by pointer, must not fault a page in.
 * Uses: process_vm_readv (3.2), else /proc/PID/mem; the page scan of /proc/PID/pagemap (6.7), else
 * its words (2.6.25), else for this process mincore. Both descriptors are opened once: a process
 * that changes its user later keeps what it has. */
#define _GNU_SOURCE
#include "claim/linux/remote.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/os/os.h"

#define READ_BYTES_MOST (64u * 1024)
#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define SCAN_PRESENT (UINT64_C(1) << 3)

struct scan_range {
    uint64_t start, end, categories;
};

/* The kernel's argument of the page scan, declared here: older headers lack it. */
struct scan_argument {
    uint64_t size, flags, start, end, walk_end, ranges, n_ranges, pages_most;
    uint64_t inverted, all_of, any_of, returned;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_argument)

static bool copy_by_call(struct mt_remote *r, uint64_t address, void *out, size_t bytes)
{
    struct iovec here = {.iov_base = out, .iov_len = bytes};
    struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = bytes};

    return process_vm_readv(r->task, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static bool copy_by_file(struct mt_remote *r, uint64_t address, void *out, size_t bytes)
{
    return mt_os_descriptor_is_ours(r->mem) &&
           pread(r->mem, out, bytes, (off_t)address) == (ssize_t)bytes;
}

static bool copy_nothing(struct mt_remote *r, uint64_t address, void *out, size_t bytes)
{
    (void)r;
    (void)address;
    (void)out;
    (void)bytes;
    return false;
}

static uint64_t presence_by_pagemap(struct mt_remote *r, uint64_t first_page)
{
    uint64_t entries[MT_REMOTE_PAGES], bits = 0;
    ssize_t got;

    if (!mt_os_descriptor_is_ours(r->pagemap))
        return 0;
    got = pread(r->pagemap, entries, sizeof(entries), (off_t)(first_page * 8));
    for (ssize_t i = 0; i < got / 8; i++)
        if (entries[i] & PAGEMAP_PRESENT)
            bits |= UINT64_C(1) << i;
    return bits;
}

static int scan(struct mt_remote *r, uint64_t first_page, struct scan_range *out, uint32_t n)
{
    struct scan_argument a = {.size = sizeof(a),
                              .start = first_page * r->page_bytes,
                              .end = (first_page + MT_REMOTE_PAGES) * r->page_bytes,
                              .ranges = (uintptr_t)out,
                              .n_ranges = n,
                              .any_of = SCAN_PRESENT,
                              .returned = SCAN_PRESENT};

    return mt_os_descriptor_is_ours(r->pagemap) ? ioctl(r->pagemap, SCAN_IOCTL, &a) : -1;
}

/* Unlike a word of pagemap it does not make the kernel look at the page's own descriptor, which is
 * rarely in a cache. At the very end of the address space it refuses. */
static uint64_t presence_by_scan(struct mt_remote *r, uint64_t first_page)
{
    struct scan_range ranges[MT_REMOTE_PAGES / 2];
    int n = scan(r, first_page, ranges, MT_REMOTE_PAGES / 2);
    uint64_t bits = 0;

    if (n < 0)
        return presence_by_pagemap(r, first_page);
    for (int i = 0; i < n; i++)
        for (uint64_t at = ranges[i].start; at < ranges[i].end; at += r->page_bytes)
            bits |= UINT64_C(1) << (at / r->page_bytes - first_page);
    return bits;
}

/* One page a call: mincore refuses a range with a hole. */
static uint64_t presence_by_mincore(struct mt_remote *r, uint64_t first_page)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < MT_REMOTE_PAGES; i++) {
        void *page = (void *)(uintptr_t)((first_page + i) * r->page_bytes);
        unsigned char resident = 0;

        if (!mincore(page, r->page_bytes, &resident) && (resident & 1))
            bits |= UINT64_C(1) << i;
    }
    return bits;
}

static const struct mt_remote_ops by_call = {copy_by_call, presence_by_pagemap};
static const struct mt_remote_ops by_call_scan = {copy_by_call, presence_by_scan};
static const struct mt_remote_ops by_file = {copy_by_file, presence_by_pagemap};
static const struct mt_remote_ops by_call_mincore = {copy_by_call, presence_by_mincore};
static const struct mt_remote_ops refused = {copy_nothing, presence_by_pagemap};

/* The main thread may have ended while others live: then only a living thread's files answer. */
static int open_file(uint32_t pid, const char *name)
{
    char path[64];

    if (pid)
        snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
    else
        snprintf(path, sizeof(path), "/proc/thread-self/%s", name);
    return mt_os_descriptor_keep(open(path, O_RDONLY | O_CLOEXEC));
}

/* Tries the call on the caller's own word: a sandbox may refuse it. */
static bool call_works(struct mt_remote *r, bool self)
{
    uint64_t probe = 42, copy = 0;

    if (!self)
        return true;
    return copy_by_call(r, (uint64_t)(uintptr_t)&probe, &copy, sizeof(copy)) && copy == probe;
}

void mt_remote_open(struct mt_remote *out, uint32_t pid)
{
    *out = (struct mt_remote){.ops = &refused, .pagemap = -1, .mem = -1};
    out->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    out->task = pid ? (int32_t)pid : (int32_t)syscall(SYS_gettid);
    out->pagemap = open_file(pid, "pagemap");
    if (out->pagemap < 0) {
        if (!pid && call_works(out, true))
            out->ops = &by_call_mincore;
        return;
    }
    if (call_works(out, !pid)) {
        struct scan_range one;

        out->ops = scan(out, 0, &one, 1) < 0 ? &by_call : &by_call_scan;
        return;
    }
    out->mem = open_file(pid, "mem");
    if (out->mem >= 0)
        out->ops = &by_file;
}

void mt_remote_close(struct mt_remote *r)
{
    mt_os_descriptor_close(r->pagemap);
    mt_os_descriptor_close(r->mem);
    r->pagemap = r->mem = -1;
    r->ops = &refused;
}

void mt_remote_refresh(struct mt_remote *r)
{
    for (unsigned i = 0; i < MT_REMOTE_WINDOWS; i++)
        r->windows[i].known = false;
}

bool mt_remote_present(struct mt_remote *r, uint64_t address)
{
    uint64_t page = address / r->page_bytes;
    uint64_t first = page - page % MT_REMOTE_PAGES;
    unsigned slot = (unsigned)(page / MT_REMOTE_PAGES % MT_REMOTE_WINDOWS);

    if (!r->windows[slot].known || r->windows[slot].first_page != first) {
        r->windows[slot].bits = r->ops->presence(r, first);
        r->windows[slot].first_page = first;
        r->windows[slot].known = true;
    }
    return r->windows[slot].bits >> (page % MT_REMOTE_PAGES) & 1;
}

bool mt_remote_read(struct mt_remote *r, uint64_t address, void *out, size_t bytes)
{
    uint64_t last = address + bytes - 1;

    if (bytes == 0 || bytes > READ_BYTES_MOST || last < address)
        return false;
    for (uint64_t at = address - address % r->page_bytes; at <= last; at += r->page_bytes) {
        if (!mt_remote_present(r, at))
            return false;
        if (at + r->page_bytes < at)
            break;
    }
    return r->ops->copy(r, address, out, bytes);
}
