/* SPDX-License-Identifier: MIT */
/* tests: one recorder in a folder of its own, fed by hand; plain SQLite says what is in the file.
 */
#ifndef TESTS_SUPPORT_RECORDED_H
#define TESTS_SUPPORT_RECORDED_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "base/error.h"
#include "memtracer/memtracer.h"
#include "record/recorder.h"
#include "support/folder.h"

#define MIB INT64_C(1048576)

static char path[256];
static struct mt_strings *strings;
static struct mt_os_facts facts;
static struct mt_recorder *recorder;
static struct mt_levels levels;
static struct mt_counters counters;
static struct mt_sample sample;

static inline void begin_sample(void)
{
    mt_os_facts_read(mt_os_process_id(), &facts);
    memset(&levels, 0, sizeof(levels));
    memset(&counters, 0, sizeof(counters));
    memset(&sample, 0, sizeof(sample));
    sample.levels = &levels;
    sample.counters = &counters;
    sample.depth = MT_DEPTH_FULL;
    recorder = NULL;
}

static inline int setup(void **state)
{
    (void)state;
    assert_int_equal(folder_make(), 0);
    snprintf(path, sizeof(path), "%s/a.db", folder);
    begin_sample();
    return mt_strings_new(1024, 65536, &strings);
}

static inline int teardown(void **state)
{
    (void)state;
    mt_strings_free(strings);
    return folder_remove();
}

static inline int open_with(uint64_t max_file_bytes)
{
    struct mt_run_info info = {.pid = mt_os_process_id(),
                               .interval_ms = 100,
                               .commit_ms = 1000,
                               .start_wall_ns = INT64_C(1700000000000000000),
                               .facts = &facts,
                               .max_file_bytes = max_file_bytes};

    return mt_recorder_open(path, &info, strings, &recorder);
}

static inline int open_recorder(void)
{
    return open_with(0);
}

static inline void opened(void)
{
    if (open_recorder())
        fail_msg("%s", mt_error_detail());
}

static inline void set_level(int type, int64_t ws)
{
    levels.present |= UINT64_C(1) << type;
    levels.type[type].known = 1u << MT_COLUMN_SIZE | 1u << MT_COLUMN_WS | 1u << MT_COLUMN_SWAP;
    levels.type[type].value[MT_COLUMN_SIZE] = ws;
    levels.type[type].value[MT_COLUMN_WS] = ws;
}

/* Hands the sample over, one tick of 100 ms later than the one before. */
static inline int tick(void)
{
    int error = mt_recorder_sample(recorder, &sample);

    sample.t_ns += 100000000;
    sample.wall_ns = INT64_C(1700000000000000000) + sample.t_ns;
    return error;
}

/* A sample with this much heap, committed; what fails is taken back. */
static inline int one(int64_t held)
{
    int error;

    set_level(MT_TYPE_HEAP, held);
    error = tick();
    if (!error)
        error = mt_recorder_commit(recorder);
    if (error)
        mt_recorder_rollback(recorder);
    return error;
}

static inline int64_t number_in(const char *file, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    int64_t out = -12345;

    assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 2000);
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL))
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL)
        out = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return out;
}

static inline int64_t number(const char *sql)
{
    return number_in(path, sql);
}

static inline void write_text(const char *name, const char *text, size_t n)
{
    FILE *f = fopen(name, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static inline void sound(void)
{
    assert_int_equal(number("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
}

#endif
