/* SPDX-License-Identifier: MIT */
/* A program of somebody else: includes the installed headers, links the installed library,
 * records into argv[1] and reads it back. Exit 0 = all of that worked. */
#include <stdio.h>

#include <memtracer/memtracer.h>
#include <memtracer/reader.h>

static int on_row(void *user, uint32_t n_columns, const char *const *names,
                  const tracer_value *values)
{
    (void)n_columns;
    (void)names;
    *(int64_t *)user = values[0].integer;
    return 0;
}

static int record(const char *path)
{
    tracer *t = NULL;
    int rc = tracer_start(path, NULL, &t);

    if (!rc)
        rc = tracer_sample(t);
    if (rc)
        fprintf(stderr, "%s: %s\n", tracer_strerror(rc), tracer_last_error());
    tracer_stop(t);
    return rc;
}

int main(int argc, char **argv)
{
    tracer_reader *r = NULL;
    int64_t n_samples = 0;

    if (argc != 2 || tracer_version() != TRACER_VERSION || record(argv[1]))
        return 1;
    if (tracer_reader_open(argv[1], &r))
        return 1;
    tracer_reader_query(r, "SELECT count(*) FROM sample", NULL, 0, on_row, &n_samples);
    tracer_reader_close(r);
    return n_samples > 0 ? 0 : 1;
}
