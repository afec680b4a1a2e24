/* SPDX-License-Identifier: MIT */
/* What `run` and `record` need of a system; one file a system: posix/, windows/. */
#ifndef MEMTRACER_TOOLS_PLATFORM_H
#define MEMTRACER_TOOLS_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* From here on an interrupt (SIGINT, SIGTERM, SIGHUP) is an answer of platform_wait(), not the end.
 * Called before any thread is started. */
void platform_hold_interrupts(void);

/* Waits; true when an interrupt came. */
bool platform_wait(int64_t ns);

int64_t platform_monotonic_ns(void);

/* Whether there is anything at the path, were it a link to nothing. */
bool platform_is_there(const char *path);

/* Whether there is something at the path that is no plain file: a folder, a device, a pipe. */
bool platform_is_irregular(const char *path);

/* How large a plain file is; −1 when it is none. */
int64_t platform_file_bytes(const char *path);

/* Renames over a file that is there. 0, or −1 and errno. */
int platform_rename(const char *from, const char *to);

/* A file that was not there, for writing; where the system can, not through a link that lies in
 * wait. NULL and errno. */
FILE *platform_new_file(const char *path);

/* 1 = the folder was made, 0 = there is something of that name already, −1 and errno. */
int platform_make_folder(const char *path);

/* Removes a folder that is empty. */
void platform_remove_folder(const char *path);

struct launch {
    const char *path;    /* of the file; %p and %% as in tracer_start() */
    const char *label;   /* NULL = the program's name */
    int64_t interval_ms; /* 0 = default */
    int64_t stack_min;   /* record calls with their stacks, malloc() from so many bytes on;
                            0 = as the library does, -1 = do not */
    char **argv;         /* program and arguments, ended with NULL */
};

struct launched {
    bool recorded;   /* the recording began */
    int exit_code;   /* of the program, 128 + signal when one ended it */
    char file[4096]; /* the path with %p filled in */
};

/* Runs the program to its end with the preload library in it, then makes one plain file.
 * TOOL_OK, or with a sentence TOOL_ENVIRONMENT when the program was not started. */
int launch_program(const struct launch *l, struct launched *out);

#endif
