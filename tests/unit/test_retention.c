/* SPDX-License-Identifier: MIT */
/* Description: what thinning leaves of levels and counters is what the test itself kept of
 * everything it handed over. */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "support/thinned.h"

#define TICKS 20000
#define TYPES 4

/* All that was ever handed over, by moment: the truth that the file is compared with. */
static int64_t truth[TICKS][TYPES];
static uint64_t counted[TICKS];
static const int types[TYPES] = {MT_TYPE_HEAP, MT_TYPE_STACK, MT_TYPE_PRIVATE, MT_TYPE_IMAGE};
static sqlite3 *file;

/* The heap steps and wobbles, the stack has one peak, the others change now and then. */
static void world(int i)
{
    truth[i][0] = 10 * MIB + i / 4000 * 50 * MIB + noise((unsigned)i, 1000) * 1024;
    truth[i][1] = i == 3333 ? 77 * MIB : MIB + i % 3;
    truth[i][2] = i % 7 ? truth[i ? i - 1 : 0][2] : noise((unsigned)i, 5000) * 4096;
    truth[i][3] = 5 * MIB + i / 1000;
    counted[i] = (uint64_t)(i < 15000 ? i / 10 : 1500);
    for (int t = 0; t < TYPES; t++)
        set_level(types[t], truth[i][t]);
    counters.known = 1u << MT_COUNTER_MINOR_FAULTS;
    counters.value[MT_COUNTER_MINOR_FAULTS] = counted[i];
}

static sqlite3_stmt *ask(const char *sql)
{
    sqlite3_stmt *s;

    if (sqlite3_prepare_v2(file, sql, -1, &s, NULL))
        fail_msg("%s: %s", sql, sqlite3_errmsg(file));
    return s;
}

/* At every sample that is left every type and the counter have the value they had. */
static void compare_absolutes(void)
{
    sqlite3_stmt *s = ask("SELECT id, t_ns FROM sample ORDER BY id");
    sqlite3_stmt *level = ask("SELECT ws FROM level WHERE run = 2 AND type = ?1 AND sample <= ?2 "
                              "ORDER BY sample DESC LIMIT 1");
    sqlite3_stmt *counter = ask("SELECT value FROM counter WHERE run = 2 AND counter = 8 AND "
                                "sample <= ?1 ORDER BY sample DESC LIMIT 1");

    while (sqlite3_step(s) == SQLITE_ROW) {
        int i = (int)(sqlite3_column_int64(s, 1) / 100000000);

        for (int t = 0; t < TYPES; t++) {
            sqlite3_bind_int(level, 1, types[t]);
            sqlite3_bind_int64(level, 2, sqlite3_column_int64(s, 0));
            assert_int_equal(sqlite3_step(level), SQLITE_ROW);
            if (sqlite3_column_int64(level, 0) != truth[i][t])
                fail_msg("type %d at tick %d", types[t], i);
            sqlite3_reset(level);
        }
        sqlite3_bind_int64(counter, 1, sqlite3_column_int64(s, 0));
        assert_int_equal(sqlite3_step(counter), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int64(counter, 0), counted[i]);
        sqlite3_reset(counter);
    }
    sqlite3_finalize(s);
    sqlite3_finalize(level);
    sqlite3_finalize(counter);
}

static void compare_extremes(void)
{
    sqlite3_stmt *s = ask("SELECT max(ws), min(ws) FROM level WHERE type = ?1");

    for (int t = 0; t < TYPES; t++) {
        int64_t most = truth[0][t], least = truth[0][t];

        for (int i = 0; i < TICKS; i++) {
            most = truth[i][t] > most ? truth[i][t] : most;
            least = truth[i][t] < least ? truth[i][t] : least;
        }
        sqlite3_bind_int(s, 1, types[t]);
        assert_int_equal(sqlite3_step(s), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int64(s, 0), most);
        assert_int_equal(sqlite3_column_int64(s, 1), least);
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
}

static void feed_world(void)
{
    for (int i = 0; i < TICKS; i++) {
        world(i);
        assert_int_equal(tick(), 0);
        if (i % 10 == 9)
            commit();
    }
}

static void check_world(int64_t most_samples)
{
    assert_int_equal(number("SELECT sum(ticks) FROM sample"), TICKS);
    assert_true(number("SELECT count(*) FROM sample") < most_samples);
    assert_int_equal(sqlite3_open(path, &file), 0);
    compare_absolutes();
    compare_extremes();
    sqlite3_close(file);
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth WHERE type = 'heap' AND "
                            "bytes BETWEEN 52000000 AND 53000000 AND "
                            "round(t_s) IN (400, 800, 1200, 1600)"),
                     4);
}

static void what_stays_is_exact_and_so_are_extremes_and_steps(void **state)
{
    (void)state;
    keep_newest(2000);
    feed_world();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    check_world(6000);
    assert_true(number("SELECT count(*) FROM tier") > 0);
    assert_int_equal(number("SELECT count(*) FROM sample WHERE t_ns >= 1800000000000"), 2000);
}

static void the_cap_holds_and_what_stays_is_exact(void **state)
{
    struct stat st;

    (void)state;
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(open_with(MIB), 0);
    for (int i = 0; i < TICKS; i++) {
        world(i);
        assert_int_equal(tick(), 0);
        if (i % 10 == 9)
            commit();
        assert_true(mt_recorder_file_bytes(recorder) <= MIB);
    }
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size <= MIB);
    check_world(8000);
}

/* Their number is below all of ours, and the first that a bucket meets. */
static void types_that_others_wrote_are_thinned_like_ours(void **state)
{
    (void)state;
    keep_newest(200);
    number("INSERT INTO type(id, name, description) VALUES (-1, 'theirs', '')");
    for (int i = 0; i < 3600; i++) {
        world(i);
        assert_int_equal(tick(), 0);
        if (i % 10 != 9)
            continue;
        commit();
        number("INSERT OR IGNORE INTO level(run, type, sample, ws) SELECT run, -1, sample,"
               " iif(sample = 1777, 99999999, sample % 5)"
               " FROM level WHERE type = (SELECT id FROM type WHERE name = 'stack')"
               " AND sample > (SELECT max(id) - 10 FROM sample)");
    }
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_true(number("SELECT count(*) FROM sample") < 2400);
    assert_int_equal(number("SELECT sample FROM level WHERE type = -1 AND ws = 99999999"), 1777);
}

/* Pages that thinning made free go back to the file system. */
static void a_smaller_content_is_a_smaller_file(void **state)
{
    struct stat before, after;

    (void)state;
    opened();
    feed_world();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(stat(path, &before), 0);
    number("UPDATE setting SET value = 500 WHERE name = 'thin_after_samples'");
    opened();
    for (int i = 0; i < 3000; i++) {
        set_level(MT_TYPE_HEAP, i);
        assert_int_equal(tick(), 0);
        commit();
    }
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_true(after.st_size < before.st_size / 2);
    assert_int_equal(number("SELECT sum(ticks) FROM sample"), TICKS + 3000);
}

static const struct {
    const char *name, *sql;
} statements[] = {
#define MT_STATEMENT(name, sql) {#name, sql},
#include "record/statement.def"
#undef MT_STATEMENT
};

/* The query planner's word: a bucket's cost must not grow with the run that it lies in. */
static void no_statement_on_a_bucket_goes_through_a_whole_run(void **state)
{
    int looked_at = 0;

    (void)state;
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(sqlite3_open(path, &file), SQLITE_OK);
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        char sql[2048];
        sqlite3_stmt *plan;

        if (!strstr(statements[i].sql, "?3") || !strncmp(statements[i].sql, "INSERT", 6) ||
            !strstr(statements[i].sql, "sample"))
            continue;
        looked_at++;
        snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", statements[i].sql);
        plan = ask(sql);
        while (sqlite3_step(plan) == SQLITE_ROW) {
            const char *how = (const char *)sqlite3_column_text(plan, 3);

            if (strstr(how, "(run=?)") || strstr(how, "SCAN sample") || strstr(how, "SCAN level"))
                fail_msg("%s: %s", statements[i].name, how);
        }
        sqlite3_finalize(plan);
    }
    assert_true(looked_at > 15);
    sqlite3_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_stays_is_exact_and_so_are_extremes_and_steps),
        TEST(types_that_others_wrote_are_thinned_like_ours),
        TEST(the_cap_holds_and_what_stays_is_exact),
        TEST(a_smaller_content_is_a_smaller_file),
        TEST(no_statement_on_a_bucket_goes_through_a_whole_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
