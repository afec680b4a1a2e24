/* SPDX-License-Identifier: MIT */
/* Description: what a series says is in the file, sample by sample: counters and regions that
 * change while no type does, those of the first sample, of another life, and unknown ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "memtracer/import.h"

#define SECOND INT64_C(1000000000)
#define N 50

static const char path[] = "test_api_import.db";

static int64_t ask(const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    int64_t value;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    value = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return value;
}

static tracer_import *begin(void)
{
    tracer_import *i = NULL;

    unlink(path);
    assert_int_equal(tracer_import_open(path, NULL, &i), TRACER_OK);
    return i;
}

static void end(tracer_import *i)
{
    assert_int_equal(tracer_import_close(i), TRACER_OK);
}

static void set(tracer_import *i, const char *name, uint64_t value)
{
    assert_int_equal(tracer_import_counter(i, name, value), TRACER_OK);
}

/* The heap never changes. */
static void sample(tracer_import *i, int64_t second)
{
    tracer_type_bytes heap = {.type = TRACER_TYPE_HEAP, .known = 1u << TRACER_COLUMN_WS};

    heap.ws_bytes = 50000000;
    assert_int_equal(tracer_import_sample(i, second * SECOND, &heap, 1), TRACER_OK);
}

static void each_value_of_a_counter_is_in_the_file(void **state)
{
    tracer_import *i = begin();

    (void)state;
    for (int k = 0; k < N; k++) {
        set(i, "heap_in_use", 1000 + (uint64_t)k);
        sample(i, k);
    }
    end(i);
    assert_int_equal(ask("SELECT count(*) FROM sample"), N);
    assert_int_equal(ask("SELECT count(*) FROM counter c JOIN sample s ON s.id = c.sample"
                         " WHERE c.value = 1000 + s.t_ns / 1000000000"),
                     N);
}

static void each_number_of_regions_is_in_the_file(void **state)
{
    tracer_import *i = begin();

    (void)state;
    for (int k = 0; k < N; k++) {
        set(i, "regions", 100 + (uint64_t)k);
        sample(i, k);
    }
    end(i);
    assert_int_equal(ask("SELECT count(*) FROM sample WHERE regions = 100 + t_ns / 1000000000"), N);
}

static void what_does_not_change_is_one_row(void **state)
{
    tracer_import *i = begin();

    (void)state;
    for (int k = 0; k < N; k++) {
        set(i, "regions", 100);
        set(i, "threads", 4);
        sample(i, k);
    }
    end(i);
    assert_int_equal(ask("SELECT count(*) FROM sample"), 1);
    assert_int_equal(ask("SELECT ticks FROM sample"), N);
    assert_int_equal(ask("SELECT until_ns FROM sample"), (N - 1) * SECOND);
    assert_int_equal(ask("SELECT count(*) FROM counter WHERE value = 4"), 1);
}

/* The last one is told before the second life and as of its first sample. */
static void what_was_set_is_of_the_next_sample_of_any_life(void **state)
{
    tracer_import *i = begin();

    (void)state;
    set(i, "threads", 1);
    set(i, "regions", 10);
    sample(i, 0);
    set(i, "heap_free", 7);
    sample(i, 1);
    set(i, "threads", 2);
    assert_int_equal(tracer_import_life(i, 2 * SECOND), TRACER_OK);
    sample(i, 3);
    end(i);
    assert_int_equal(ask("SELECT value FROM counter JOIN counter_kind k ON k.id = counter"
                         " WHERE run = 1 AND k.name = 'threads'"),
                     1);
    assert_int_equal(ask("SELECT value FROM counter WHERE run = 2"), 2);
    assert_int_equal(ask("SELECT count(*) FROM counter WHERE run = 2"), 1);
    assert_int_equal(ask("SELECT regions FROM sample WHERE run = 1"), 10);
    assert_int_equal(ask("SELECT regions IS NULL FROM sample WHERE run = 2"), 1);
}

static void a_value_may_become_unknown(void **state)
{
    tracer_import *i = begin();

    (void)state;
    set(i, "threads", 1);
    set(i, "regions", 10);
    sample(i, 0);
    set(i, "threads", UINT64_MAX);
    set(i, "regions", UINT64_MAX);
    sample(i, 1);
    end(i);
    assert_int_equal(ask("SELECT count(*) FROM counter WHERE value IS NULL"), 1);
    assert_int_equal(ask("SELECT count(*) FROM sample WHERE regions IS NULL"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_of_a_counter_is_in_the_file),
        cmocka_unit_test(each_number_of_regions_is_in_the_file),
        cmocka_unit_test(what_does_not_change_is_one_row),
        cmocka_unit_test(what_was_set_is_of_the_next_sample_of_any_life),
        cmocka_unit_test(a_value_may_become_unknown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    unlink(path);
    return failed;
}
