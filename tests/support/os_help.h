/* SPDX-License-Identifier: MIT */
/* The little that tests need from the OS and that C has no word for; one file an OS. */
#ifndef TEST_SUPPORT_OS_HELP_H
#define TEST_SUPPORT_OS_HELP_H

#include <stdbool.h>
#include <stddef.h>

#define OS_KILLED (-1)

/* A new empty folder for temporary files; its path, with '/' before each name. */
bool os_temporary_folder(char *out, size_t out_bytes);
bool os_make_folder(const char *path);

/* Runs this program a second time with these words and waits for its end: its exit code, or
 * OS_KILLED when os_kill_self() ended it. */
int os_run_self(const char *word, const char *argument);

/* The end without any clean-up: SIGKILL, TerminateProcess. */
_Noreturn void os_kill_self(void);

#endif
