/* SPDX-License-Identifier: MIT */
/* A process that holds memory and does nothing, for the commands that look at one. Included by
 * test_recorders.c, which it is another run of. */
#ifndef TEST_FAULT_RECORDER_TARGET_H
#define TEST_FAULT_RECORDER_TARGET_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TARGET_BYTES (8u << 20)

static pid_t target;

static int be_target(int ready)
{
    char *p = mmap(NULL, TARGET_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    memset(p, 1, TARGET_BYTES);
    if (write(ready, "", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static void start_target(void)
{
    int ready[2];
    char fd[12], byte;

    if (pipe(ready))
        abort();
    target = fork();
    if (target == 0) {
        snprintf(fd, sizeof(fd), "%d", ready[1]);
        execl("/proc/self/exe", "test_recorders", "target", fd, NULL);
        abort();
    }
    if (read(ready[0], &byte, 1) != 1)
        abort();
    close(ready[0]);
    close(ready[1]);
}

#endif
