/* SPDX-License-Identifier: MIT */
/* A function in a process of its own that runs as nobody; needs root to become that. */
#ifndef TEST_SUPPORT_NOBODY_H
#define TEST_SUPPORT_NOBODY_H

#include "support/host.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NOBODY_ID 65534
#define NOBODY_FAILED 77

/* In the child: false where the rights could not be given up. */
static inline bool nobody_become(void)
{
    return !setgid(NOBODY_ID) && !setuid(NOBODY_ID);
}

/* The exit code of `f` in a child; the folder of the test's file has the rights `folder`. Skips the
 * test where this is not root. */
static inline int nobody_status(int (*f)(void), mode_t folder)
{
    int status;
    pid_t pid;

    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(host_dir, folder), 0);
    pid = fork();
    if (pid == 0)
        _exit(f());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#endif
