/* SPDX-License-Identifier: MIT */
/* What any test asks of a recording of its own program: a type's row now, SQL of the file. The file
 * is host_db, which the including header defines before it includes this one. */
#ifndef TEST_SUPPORT_HOST_ASK_H
#define TEST_SUPPORT_HOST_ASK_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "memtracer/memtracer.h"
#include "memtracer/reader.h"

/* One row of the totals after a fresh sample. */
static inline tracer_type_bytes host_row(tracer *t, uint32_t type)
{
    tracer_type_bytes rows[TRACER_TYPE_CAPACITY];
    tracer_totals totals = {
        .size = sizeof(totals), .capacity = TRACER_TYPE_CAPACITY, .types = rows};

    if (tracer_sample(t) || tracer_get_totals(t, &totals))
        fail_msg("%s", tracer_last_error());
    for (uint32_t i = 0; i < totals.n_types; i++)
        if (rows[i].type == type)
            return rows[i];
    fail_msg("type %u has no row", type);
    return rows[0];
}

struct host_answer {
    int64_t integer;
    char text[512];
    unsigned n_rows;
};

static inline int host_take_row(void *user, uint32_t n, const char *const *names,
                                const tracer_value *values)
{
    struct host_answer *a = user;

    (void)n;
    (void)names;
    if (a->n_rows++ == 0) {
        a->integer = values[0].integer;
        snprintf(a->text, sizeof(a->text), "%s", values[0].bytes ? values[0].bytes : "");
    }
    return 0;
}

/* The first column of the first row, and the number of rows. */
static inline struct host_answer host_ask(const char *sql)
{
    struct host_answer a = {0, "", 0};
    tracer_reader *r = NULL;

    if (tracer_reader_open(host_db, &r) || tracer_reader_query(r, sql, NULL, 0, host_take_row, &a))
        fail_msg("%s: %s", sql, tracer_last_error());
    tracer_reader_close(r);
    return a;
}

#endif
