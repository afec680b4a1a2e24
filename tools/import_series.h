/* SPDX-License-Identifier: MIT */
/* A series as CSV, one column a type, a column of a type, or a counter. */
#ifndef MEMTRACER_TOOLS_IMPORT_SERIES_H
#define MEMTRACER_TOOLS_IMPORT_SERIES_H

#include <stdbool.h>

#include "csv.h"
#include "memtracer/import.h"

struct series {
    const char *marks, *lives; /* files beside it; NULL = none */
    bool committed;            /* what a type's name alone means: resident or committed bytes */
};

/* Takes in the whole file and those beside it. TOOL_OK or, with a sentence, TOOL_ENVIRONMENT. */
int import_series(tracer_import *to, struct csv *csv, const struct series *s);

#endif
