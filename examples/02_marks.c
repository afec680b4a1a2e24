/* SPDX-License-Identifier: MIT */
/* 2. Marks: the program says what it is doing, the file says what that cost.
 *
 * Introduces: tracer_mark (never waits), tracer_sample (waits for a full sample), options.
 * Look at:    which type grew between two marks, and by how much:
 *
 *     ./02_marks marks.db
 *     sqlite3 -box marks.db "SELECT type, grew FROM growth_between_marks
 *         WHERE from_mark = 'load' AND to_mark = 'loaded' ORDER BY grew DESC"
 *
 * Next: 03_punctuated_leak.c, where nobody knows which action keeps memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memtracer/memtracer.h>

enum { TABLE_BYTES = 24 << 20 };

static char *volatile table;

static void load_table(tracer *t)
{
    tracer_sample(t); /* a mark refers to the sample before it: let that be exactly here */
    tracer_mark(t, "load");
    table = malloc(TABLE_BYTES);
    if (table)
        memset(table, 1, TABLE_BYTES);
    tracer_sample(t);
    tracer_mark(t, "loaded");
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "marks.db";
    tracer_options options = TRACER_OPTIONS_INIT;
    tracer *t = NULL;
    int rc;

    options.interval_ms = 100; /* the default is one second */
    options.label = "the marks example";
    rc = tracer_start(path, &options, &t);
    if (rc) {
        fprintf(stderr, "%s: %s\n", tracer_strerror(rc), tracer_last_error());
        return 1;
    }
    load_table(t);
    rc = tracer_stop(t);
    free(table);
    puts(path);
    return rc ? 1 : 0;
}
