/* SPDX-License-Identifier: MIT */
/* base/os/posix: whose table of descriptors the sampler uses, and which numbers in it are its own.
 * In: descriptors. Out: a table of the thread's own; where that is refused, numbers far from the
 * host's, and whether they still are what they were. Called by the sampler's thread, and by others
 * that read and write as it does: their descriptors are the host's business. Must not take a lock.
 * Uses: close_range CLOSE_RANGE_UNSHARE (Linux 5.9), else unshare(CLONE_FILES); unshare(CLONE_FS)
 * (both 2.6.16); fstat: of an open file of /proc, too, device and inode stay what they are. */
#define _GNU_SOURCE
#include "base/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "base/compiler.h"

#define CLOSE_RANGE_UNSHARE_FLAG 2u
#define N_OLD_DESCRIPTORS 65536
#define FAR_DESCRIPTOR 4096 /* hosts come to lower numbers, close loops to higher ones */
#define KEPT_MOST 24 /* the source has 8, 3 more while it looks for a thread; others have 9 */

struct kept {
    dev_t device;
    ino_t inode;
    int number;
    bool used;
};

static MT_THREAD_LOCAL bool is_shared; /* this thread got no table of its own */
static MT_THREAD_LOCAL struct kept kept[KEPT_MOST];

#if defined(__linux__)
/* 0 to 2 must be open (SQLite and others rely on it) but must not be the host's: a copy of its
 * pipe would keep the reader at the other end waiting after the host closed it. */
static void replace_standard_descriptors(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (fd < 0)
        fd = (int)syscall(SYS_memfd_create, "memtracer", 1u);
    if (fd < 0)
        return;
    for (int i = 0; i < 3; i++)
        if (fd != i)
            dup3(fd, i, O_CLOEXEC);
    if (fd > 2)
        close(fd);
}

static bool unshare_the_old_way(void)
{
    struct rlimit limit;
    int last = N_OLD_DESCRIPTORS;

    if (unshare(CLONE_FILES))
        return false;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < N_OLD_DESCRIPTORS)
        last = (int)limit.rlim_cur;
    for (int fd = 3; fd < last; fd++)
        close(fd);
    return true;
}
#endif

bool mt_os_thread_own_descriptors(void)
{
#if defined(__linux__)
    /* Also, a host may enter another mount namespace only while none of its threads shares its
     * folders. */
    unshare(CLONE_FS);
    if (syscall(436 /* close_range */, 3u, ~0u, CLOSE_RANGE_UNSHARE_FLAG) == 0 ||
        unshare_the_old_way()) {
        replace_standard_descriptors();
        return true;
    }
#endif
    is_shared = true;
    return false;
}

static struct kept *find(int number)
{
    for (size_t i = 0; i < KEPT_MOST; i++)
        if (kept[i].used && kept[i].number == number)
            return &kept[i];
    return NULL;
}

static bool note(int number)
{
    struct stat s;

    for (size_t i = 0; i < KEPT_MOST; i++) {
        if (kept[i].used)
            continue;
        if (fstat(number, &s))
            return false;
        kept[i] = (struct kept){s.st_dev, s.st_ino, number, true};
        return true;
    }
    return false;
}

/* Where the limit is lower than what is asked for, the upper half of what there is. */
static int lowest_far(void)
{
    struct rlimit limit;
    int from = FAR_DESCRIPTOR;

    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < 2 * FAR_DESCRIPTOR)
        from = (int)(limit.rlim_cur / 2);
    return from < 3 ? 3 : from;
}

/* A copy of it far away; itself where there is none. A number of which we think that it is another
 * file was closed by the host: who still holds it must not take this for that. */
static int move(int descriptor)
{
    int from = lowest_far(), copy;

    while ((copy = fcntl(descriptor, F_DUPFD_CLOEXEC, from)) >= 0 && find(copy)) {
        close(copy);
        from = copy + 1;
    }
    if (copy < 0)
        return descriptor;
    close(descriptor);
    return copy;
}

int mt_os_descriptor_keep(int descriptor)
{
    if (descriptor < 0 || !is_shared)
        return descriptor;
    descriptor = move(descriptor);
    if (!find(descriptor) && note(descriptor))
        return descriptor;
    close(descriptor);
    errno = EMFILE;
    return -1;
}

bool mt_os_descriptor_is_ours(int descriptor)
{
    const struct kept *k;
    struct stat s;

    if (!is_shared)
        return true;
    k = find(descriptor);
    return k && !fstat(descriptor, &s) && s.st_dev == k->device && s.st_ino == k->inode;
}

void mt_os_descriptor_close(int descriptor)
{
    struct kept *k;

    if (descriptor < 0)
        return;
    if (mt_os_descriptor_is_ours(descriptor))
        close(descriptor);
    k = find(descriptor);
    if (k)
        k->used = false;
}
