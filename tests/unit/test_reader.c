/* SPDX-License-Identifier: MIT */
/* Description: the reader opens what it should, refuses what it should, and never writes. */
#include <stdlib.h>
#include <unistd.h>

#include "support/small_file.h"

static void values_come_as_they_are(void **state)
{
    tracer_reader *r = opened();
    struct seen s = {0};
    const tracer_value params[2] = {{.kind = TRACER_VALUE_INTEGER, .integer = INT64_MIN},
                                    {.kind = TRACER_VALUE_TEXT, .bytes = "a\0b", .n_bytes = 3}};

    (void)state;
    assert_int_equal(tracer_reader_query(r, "SELECT NULL AS x", NULL, 0, keep, &s), 0);
    assert_int_equal(s.last.kind, TRACER_VALUE_NULL);
    assert_string_equal(s.name, "x");
    assert_int_equal(tracer_reader_query(r, "SELECT ?2, ?1", params, 2, keep, &s), 0);
    assert_true(s.last.integer == INT64_MIN && s.last.real < -9e18);
    assert_int_equal(tracer_reader_query(r, "SELECT ?1, ?2", params, 2, keep, &s), 0);
    assert_int_equal(s.last.n_bytes, 3);
    assert_int_equal(tracer_reader_query(r, "SELECT x'0001'", NULL, 0, keep, &s), 0);
    assert_true(s.last.kind == TRACER_VALUE_BLOB && s.last.n_bytes == 2);
    assert_int_equal(tracer_reader_query(r, "SELECT 1.5", NULL, 0, keep, &s), 0);
    assert_true(s.last.kind == TRACER_VALUE_REAL && s.last.real > 1.4 && s.last.real < 1.6);
    tracer_reader_close(r);
}

static void every_view_and_query_runs(void **state)
{
    tracer_reader *r = opened();
    struct seen s = {0};
    const tracer_value params[2] = {{.kind = TRACER_VALUE_INTEGER, .integer = 1},
                                    {.kind = TRACER_VALUE_INTEGER, .integer = 2}};
    uint32_t n = 0;

    (void)state;
    for (; tracer_query_name(n); n++) {
        const char *sql = tracer_query_sql(tracer_query_name(n));
        uint32_t takes = strstr(sql, "?2") ? 2 : strstr(sql, "?1") ? 1 : 0;

        if (tracer_reader_query(r, tracer_query_name(n), params, takes, NULL, NULL))
            fail_msg("%s: %s", tracer_query_name(n), tracer_last_error());
    }
    assert_true(n >= 10);
    assert_int_equal(tracer_reader_query(r, "growth_between_samples", params, 2, keep, &s), 0);
    assert_int_equal(s.n_rows, 1);
    for (const char *v = tracer_schema_sql(); (v = strstr(v, "\nCREATE VIEW ")) != NULL; v++) {
        char sql[128];

        snprintf(sql, sizeof(sql), "SELECT * FROM %.*s", (int)strcspn(v + 13, " "), v + 13);
        if (tracer_reader_query(r, sql, NULL, 0, keep, &s))
            fail_msg("%s: %s", sql, tracer_last_error());
    }
    tracer_reader_close(r);
}

static void what_writes_is_refused(void **state)
{
    static const char *const sql[] = {
        "DELETE FROM level",
        "INSERT INTO setting VALUES ('x', 1, '')",
        "DROP TABLE run",
        "CREATE TEMP TABLE t(x)",
        "ATTACH '/tmp/x.db' AS x",
        "PRAGMA user_version = 7",
        "PRAGMA journal_mode = WAL",
        "PRAGMA wal_checkpoint",
        "BEGIN",
        "VACUUM",
        "PRAGMA writable_schema = ON",
        "BEGIN IMMEDIATE",
        "ANALYZE",
        "UPDATE run SET state = 'x' RETURNING id",
        "VACUUM INTO '/tmp/mt_reader_never.db'",
    };
    tracer_reader *r = opened();

    (void)state;
    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++)
        if (tracer_reader_query(r, sql[i], NULL, 0, NULL, NULL) != TRACER_EDENIED)
            fail_msg("%s: %s", sql[i], tracer_last_error());
    assert_int_equal(tracer_reader_query(r, "SELECT 1; DELETE FROM level", NULL, 0, NULL, NULL),
                     TRACER_EINVAL);
    assert_int_equal(tracer_reader_query(r, "SELECT nonsense", NULL, 0, NULL, NULL), TRACER_EINVAL);
    assert_non_null(strstr(tracer_last_error(), "nonsense"));
    assert_int_not_equal(tracer_reader_query(r, "SELECT load_extension('x')", NULL, 0, NULL, NULL),
                         0);
    assert_int_equal(tracer_reader_query(r, "", NULL, 0, NULL, NULL), TRACER_EINVAL);
    assert_int_equal(tracer_reader_query(r, "SELECT 1; -- no more", NULL, 0, NULL, NULL), 0);
    tracer_reader_close(r);
}

static int refused(const char *name)
{
    tracer_reader *r = NULL;
    int error = tracer_reader_open(name, &r);

    assert_null(r);
    return error;
}

static void other_files_are_refused(void **state)
{
    char name[300];
    FILE *f;

    (void)state;
    snprintf(name, sizeof(name), "%s/none", folder);
    assert_int_equal(refused(name), TRACER_EIO);
    assert_non_null(strstr(tracer_last_error(), "does not exist"));
    assert_int_equal(access(name, F_OK), -1);
    assert_int_equal(refused(folder), TRACER_EDB);
    assert_int_equal(refused(""), TRACER_EINVAL);
    f = fopen(name, "w");
    fputs("SQLite format 3", f);
    fclose(f);
    assert_int_equal(refused(name), TRACER_EDB);
    execute("PRAGMA user_version = 2");
    assert_int_equal(refused(path), TRACER_ESCHEMA);
    execute("PRAGMA application_id = 1");
    assert_int_equal(refused(path), TRACER_EDB);
}

/* Every single byte of the file gone wrong: an error or an answer, never a crash. */
static void hostile_bytes_do_no_harm(void **state)
{
    char *bytes = malloc(1 << 20), *wrong = malloc(1 << 20), name[300];
    FILE *f = fopen(path, "rb");
    size_t n = fread(bytes, 1, 1 << 20, f);
    unsigned random = 12345;

    (void)state;
    fclose(f);
    assert_true(n > 40000);
    snprintf(name, sizeof(name), "%s/hostile.db", folder);
    for (int i = 0; i < 300; i++) {
        tracer_reader *r = NULL;

        memcpy(wrong, bytes, n);
        for (int k = 0; k < 20; k++) {
            random = random * 1103515245u + 12345u;
            wrong[100 + random / 7 % (i % 2 ? 4000 : n - 100)] = (char)(random >> 24);
        }
        f = fopen(name, "wb");
        fwrite(wrong, 1, n, f);
        fclose(f);
        if (tracer_reader_open(name, &r))
            continue;
        tracer_reader_query(r, "SELECT * FROM punctuated_growth", NULL, 0, NULL, NULL);
        tracer_reader_query(r, "SELECT * FROM memory_event", NULL, 0, NULL, NULL);
        tracer_reader_query(r, "SELECT * FROM vmmap", NULL, 0, NULL, NULL);
        tracer_reader_close(r);
    }
    free(bytes);
    free(wrong);
}

/* A view of the file that was made to do something when it is looked at. */
static void a_view_of_the_file_cannot_do_harm(void **state)
{
    tracer_reader *r;

    (void)state;
    execute("DROP VIEW vmmap; CREATE VIEW vmmap AS SELECT load_extension('/tmp/evil.so')");
    r = opened();
    assert_int_not_equal(tracer_reader_query(r, "SELECT * FROM vmmap", NULL, 0, NULL, NULL), 0);
    tracer_reader_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_come_as_they_are),  TEST(every_view_and_query_runs),
        TEST(what_writes_is_refused),   TEST(other_files_are_refused),
        TEST(hostile_bytes_do_no_harm), TEST(a_view_of_the_file_cannot_do_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
