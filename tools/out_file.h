/* SPDX-License-Identifier: MIT */
/* A file that is whole or not there: written beside its name, renamed at the end. Progress on
 * stderr when that is a terminal; an interrupt ends the work and leaves no half file. */
#ifndef MEMTRACER_TOOLS_OUT_FILE_H
#define MEMTRACER_TOOLS_OUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OUT_PATH_BYTES 4096

struct out_file {
    FILE *file;
    const char *path; /* as asked for, NULL = stdout */
    char temporary[OUT_PATH_BYTES];
};

/* Opens `path` for writing, or stdout when it is NULL. TOOL_OK or, with a sentence,
 * TOOL_ENVIRONMENT. */
int out_file_open(struct out_file *o, const char *path);

/* Ends it. With TOOL_OK the file gets its name; with any other code it is removed. Returns the
 * code, or TOOL_ENVIRONMENT when the file could not be written whole. */
int out_file_close(struct out_file *o, int code);

/* The name under which `path` is written; false when it is too long. */
bool out_file_temporary(const char *path, char out[OUT_PATH_BYTES]);

/* Can it be opened for reading? */
bool file_is_there(const char *path);

/* Gives the written `temporary` its name, over what is there. */
int out_file_rename(const char *temporary, const char *path);

/* How far a long piece of work is. `what` names it: "export", "report", "merge". */
struct work {
    const char *what;
    int64_t done; /* rows, or what `of` counts */
    int64_t of;   /* 0 = not known */
    int64_t shown_ns;
    bool shows, shown, interrupted;
};

/* Also holds interrupts: from here on work_step() tells them. */
void work_begin(struct work *w, const char *what);

/* One more row. False = interrupted: stop. */
bool work_step(struct work *w);

/* So much is done by now. False = interrupted: stop. */
bool work_at(struct work *w, int64_t done);

/* Wipes the line. TOOL_OK or, after an interrupt, TOOL_ENVIRONMENT with a sentence. */
int work_end(struct work *w);

#endif
