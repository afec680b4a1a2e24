/* SPDX-License-Identifier: MIT */
/* Reading a memtracer file: a read-only look with SQL, safe while it is being recorded.
 *
 * The tables and views are described in memtracer(7). A reader never writes, never checkpoints
 * and holds no transaction between calls. One reader is for one thread at a time; readers are
 * independent of tracers. After fork() the child must not use or close it. */
#ifndef MEMTRACER_READER_H
#define MEMTRACER_READER_H

#include "memtracer/memtracer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tracer_reader tracer_reader; /* opaque */

#define TRACER_VALUE_NULL 0u
#define TRACER_VALUE_INTEGER 1u
#define TRACER_VALUE_REAL 2u
#define TRACER_VALUE_TEXT 3u /* any bytes, with a NUL behind them */
#define TRACER_VALUE_BLOB 4u

typedef struct tracer_value {
    uint32_t kind;     /* TRACER_VALUE_… */
    uint32_t n_bytes;  /* of text or blob */
    int64_t integer;   /* where kind is INTEGER, else 0 */
    double real;       /* where kind is INTEGER or REAL, else 0 */
    const char *bytes; /* where kind is TEXT or BLOB, else NULL; valid during the callback */
} tracer_value;

/* Called once a row; `names` and `values` have `n_columns` elements, valid during the call.
 * Return 0 to go on, anything else to end the query with success. */
typedef int (*tracer_row_fn)(void *user, uint32_t n_columns, const char *const *names,
                             const tracer_value *values);

/* Opens the file read-only. A file that is not memtracer's gives TRACER_EDB, a newer one
 * TRACER_ESCHEMA, one that cannot be read TRACER_EIO or TRACER_EDENIED. Works in a folder that
 * cannot be written. Since 0.1. */
TRACER_API int tracer_reader_open(const char *path, tracer_reader **out);

/* Frees the reader. NULL is fine. Since 0.1. */
TRACER_API void tracer_reader_close(tracer_reader *r);

/* Runs one SELECT. `sql` is SQL text, or the name of a query that memtracer brings
 * (tracer_query_name()). `params` bind to ?1 … ?n; NULL with 0 = none. `row` NULL = only check
 * that it runs. Statements that write are refused with TRACER_EDENIED, wrong SQL with
 * TRACER_EINVAL; the detail quotes SQLite. Since 0.1. */
TRACER_API int tracer_reader_query(tracer_reader *r, const char *sql, const tracer_value *params,
                                   uint32_t n_params, tracer_row_fn row, void *user);

/* The names of the queries memtracer brings, by number from 0; NULL past the last. Since 0.1. */
TRACER_API const char *tracer_query_name(uint32_t i);

/* The SQL of a query memtracer brings, NULL when there is none of that name. Since 0.1. */
TRACER_API const char *tracer_query_sql(const char *name);

/* The SQL that makes the file's tables and views, with its comments. Since 0.1. */
TRACER_API const char *tracer_schema_sql(void);

/* Makes one plain file of a recording whose process is gone (killed, crashed, powered off): the
 * rest of the -wal is taken over, and runs still called "recording" become "interrupted".
 * TRACER_ESTATE when its process is alive, or when a reader has the file open. The only function
 * here that writes. Since 0.1. */
TRACER_API int tracer_file_finish(const char *path);

#ifdef __cplusplus
}
#endif

#endif
