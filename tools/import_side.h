/* SPDX-License-Identifier: MIT */
/* A second file beside a series, in order of time, one line ahead: t_ns, or t_ns,text. */
#ifndef MEMTRACER_TOOLS_IMPORT_SIDE_H
#define MEMTRACER_TOOLS_IMPORT_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "csv.h"

struct side {
    struct csv csv;
    bool there; /* a line is waiting */
    int64_t t_ns;
    char text[512];
};

/* The first line, or the next; NULL path: there is none. Both TOOL_OK or, with a sentence,
 * TOOL_ENVIRONMENT. */
int side_open(struct side *s, const char *path);
int side_next(struct side *s);

#endif
