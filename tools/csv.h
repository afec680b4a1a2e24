/* SPDX-License-Identifier: MIT */
/* Reading plain CSV, line by line: no quotes, commas between fields. */
#ifndef MEMTRACER_TOOLS_CSV_H
#define MEMTRACER_TOOLS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "out_file.h"

#define CSV_LINE_BYTES 16384

struct csv {
    FILE *file; /* NULL = none */
    const char *path;
    int64_t line;      /* the newest one's number, from 1 */
    int64_t n_full;    /* so many lines were not empty */
    struct work *work; /* told of each line; after an interrupt none comes. NULL = nobody */
    int error;         /* errno of a read that failed */
    char text[CSV_LINE_BYTES];
};

/* TOOL_OK or, with a sentence, TOOL_ENVIRONMENT. */
int csv_open(struct csv *c, const char *path);
void csv_close(struct csv *c);

/* The next line that is not empty, without its end and without a file's mark of UTF-8; NULL
 * at the end of the file. */
char *csv_line(struct csv *c);

/* After the last line: TOOL_OK or, where more could not be read, with a sentence
 * TOOL_ENVIRONMENT. */
int csv_end(const struct csv *c);

/* Complains about the newest line, or that no more could be read; returns TOOL_ENVIRONMENT. */
int csv_wrong(const struct csv *c, const char *what);

/* A whole number at *p, which moves behind it; false when there is none. */
bool csv_integer(const char **p, int64_t *out);

/* The field at *p, which moves behind it and its comma; false at the end. */
bool csv_text(const char **p, char *out, size_t out_bytes);

#endif
