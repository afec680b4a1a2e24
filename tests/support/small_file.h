/* SPDX-License-Identifier: MIT */
/* tests: a file made from the published schema alone, with two samples; what a query answers. */
#ifndef TESTS_SUPPORT_SMALL_FILE_H
#define TESTS_SUPPORT_SMALL_FILE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "base/error.h"
#include "memtracer/reader.h"
#include "support/folder.h"

static char path[256];

static inline void execute(const char *sql)
{
    sqlite3 *db;
    char *text = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &text))
        fail_msg("%s", text);
    sqlite3_close(db);
}

/* A file made from the published schema alone, with two samples. */
static inline int setup(void **state)
{
    (void)state;
    assert_int_equal(folder_make(), 0);
    snprintf(path, sizeof(path), "%s/a #%%&.db", folder);
    execute("PRAGMA application_id = 0x6d747263; PRAGMA user_version = 1;");
    execute(tracer_schema_sql());
    execute("INSERT INTO type VALUES (4, 'heap', ''), (11, 'free', '');"
            "INSERT INTO run(id, uuid, label, state, host, os, pid, recorder_pid, exe, name, "
            "start_wall_ns, start_monotonic_ns, page_bytes, interval_ms, commit_ms, budget_ns, "
            "flags, version, sqlite_version) VALUES (1, 'u', 'l', 'stopped', 'h', 'o', 1, 1, 'e', "
            "'n', 0, 0, 4096, 1000, 1000, 0, 0, '0', '0');"
            "INSERT INTO sample VALUES (1, 1, 0, 0, 0, 1, 0, 4, 0, 1, 0, 0, 0),"
            "(2, 1, 1000, 1000, 1000, 1, 0, 4, 0, 1, 0, 0, 0);"
            "INSERT INTO level(run, type, sample, size, ws) VALUES (1, 4, 1, 10, 5), "
            "(1, 4, 2, 30, 15), (1, 11, 1, 1000, NULL);");
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    return folder_remove();
}

struct seen {
    uint32_t n_rows, n_columns;
    tracer_value last;
    char name[64], text[64];
};

static inline int keep(void *user, uint32_t n_columns, const char *const *names,
                       const tracer_value *values)
{
    struct seen *s = user;

    s->n_rows++;
    s->n_columns = n_columns;
    s->last = values[n_columns - 1];
    snprintf(s->name, sizeof(s->name), "%s", names[n_columns - 1]);
    if (values[n_columns - 1].bytes)
        snprintf(s->text, sizeof(s->text), "%s", values[n_columns - 1].bytes);
    return 0;
}

static inline tracer_reader *opened(void)
{
    tracer_reader *r = NULL;

    if (tracer_reader_open(path, &r))
        fail_msg("%s", tracer_last_error());
    return r;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
