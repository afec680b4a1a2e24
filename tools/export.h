/* SPDX-License-Identifier: MIT */
/* The formats of `memtracer export`, one file each. */
#ifndef MEMTRACER_TOOLS_EXPORT_H
#define MEMTRACER_TOOLS_EXPORT_H

#include "answer.h"
#include "out_file.h"

struct exporting {
    struct answer *answer;
    FILE *out;
    struct work *work;
};

/* Each writes all of its format and returns an exit code; an interrupt ends it early. */
int export_csv(struct exporting *e);
int export_lines(struct exporting *e);
int export_openmetrics(struct exporting *e);
int export_perfetto(struct exporting *e);

/* Three files in a folder that is there or is made. */
int export_memorytracer(struct exporting *e, const char *folder);

/* Asks with ?1 = the answer's run (0 = all) and whatever else was bound behind it. */
int export_ask(struct exporting *e, const char *sql, tracer_row_fn row, void *user);

/* A column by its place. */
#define EXPORT_KNOWN(v) ((v).kind != TRACER_VALUE_NULL)

#endif
