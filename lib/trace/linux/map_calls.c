/* SPDX-License-Identifier: MIT */
/* trace/linux: calls that change the address space. In: the host's calls. Out: the system's
 * answers, and an event for each that succeeded. What a C library maps for itself by its own
 * system calls does not come through here.
 * Called from anywhere, before main() and in signal handlers too. errno stays the call's.
 * Uses: mmap, munmap, mremap, mprotect, brk, sbrk, shmat, shmdt (Linux 2.6). */
#undef _FILE_OFFSET_BITS
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "trace/linux/interpose.h"

#define VISIBLE __attribute__((visibility("default")))

static const struct mt_next *next(void)
{
    if (!mt_next.mmap)
        mt_next_bind();
    return &mt_next;
}

static uint8_t rights(int protection)
{
    return (uint8_t)((protection & PROT_READ ? 1 : 0) | (protection & PROT_WRITE ? 2 : 0) |
                     (protection & PROT_EXEC ? 4 : 0));
}

VISIBLE void *mmap(void *wish, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    int64_t began_ns = mt_trace_now();
    void *p = next()->mmap(wish, bytes, protection, flags, fd, offset);

    if (p != MAP_FAILED && mt_trace_enter()) {
        MT_TRACE_EVENT(e, MT_EVENT_MMAP);
        e.address = (uintptr_t)p;
        e.bytes = bytes;
        e.protection = rights(protection);
        e.map_flags = (uint32_t)flags;
        mt_trace_tell_moved(&e, began_ns);
        mt_trace_leave();
    }
    return p;
}

VISIBLE void *mmap64(void *wish, size_t bytes, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

VISIBLE int munmap(void *p, size_t bytes)
{
    int64_t began_ns = mt_trace_now();
    int rc = next()->munmap(p, bytes);

    if (!rc && mt_trace_enter()) {
        MT_TRACE_EVENT(e, MT_EVENT_MUNMAP);
        e.address = (uintptr_t)p;
        e.bytes = bytes;
        mt_trace_tell_given(&e, began_ns);
        mt_trace_leave();
    }
    return rc;
}

VISIBLE void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    int64_t began_ns = mt_trace_now();
    void *wish = NULL, *p;

    if (flags & MREMAP_FIXED) {
        va_list args;

        va_start(args, flags);
        wish = va_arg(args, void *);
        va_end(args);
    }
    p = next()->mremap(old, old_bytes, bytes, flags, wish);
    if (p != MAP_FAILED && mt_trace_enter()) {
        MT_TRACE_EVENT(e, MT_EVENT_MREMAP);
        e.address = (uintptr_t)p;
        e.bytes = bytes;
        e.old_address = (uintptr_t)old;
        e.old_bytes = old_bytes;
        mt_trace_tell_moved(&e, began_ns);
        mt_trace_leave();
    }
    return p;
}

VISIBLE int mprotect(void *p, size_t bytes, int protection)
{
    int rc = next()->mprotect(p, bytes, protection);

    if (!rc && mt_trace_enter()) {
        MT_TRACE_EVENT(e, MT_EVENT_MPROTECT);
        e.address = (uintptr_t)p;
        e.bytes = bytes;
        e.protection = rights(protection);
        mt_trace_tell(&e);
        mt_trace_leave();
    }
    return rc;
}

VISIBLE int brk(void *end)
{
    int64_t began_ns = mt_trace_now();
    void *old = next()->sbrk(0);
    int rc = mt_next.brk(end);

    if (!rc && end != old && mt_trace_enter()) {
        MT_TRACE_EVENT(e, MT_EVENT_BRK);
        e.address = (uintptr_t)end;
        e.old_address = (uintptr_t)old;
        mt_trace_tell_moved(&e, began_ns);
        mt_trace_leave();
    }
    return rc;
}

VISIBLE void *sbrk(intptr_t more)
{
    int64_t began_ns = mt_trace_now();
    char *old = next()->sbrk(more);

    if (more && (uintptr_t)old != UINTPTR_MAX && mt_trace_enter()) {
        MT_TRACE_EVENT(e, MT_EVENT_BRK);
        e.address = (uintptr_t)old + (uintptr_t)more;
        e.old_address = (uintptr_t)old;
        mt_trace_tell_moved(&e, began_ns);
        mt_trace_leave();
    }
    return old;
}

static uint64_t segment_bytes(int id)
{
    struct shmid_ds segment;
    int saved = errno;
    uint64_t bytes = shmctl(id, IPC_STAT, &segment) ? 0 : segment.shm_segsz;

    errno = saved;
    return bytes;
}

VISIBLE void *shmat(int id, const void *wish, int flags)
{
    int64_t began_ns = mt_trace_now();
    void *p = next()->shmat(id, wish, flags);

    if ((uintptr_t)p != UINTPTR_MAX && mt_trace_enter()) {
        MT_TRACE_EVENT(e, MT_EVENT_SHMAT);
        e.address = (uintptr_t)p;
        e.bytes = segment_bytes(id);
        e.protection = rights(PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE));
        mt_trace_tell_moved(&e, began_ns);
        mt_trace_leave();
    }
    return p;
}

/* How much it was stands in the event of its shmat(). */
VISIBLE int shmdt(const void *p)
{
    int64_t began_ns = mt_trace_now();
    int rc = next()->shmdt(p);

    if (!rc && mt_trace_enter()) {
        MT_TRACE_EVENT(e, MT_EVENT_SHMDT);
        e.address = (uintptr_t)p;
        mt_trace_tell_given(&e, began_ns);
        mt_trace_leave();
    }
    return rc;
}
