/* SPDX-License-Identifier: MIT */
/* Description: what a kill, or a reader that stays, leaves of a recording. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memtracer/reader.h"
#include "support/recorded.h"

/* A child records, commits `n` samples and dies by SIGKILL with one more not committed. */
static void record_and_die(int n)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        mt_os_facts_read(mt_os_process_id(), &facts);
        if (open_recorder())
            _exit(1);
        for (int i = 0; i < n; i++) {
            set_level(MT_TYPE_HEAP, (i + 1) * MIB);
            tick();
            mt_recorder_commit(recorder);
        }
        set_level(MT_TYPE_HEAP, 999 * MIB);
        tick();
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static void a_kill_loses_only_what_was_not_committed(void **state)
{
    (void)state;
    record_and_die(20);
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM run WHERE state = 'interrupted'"), 1);
    assert_int_equal(number("SELECT max(ws) FROM level"), 20 * MIB);
    assert_int_equal(number("SELECT count(*) FROM pragma_integrity_check WHERE "
                            "integrity_check = 'ok'"),
                     1);
}

static void finish_makes_one_file_of_a_killed_recording(void **state)
{
    char wal[160];
    struct stat st;

    (void)state;
    record_and_die(20);
    snprintf(wal, sizeof(wal), "%s-wal", path);
    assert_int_equal(stat(wal, &st), 0);
    assert_int_equal(tracer_file_finish(path), 0);
    assert_int_not_equal(stat(wal, &st), 0);
    assert_int_equal(number("SELECT count(*) FROM run WHERE state = 'interrupted'"), 1);
    assert_int_equal(number("SELECT max(ws) FROM level"), 20 * MIB);
}

static void a_reader_that_stays_does_not_make_the_wal_endless(void **state)
{
    sqlite3 *other;
    struct stat st;
    char wal[160];
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kill_loses_only_what_was_not_committed),
        TEST(finish_makes_one_file_of_a_killed_recording),
        TEST(a_reader_that_stays_does_not_make_the_wal_endless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
