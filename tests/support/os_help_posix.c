/* SPDX-License-Identifier: MIT */
/* tests: os_help.h for POSIX. */
#define _GNU_SOURCE
#include "support/os_help.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

bool os_temporary_folder(char *out, size_t out_bytes)
{
    int n = snprintf(out, out_bytes, "/tmp/memtracer_test_XXXXXX");

    return n > 0 && (size_t)n < out_bytes && mkdtemp(out);
}

bool os_make_folder(const char *path)
{
    return mkdir(path, 0700) == 0;
}

/* By its path: under valgrind the link itself leads to valgrind. */
int os_run_self(const char *word, const char *argument)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        char self[4096] = "";

        if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
            _exit(127);
        execl(self, "test", word, argument, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 127;
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGKILL ? OS_KILLED : 128 + WTERMSIG(status);
    return WEXITSTATUS(status);
}

_Noreturn void os_kill_self(void)
{
    kill(getpid(), SIGKILL);
    _exit(126);
}
