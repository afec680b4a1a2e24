/* SPDX-License-Identifier: MIT */
/* read: what the files of the reader share. */
#ifndef MT_READ_QUERY_H
#define MT_READ_QUERY_H

#include <sqlite3.h>

#include "base/text.h"
#include "memtracer/reader.h"

#define MT_READ_COLUMNS 256

struct tracer_reader {
    sqlite3 *handle;
    int64_t steps_most; /* of SQLite's machine, that one query may take … */
    int64_t steps;      /* … and has taken */
    int64_t ns_most;    /* of time, that one query may take … */
    int64_t began_ns, began_cpu_ns;
    char path[4096];
    const char *names[MT_READ_COLUMNS];
    tracer_value values[MT_READ_COLUMNS];
};

/* The files of queries/. */
extern const struct mt_text mt_queries[];

/* A query, or all those of a verdict, begins: steps and time count from here. */
void mt_read_begin(tracer_reader *r);

/* Words SQLite's result for the reader's file; 0 for OK, ROW, DONE. */
int mt_read_error(tracer_reader *r, int rc);

/* Calls `row` for each row of `sql`, a SELECT of memtracer's own whose only column is
 * each_row(…): many rows cost a third of what they cost by sqlite3_step(). */
typedef void (*mt_read_row_fn)(void *user, sqlite3_value **columns);
int mt_read_each(tracer_reader *r, const char *sql, const int64_t *params, int n_params,
                 mt_read_row_fn row, void *user);

#endif
