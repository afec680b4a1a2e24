/* SPDX-License-Identifier: MIT */
/* A system call filter as containers and services have it: what the listed calls answer. */
#ifndef TEST_GUEST_FILTER_H
#define TEST_GUEST_FILTER_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILTER_CALLS_MOST 120

#define FILTER_KILL_THREAD SECCOMP_RET_KILL_THREAD
#define FILTER_KILL_PROCESS SECCOMP_RET_KILL_PROCESS
#define FILTER_ANSWER(error) (SECCOMP_RET_ERRNO | (error))
#define FILTER_ALLOW SECCOMP_RET_ALLOW

/* What the listed calls get, and all others, in every thread of the process. */
static inline bool filter_calls(const int *calls, size_t n, uint32_t listed, uint32_t others)
{
    struct sock_filter code[2 + 2 * FILTER_CALLS_MOST];
    struct sock_fprog program = {.filter = code};
    unsigned short at = 0;

    if (n > FILTER_CALLS_MOST)
        return false;
    code[at++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < n; i++) {
        code[at++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
    }
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
    program.len = at;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

#endif
