/* SPDX-License-Identifier: MIT */
/* tests: a file in memory whose truth is known, because the test made it: series of levels, marks.
 */
#ifndef TESTS_SUPPORT_KNOWN_FILE_H
#define TESTS_SUPPORT_KNOWN_FILE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "memtracer/reader.h"

#define KIB INT64_C(1024)
#define MIB INT64_C(1048576)
#define TICK_NS INT64_C(100000000)
#define STEP INT64_C(54280192)
#define N 300

static sqlite3 *db;
static unsigned seed;

static inline void execute(const char *sql)
{
    char *text = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &text))
        fail_msg("%s: %s", sql, text);
}

static inline void executef(const char *format, ...)
{
    char sql[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(sql, sizeof(sql), format, args);
    va_end(args);
    execute(sql);
}

static inline int64_t number(const char *sql)
{
    sqlite3_stmt *s;
    int64_t out = -12345;

    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL))
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL)
        out = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return out;
}

static inline void expect_text(const char *sql, const char *expected)
{
    sqlite3_stmt *s;
    const char *text;

    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL))
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    text = sqlite3_step(s) == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    assert_string_equal(text ? text : "(nothing)", expected);
    sqlite3_finalize(s);
}

static inline int setup(void **state)
{
    (void)state;
    seed = 1;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    execute(tracer_schema_sql());
    execute("INSERT INTO type VALUES (1, 'image', ''), (2, 'mapped_file', ''), "
            "(3, 'shareable', ''), (4, 'heap', ''), "
            "(6, 'stack', ''), (7, 'private', ''), (9, 'page_table', ''), "
            "(11, 'free', '');"
            "INSERT INTO run(id, uuid, label, state, host, os, pid, recorder_pid, exe, name, "
            "start_wall_ns, start_monotonic_ns, page_bytes, interval_ms, commit_ms, budget_ns, "
            "flags, version, sqlite_version) VALUES (1, 'u', 'l', 'stopped', 'h', 'o', 42, 42, "
            "'/bin/app', 'app', 0, 0, 4096, 100, 1000, 0, 0, '0', '0');");
#define MT_SETTING(name, value, description)                                                       \
    executef("INSERT INTO setting VALUES ('%s', %d, '')", #name, value);
#include "record/setting.def"
#undef MT_SETTING
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    return sqlite3_close(db);
}

static inline int64_t noise(int64_t most)
{
    seed = seed * 1103515245u + 12345u;
    return (int64_t)(seed >> 8) % (2 * most + 1) / 4096 * 4096 - most / 4096 * 4096;
}

static inline void add_sample(int id)
{
    executef("INSERT INTO sample VALUES (%d, 1, %lld, %lld, %lld, 1, 0, 4, 0, 1, 10, 10, 7)", id,
             (long long)((id - 1) * TICK_NS), (long long)((id - 1) * TICK_NS),
             (long long)((id - 1) * TICK_NS));
}

/* A level row only where the value changes, as the recorder does. */
static inline void add_series(int type, int64_t (*value)(int i), const char *column)
{
    int64_t last = -1;

    execute("BEGIN");
    for (int i = 0; i < N; i++) {
        int64_t v = value(i);

        if (type == 4)
            add_sample(i + 1);
        if (v != last)
            executef("INSERT INTO level(run, type, sample, size, committed, %s, blocks, largest) "
                     "VALUES (1, %d, %d, %lld, %lld, %lld, 1, %lld)",
                     column, type, i + 1, (long long)v, (long long)v, (long long)v, (long long)v);
        last = v;
    }
    execute("COMMIT");
}

static inline void mark(double t_s, const char *label)
{
    executef("INSERT INTO mark(run, t_ns, wall_ns, tid, label) VALUES (1, %lld, 0, 1, '%s')",
             (long long)(t_s * 1e9), label);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
