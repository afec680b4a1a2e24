/* SPDX-License-Identifier: MIT */
/* Description: what a kill, or a reader that stays, leaves of a recording. */
#include <sys/stat.h>

#include "memtracer/reader.h"
#include "record/recorder_private.h"
#include "support/recorded.h"

#define N_COMMITTED 20

/* The second process: commits its samples and is killed with one more not committed. */
static int be_killed(const char *file)
{
    snprintf(path, sizeof(path), "%s", file);
    begin_sample();
    if (mt_strings_new(1024, 65536, &strings) || open_recorder())
        return 1;
    for (int i = 0; i < N_COMMITTED; i++) {
        set_level(MT_TYPE_HEAP, (i + 1) * MIB);
        if (tick() || mt_recorder_commit(recorder))
            return 2;
    }
    set_level(MT_TYPE_HEAP, 999 * MIB);
    if (tick())
        return 3;
    os_kill_self();
}

static void record_and_die(void)
{
    assert_int_equal(os_run_self("--killed", path), OS_KILLED);
}

static void a_kill_loses_only_what_was_not_committed(void **state)
{
    (void)state;
    record_and_die();
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM run WHERE state = 'interrupted'"), 1);
    assert_int_equal(number("SELECT max(ws) FROM level"), N_COMMITTED * MIB);
    assert_int_equal(number("SELECT count(*) FROM pragma_integrity_check WHERE "
                            "integrity_check = 'ok'"),
                     1);
}

static void finish_makes_one_file_of_a_killed_recording(void **state)
{
    char wal[300];
    struct stat st;

    (void)state;
    record_and_die();
    snprintf(wal, sizeof(wal), "%s-wal", path);
    assert_int_equal(stat(wal, &st), 0);
    assert_int_equal(tracer_file_finish(path), 0);
    assert_int_not_equal(stat(wal, &st), 0);
    assert_int_equal(number("SELECT count(*) FROM run WHERE state = 'interrupted'"), 1);
    assert_int_equal(number("SELECT max(ws) FROM level"), N_COMMITTED * MIB);
}

static void D01_a_reader_that_stays_does_not_make_the_wal_endless(void **state)
{
    sqlite3 *other;
    struct stat st;
    char wal[300];
    int error = 0;

    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, 1);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    assert_int_equal(sqlite3_open(path, &other), 0);
    assert_int_equal(sqlite3_exec(other, "BEGIN; SELECT * FROM run", 0, 0, 0), 0);
    for (int i = 0; i < 40000 && !error; i++) {
        set_level(MT_TYPE_HEAP, i + 2);
        error = tick();
        if (!error)
            error = mt_recorder_commit(recorder);
    }
    assert_int_equal(error, TRACER_ELIMIT);
    snprintf(wal, sizeof(wal), "%s-wal", path);
    assert_int_equal(stat(wal, &st), 0);
    assert_true(st.st_size < 80 * MIB);
    mt_recorder_rollback(recorder);
    sqlite3_exec(other, "ROLLBACK", 0, 0, 0);
    sqlite3_close(other);
    set_level(MT_TYPE_HEAP, 7);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'heap'"), 7);
}

/* SQLite itself ends a transaction where memory or the disk does. Whoever writes next is told, and
 * what is written after that is whole: absolute values, not differences to what was lost. */
static void a_lost_transaction_is_told_and_written_again(void **state)
{
    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    set_level(MT_TYPE_STACK, 3 * MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    set_level(MT_TYPE_HEAP, 2 * MIB);
    set_level(MT_TYPE_STACK, 4 * MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(sqlite3_exec(recorder->db.handle, "ROLLBACK", 0, 0, 0), 0);
    assert_int_equal(mt_recorder_mark(recorder, 1, 1, 1, "a mark"), TRACER_EDB);
    assert_int_equal(mt_recorder_mark(recorder, 1, 1, 1, "a mark"), TRACER_EDB);
    mt_recorder_rollback(recorder);
    assert_int_equal(mt_recorder_mark(recorder, 1, 1, 1, "a mark"), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'heap'"), 2 * MIB);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'stack'"), 4 * MIB);
    assert_int_equal(number("SELECT count(*) FROM mark"), 1);
}

static void an_end_is_told_without_what_was_lost(void **state)
{
    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    set_level(MT_TYPE_HEAP, 2 * MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(sqlite3_exec(recorder->db.handle, "ROLLBACK", 0, 0, 0), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), TRACER_EDB);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'heap'"), MIB);
    assert_int_equal(number("SELECT count(*) FROM run WHERE state = 'stopped' AND "
                            "state_detail LIKE '%since the last commit was lost%'"),
                     1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kill_loses_only_what_was_not_committed),
        TEST(finish_makes_one_file_of_a_killed_recording),
        TEST(a_lost_transaction_is_told_and_written_again),
        TEST(an_end_is_told_without_what_was_lost),
        TEST(D01_a_reader_that_stays_does_not_make_the_wal_endless),
    };

    if (argc > 2)
        return be_killed(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
