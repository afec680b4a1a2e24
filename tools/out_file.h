/* SPDX-License-Identifier: MIT */
/* A file that is whole or not there: written beside its name, renamed at the end. Progress on
 * stderr when that is a terminal; an interrupt ends the work and leaves no half file. */
#ifndef MEMTRACER_TOOLS_OUT_FILE_H
#define MEMTRACER_TOOLS_OUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OUT_PATH_BYTES 4096

struct out_file {
    FILE *file;
    const char *path;               /* as asked for, NULL = stdout */
    char temporary[OUT_PATH_BYTES]; /* where it is written; empty: under its own name */
    struct out_file *next;          /* of those that are not done yet */
};

/* Where `path` shall be written by other means: o->temporary, which is not there now. TOOL_OK or,
 * with a sentence, TOOL_ENVIRONMENT. */
int out_file_begin(struct out_file *o, const char *path);

/* The same, and opens it for writing: o->file. NULL is stdout. A device or a pipe is written as it
 * is. */
int out_file_open(struct out_file *o, const char *path);

/* Makes the folder for files, where it is not there; then it goes with them when they are removed,
 * unless others have put something into it. `path` lives until then. TOOL_OK or, with a sentence,
 * TOOL_ENVIRONMENT. */
int out_folder_make(const char *path);

/* Ends the n files at `files`, opened or not. With TOOL_OK they get their names; with any other
 * code they are removed. Returns the code, or TOOL_ENVIRONMENT when one could not be written
 * whole. */
int out_file_close(struct out_file *files, size_t n, int code);

/* Removes a file, with what a database has beside it. */
void out_file_drop(const char *path);

/* Removes all that are not done: the program ends. */
void out_file_abandon(void);

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
