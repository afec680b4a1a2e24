/* SPDX-License-Identifier: MIT */
/* 6. Asking in C, while the recording goes on.
 *
 * Introduces: reader.h: tracer_reader_open, tracer_reader_query with SQL and a parameter, values
 *             that know whether they are known (NULL is unknown, never 0).
 * Look at:    the printed table; the names of the queries memtracer brings.
 *
 *     ./06_query query.db
 *
 * From here: include/memtracer/memtracer.h, the whole contract in one header; memtracer(7), every
 * table and view; lib/README.md, how it works inside. */
#include <stdio.h>

#include <memtracer/reader.h>

static int print_row(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *values)
{
    (void)user;
    for (uint32_t i = 0; i < n_columns; i++) {
        printf("%s%s=", i ? "  " : "", names[i]);
        switch (values[i].kind) {
        case TRACER_VALUE_TEXT: printf("%s", values[i].bytes); break;
        case TRACER_VALUE_INTEGER: printf("%lld", (long long)values[i].integer); break;
        case TRACER_VALUE_REAL: printf("%.3f", values[i].real); break;
        default: printf("unknown"); break;
        }
    }
    putchar('\n');
    return 0; /* anything else ends the query */
}

static int ask(const char *path)
{
    static const char sql[] = "SELECT type, size, committed, ws, swap FROM vmmap "
                              "WHERE size >= ?1 ORDER BY size DESC";
    tracer_value at_least = {TRACER_VALUE_INTEGER, 0, 65536, 65536.0, NULL};
    tracer_reader *r = NULL;
    int rc = tracer_reader_open(path, &r);

    if (!rc)
        rc = tracer_reader_query(r, sql, &at_least, 1, print_row, NULL);
    tracer_reader_close(r);
    return rc;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "query.db";
    tracer *t = NULL;
    int rc = tracer_start(path, NULL, &t);

    if (!rc)
        rc = tracer_sample(t); /* sampled and committed: a reader sees it */
    if (!rc)
        rc = ask(path);
    if (rc)
        fprintf(stderr, "%s: %s\n", tracer_strerror(rc), tracer_last_error());
    for (uint32_t i = 0; tracer_query_name(i); i++)
        printf("query: %s\n", tracer_query_name(i));
    if (tracer_stop(t))
        rc = 1;
    return rc ? 1 : 0;
}
