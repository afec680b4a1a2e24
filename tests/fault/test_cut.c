/* SPDX-License-Identifier: MIT */
/* Description: a file, or its log, that another hand cuts short while it is recorded: the recorder
 * says so, does not go on with it and ends no process; what shrinks by itself is not taken for
 * that.
 */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <unistd.h>

#include "memtracer/reader.h"
#include "support/recorded.h"

/* What another hand left: a log, or a file, of this length. */
static void recording_cut_to(const char *suffix, off_t bytes)
{
    char name[300];

    opened();
    for (int i = 1; i < 40; i++)
        assert_int_equal(one(i), 0);
    snprintf(name, sizeof(name), "%s%s", path, suffix);
    assert_int_equal(truncate(name, bytes), 0);
    assert_int_equal(one(40), TRACER_EDB);
    assert_non_null(strstr(mt_error_detail(), "cut short"));
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), TRACER_EDB);
}

/* What was brought into the file before is still there, and a new recording goes on in it. */
static void D19_a_log_cut_short_is_told(void **state)
{
    const off_t lengths[] = {0, 10, 32, 5000, 41232};

    (void)state;
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        recording_cut_to("-wal", lengths[i]);
        opened();
        assert_int_equal(one(4711), 0);
        assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
        sound();
        assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'heap'"), 4711);
    }
}

static void D19_a_file_cut_short_is_told(void **state)
{
    (void)state;
    opened();
    for (int i = 1; i < 40; i++)
        assert_int_equal(one(i), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0); /* all is in the file now */
    recording_cut_to("", 8192);
}

/* Neither a checkpoint that empties the log nor a file that gets smaller is taken for that. */
static void D19_what_shrinks_by_itself_is_not_cut(void **state)
{
    sqlite3 *shell;

    (void)state;
    opened();
    assert_int_equal(sqlite3_open(path, &shell), SQLITE_OK);
    for (int i = 1; i < 200; i++) {
        assert_int_equal(one(i), 0);
        if (i % 10 == 0)
            sqlite3_exec(shell, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
        if (i == 50)
            assert_int_equal(sqlite3_exec(shell,
                                          "CREATE TABLE x(b); INSERT INTO x VALUES "
                                          "(zeroblob(2000000))",
                                          NULL, NULL, NULL),
                             SQLITE_OK);
        if (i == 100)
            assert_int_equal(
                sqlite3_exec(shell, "DROP TABLE x; PRAGMA incremental_vacuum", NULL, NULL, NULL),
                SQLITE_OK);
    }
    sqlite3_close(shell);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    sound();
}

static void D03_nothing_is_mapped_that_truncation_could_take(void **state)
{
    (void)state;
    opened();
    for (int i = 1; i < 100; i++)
        assert_int_equal(one(i), 0);
    assert_int_equal(truncate(path, 100), 0); /* the pages that SQLite has not cached are gone */
    for (int i = 100; i < 200; i++)
        one(i); /* may fail, must not end the process */
    mt_recorder_close(recorder, "stopped", "");
}

int main(void)
{
#define CUT(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CUT(D19_a_log_cut_short_is_told),
        CUT(D19_a_file_cut_short_is_told),
        CUT(D19_what_shrinks_by_itself_is_not_cut),
        CUT(D03_nothing_is_mapped_that_truncation_could_take),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
