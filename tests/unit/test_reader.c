/* SPDX-License-Identifier: MIT */
/* Description: the reader opens what it should, refuses what it should, and never writes. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "base/error.h"
#include "memtracer/reader.h"
#include "support/folder.h"

static char path[128];

static void execute(const char *sql)
{
    sqlite3 *db;
    char *text = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &text))
        fail_msg("%s", text);
    sqlite3_close(db);
}

/* A file made from the published schema alone, with two samples. */
static int setup(void **state)
{
    (void)state;
    assert_int_equal(folder_make(), 0);
    snprintf(path, sizeof(path), "%s/ä #%%?.db", folder);
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

static int teardown(void **state)
{
    (void)state;
    return folder_remove();
}

struct seen {
    uint32_t n_rows, n_columns;
    tracer_value last;
    char name[64], text[64];
};

static int keep(void *user, uint32_t n_columns, const char *const *names,
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

static tracer_reader *opened(void)
{
    tracer_reader *r = NULL;

    if (tracer_reader_open(path, &r))
        fail_msg("%s", tracer_last_error());
    return r;
}

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
    char name[160];
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

/* As another user, in a folder that nobody may write: each of the two journal modes. */
static int read_as_nobody(void)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        tracer_reader *r = NULL;
        struct seen s = {0};
        int error;

        if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(77);
        error = tracer_reader_open(path, &r);
        if (!error)
            error = tracer_reader_query(r, "SELECT ws FROM vmmap WHERE type = 'heap'", NULL, 0,
                                        keep, &s);
        if (error)
            fprintf(stderr, "%s\n", tracer_last_error());
        _exit(error ? -error : s.last.integer == 15 ? 0 : 99);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

static void a_folder_that_cannot_be_written_is_enough(void **state)
{
    char wal[160];

    (void)state;
    chmod(path, 0444);
    chmod(folder, 0555);
    assert_int_equal(read_as_nobody(), 0);
    chmod(folder, 0755);
    chmod(path, 0644);
    execute("PRAGMA journal_mode = WAL");
    chmod(path, 0444);
    chmod(folder, 0555);
    assert_int_equal(read_as_nobody(), 0);
    snprintf(wal, sizeof(wal), "%s-wal", path);
    FILE *f = fopen(wal, "w");
    fputs("rows that would be missed", f);
    fclose(f);
    assert_int_equal(read_as_nobody(), -TRACER_EDENIED);
    chmod(folder, 0755);
}

/* Every single byte of the file gone wrong: an error or an answer, never a crash. */
static void hostile_bytes_do_no_harm(void **state)
{
    char *bytes = malloc(1 << 20), name[160];
    FILE *f = fopen(path, "rb");
    size_t n = fread(bytes, 1, 1 << 20, f);
    unsigned random = 12345;

    (void)state;
    fclose(f);
    assert_true(n > 40000);
    snprintf(name, sizeof(name), "%s/hostile.db", folder);
    for (int i = 0; i < 300; i++) {
        tracer_reader *r = NULL;

        f = fopen(name, "wb");
        fwrite(bytes, 1, n, f);
        for (int k = 0; k < 20; k++) {
            random = random * 1103515245u + 12345u;
            fseek(f, (long)(100 + random / 7 % (i % 2 ? 4000 : n - 100)), SEEK_SET);
            fputc((int)(random >> 24), f);
        }
        fclose(f);
        if (tracer_reader_open(name, &r))
            continue;
        tracer_reader_query(r, "SELECT * FROM punctuated_growth", NULL, 0, NULL, NULL);
        tracer_reader_query(r, "SELECT * FROM memory_event", NULL, 0, NULL, NULL);
        tracer_reader_query(r, "SELECT * FROM vmmap", NULL, 0, NULL, NULL);
        tracer_reader_close(r);
    }
    free(bytes);
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
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(values_come_as_they_are),
        TEST(every_view_and_query_runs),
        TEST(what_writes_is_refused),
        TEST(other_files_are_refused),
        TEST(a_folder_that_cannot_be_written_is_enough),
        TEST(hostile_bytes_do_no_harm),
        TEST(a_view_of_the_file_cannot_do_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
