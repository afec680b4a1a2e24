/* SPDX-License-Identifier: MIT */
/* Which file a command line starts, and whether a preload library can be in it. */
#ifndef MEMTRACER_TOOLS_PROGRAM_H
#define MEMTRACER_TOOLS_PROGRAM_H

#include <stdbool.h>

struct program {
    char *file;   /* to execute */
    char *script; /* the script that env would have started with it, else NULL */
    char **argv;  /* ended with NULL; own array, the caller's texts */
};

/* Finds argv[0] as a shell would, and goes through "#!/usr/bin/env NAME", since the preload
 * library would be in env and not in what env becomes. False with a sentence when the program
 * cannot be found or `preload` cannot be in it. */
bool program_find(char **argv, const char *preload, struct program *out);
void program_free(struct program *p);

/* True when the file exists and may be read. */
bool program_is_readable(const char *path);

#endif
