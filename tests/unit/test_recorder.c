/* SPDX-License-Identifier: MIT */
/* Description: samples made by hand go through the recorder; plain SQLite says what is there. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "base/error.h"
#include "memtracer/memtracer.h"
#include "memtracer/reader.h"
#include "record/recorder.h"
#include "support/folder.h"

#define MIB INT64_C(1048576)

static char path[128];
static struct mt_strings *strings;
static struct mt_os_facts facts;
static struct mt_recorder *recorder;
static struct mt_levels levels;
static struct mt_counters counters;
static struct mt_sample sample;

static int setup(void **state)
{
    (void)state;
    assert_int_equal(folder_make(), 0);
    snprintf(path, sizeof(path), "%s/a.db", folder);
    mt_os_facts_read(mt_os_process_id(), &facts);
    memset(&levels, 0, sizeof(levels));
    memset(&counters, 0, sizeof(counters));
    memset(&sample, 0, sizeof(sample));
    sample.levels = &levels;
    sample.counters = &counters;
    sample.depth = MT_DEPTH_FULL;
    recorder = NULL;
    return mt_strings_new(1024, 65536, &strings);
}

static int teardown(void **state)
{
    (void)state;
    mt_strings_free(strings);
    return folder_remove();
}

static int open_with(uint64_t max_file_bytes)
{
    struct mt_run_info info = {.pid = mt_os_process_id(),
                               .interval_ms = 100,
                               .commit_ms = 1000,
                               .start_wall_ns = INT64_C(1700000000000000000),
                               .facts = &facts,
                               .max_file_bytes = max_file_bytes};

    return mt_recorder_open(path, &info, strings, &recorder);
}

static int open_recorder(void)
{
    return open_with(0);
}

static void opened(void)
{
    if (open_recorder())
        fail_msg("%s", mt_error_detail());
}

static void set_level(int type, int64_t ws)
{
    levels.present |= UINT64_C(1) << type;
    levels.type[type].known = 1u << MT_COLUMN_SIZE | 1u << MT_COLUMN_WS | 1u << MT_COLUMN_SWAP;
    levels.type[type].value[MT_COLUMN_SIZE] = ws;
    levels.type[type].value[MT_COLUMN_WS] = ws;
}

/* Hands the sample over, one tick of 100 ms later than the one before. */
static int tick(void)
{
    int error = mt_recorder_sample(recorder, &sample);

    sample.t_ns += 100000000;
    sample.wall_ns = INT64_C(1700000000000000000) + sample.t_ns;
    return error;
}

static int64_t number_in(const char *file, const char *sql)
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

static int64_t number(const char *sql)
{
    return number_in(path, sql);
}

static void write_text(const char *name, const char *text, size_t n)
{
    FILE *f = fopen(name, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

static void a_stopped_file_is_one_plain_private_file(void **state)
{
    struct stat st;
    char wal[160];

    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, 10 * MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    snprintf(wal, sizeof(wal), "%s-wal", path);
    assert_int_not_equal(stat(wal, &st), 0);
    assert_int_equal(number("PRAGMA application_id"), 0x6d747263);
    assert_int_equal(number("PRAGMA user_version"), 1);
    assert_int_equal(number("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode='delete'"),
                     1);
    assert_int_equal(number("SELECT auto_vacuum FROM pragma_auto_vacuum"), 2);
    assert_int_equal(number("SELECT count(*) FROM run WHERE state = 'stopped' AND "
                            "stop_wall_ns > 0 AND length(uuid) = 36"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM type"), 12);
    assert_int_equal(number("SELECT count(*) FROM sample_flag"), 10);
}

static void steady_ticks_extend_one_row(void **state)
{
    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, 10 * MIB);
    set_level(MT_TYPE_STACK, MIB);
    sample.cost_cpu_ns = 5;
    sample.cost_wall_ns = 7;
    for (int i = 0; i < 10; i++)
        assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    assert_int_equal(number("SELECT ticks FROM sample"), 10);
    assert_int_equal(number("SELECT until_ns FROM sample"), 900000000);
    assert_int_equal(number("SELECT cost_cpu_ns * 1000 + cost_wall_ns FROM sample"), 50070);
    set_level(MT_TYPE_HEAP, 11 * MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM sample"), 2);
    assert_int_equal(number("SELECT group_concat(ticks, '') FROM sample"), 102);
    assert_int_equal(number("SELECT count(*) FROM level"), 3);
    assert_int_equal(number("SELECT sum(ws) FROM delta WHERE type = 'heap'"), 11 * MIB);
}

static void lasting_flags_are_no_news_but_passing_ones_are(void **state)
{
    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    sample.flags = MT_SAMPLE_NO_PAGES;
    for (int i = 0; i < 5; i++)
        assert_int_equal(tick(), 0);
    sample.flags |= MT_SAMPLE_EXPLICIT;
    assert_int_equal(tick(), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM sample"), 3);
}

static void unknown_columns_are_null(void **state)
{
    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM level WHERE pss IS NULL AND charged IS NULL "
                            "AND largest IS NULL AND swap = 0 AND ws = size"),
                     1);
}

static struct mt_interval an_interval(uint64_t base, uint64_t end, uint8_t type)
{
    struct mt_interval v = {
        .base = base, .end = end, .type = type, .confidence = 'B', .protection = 3};

    return v;
}

static void regions_live_from_first_to_last_sample(void **state)
{
    struct mt_interval list[2] = {
        an_interval(0x1000, 0x3000, MT_TYPE_HEAP),
        an_interval(0xffffffffff600000, 0xffffffffff601000, MT_TYPE_IMAGE)};
    int64_t continued[2] = {0, 0}, ended[1], first_row;

    (void)state;
    list[0].owner = mt_strings_add(strings, "malloc arena", 12);
    list[1].region_flags = MT_REGION_FILE | MT_REGION_DELETED;
    list[1].claim_flags = MT_CLAIM_GUARD;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    sample.intervals = list;
    sample.n_intervals = 2;
    sample.continued = continued;
    assert_int_equal(tick(), 0);
    assert_true(list[0].row > 0 && list[1].row > 0);
    first_row = list[0].row;
    list[0].end = 0x5000;
    list[0].row = 0;
    continued[0] = ended[0] = first_row;
    sample.ended_regions = ended;
    sample.n_ended_regions = 1;
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT last_sample FROM region WHERE bytes = 8192"), 1);
    assert_int_equal(number("SELECT first_sample FROM region WHERE bytes = 16384"), 2);
    assert_int_equal(number("SELECT continues FROM region WHERE bytes = 16384"), first_row);
    assert_int_equal(number("SELECT flags FROM region WHERE base < 0"), 2 + 4 + 128);
    assert_int_equal(number("SELECT count(*) FROM region_now WHERE base_address IN "
                            "('0xffffffffff600000', '0x000000001000')"),
                     2);
    assert_int_equal(number("SELECT count(*) FROM memory_event WHERE kind = 'Grow' AND "
                            "region_size = 16384 AND owner = 'malloc arena' AND "
                            "protection = 'READWRITE' AND protection_mask = 'RW-'"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM memory_event WHERE kind LIKE '%Free'"), 0);
}

/* What a tick does after a rollback: the rows it remembers are gone, and it does not know. */
static void after_a_rollback_the_lists_are_whole_again(void **state)
{
    struct mt_interval list[2] = {an_interval(0x1000, 0x3000, MT_TYPE_HEAP),
                                  an_interval(0x8000, 0x9000, MT_TYPE_PRIVATE)};
    struct mt_thread threads[1] = {{.tid = 7}};

    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    sample.intervals = list;
    sample.n_intervals = 1;
    sample.threads = threads;
    sample.n_threads = 1;
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    assert_int_equal(mt_recorder_type(recorder, 32, "cache", "of pages"), 0);
    set_level(32, 5 * MIB);
    sample.n_intervals = 2;
    list[1].owner = mt_strings_add(strings, "x", 1);
    assert_int_equal(tick(), 0);
    mt_recorder_rollback(recorder);
    assert_int_equal(tick(), 0); /* nothing changed, and yet all of it must be written */
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM sample"), 2);
    assert_int_equal(number("SELECT count(*) FROM region_now"), 2);
    assert_int_equal(number("SELECT count(*) FROM region"), 2);
    assert_int_equal(number("SELECT count(*) FROM region_now WHERE owner = 'x'"), 1);
    assert_int_equal(number("SELECT count(*) FROM thread WHERE last_sample IS NULL"), 1);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'cache'"), 5 * MIB);
}

static void a_user_type_of_an_earlier_run_keeps_its_id(void **state)
{
    (void)state;
    opened();
    assert_int_equal(mt_recorder_type(recorder, 32, "cache", NULL), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    opened();
    assert_int_equal(mt_recorder_type(recorder, 32, "index", NULL), 0);
    set_level(32, 3 * MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'index'"), 3 * MIB);
    assert_int_equal(number("SELECT count(*) FROM type WHERE name = 'cache' AND id = 32"), 1);
}

static void refuse(int code, const char *word)
{
    assert_int_equal(open_recorder(), code);
    if (!strstr(mt_error_detail(), word))
        fail_msg("\"%s\" does not say \"%s\"", mt_error_detail(), word);
    assert_non_null(strstr(mt_error_detail(), folder));
}

static void foreign_and_newer_files_are_left_untouched(void **state)
{
    static const char picture[] = "\x89PNG\r\n\x1a\n and more than a hundred bytes of picture, so "
                                  "that the header of a database could be read from it, if it had "
                                  "one, which it has not";
    struct stat before, after;
    sqlite3 *db;

    (void)state;
    write_text(path, picture, sizeof(picture));
    refuse(TRACER_EDB, "not a SQLite file");
    write_text(path, "x", 1);
    refuse(TRACER_EDB, "not a SQLite file");
    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), 0);
    sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL);
    stat(path, &before);
    refuse(TRACER_EDB, "another program");
    sqlite3_exec(db, "PRAGMA application_id = 0x6d747263; PRAGMA user_version = 2", 0, 0, 0);
    stat(path, &before);
    refuse(TRACER_ESCHEMA, "newer");
    stat(path, &after);
    assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
    sqlite3_close(db);
}

static void a_folder_is_no_file(void **state)
{
    (void)state;
    mkdir(path, 0700);
    refuse(TRACER_EDB, "directory");
    rmdir(path);
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "/none/x.db");
    refuse(TRACER_EIO, "folder");
}

static void an_empty_file_is_taken(void **state)
{
    (void)state;
    write_text(path, "", 0);
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM run"), 1);
}

static void what_this_user_may_not_write_is_refused(void **state)
{
    int status;
    pid_t child;

    (void)state;
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    chmod(path, 0444);
    chmod(folder, 0755);
    child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(77);
        _exit(open_recorder() == TRACER_EDENIED ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

static void one_live_process_records_into_one_file(void **state)
{
    struct mt_recorder *first;

    (void)state;
    opened();
    first = recorder;
    set_level(MT_TYPE_HEAP, MIB);
    assert_int_equal(tick(), 0); /* with a transaction open */
    refuse(TRACER_ESTATE, "being recorded");
    assert_int_equal(tracer_file_finish(path), TRACER_ESTATE);
    recorder = first;
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM run"), 2);
}

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

/* No room for all of the tables: what is left must not be a stranger's file to the next start. */
static void a_creation_that_failed_can_be_tried_again(void **state)
{
    struct rlimit was, small;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = was;
    for (small.rlim_cur = 512; small.rlim_cur < 65536; small.rlim_cur *= 2) {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        assert_int_not_equal(open_recorder(), 0);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    }
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT auto_vacuum FROM pragma_auto_vacuum"), 2);
    assert_int_equal(number("SELECT count(*) FROM run"), 1);
}

static void a_deleted_file_is_noticed(void **state)
{
    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    unlink(path);
    set_level(MT_TYPE_HEAP, 2 * MIB);
    assert_int_equal(tick(), TRACER_EDB);
    assert_non_null(strstr(mt_error_detail(), "deleted or moved"));
    mt_recorder_close(recorder, "stopped", "");
}

/* A failed sample leaves nothing, and the next carries what it had. */
static void a_failed_sample_is_made_up_for(void **state)
{
    sqlite3 *other;

    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    assert_int_equal(sqlite3_open(path, &other), 0);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", 0, 0, 0), 0);
    set_level(MT_TYPE_HEAP, 2 * MIB);
    set_level(MT_TYPE_STACK, 3 * MIB);
    assert_int_equal(tick(), TRACER_EDB);
    mt_recorder_rollback(recorder);
    sqlite3_exec(other, "ROLLBACK", 0, 0, 0);
    sqlite3_close(other);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'heap'"), 2 * MIB);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'stack'"), 3 * MIB);
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

/* Steps of 50 MiB under noise, far more samples than the cap holds. */
static void retention_keeps_the_cap_the_steps_and_the_maximum(void **state)
{
    struct stat st;
    int64_t ticks;

    (void)state;
    assert_int_equal(open_with(2 * 1024 * 1024), 0);
    for (int i = 0; i < 40000; i++) {
        set_level(MT_TYPE_HEAP, 10 * MIB + i / 8000 * 50 * MIB + i * 7919 % 1000 * 1024);
        set_level(MT_TYPE_STACK, i == 12345 ? 77 * MIB : MIB + i % 3);
        assert_int_equal(tick(), 0);
        if (i % 100 == 99)
            assert_int_equal(mt_recorder_commit(recorder), 0);
    }
    assert_true(mt_recorder_file_bytes(recorder) <= 2 * 1024 * 1024);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    stat(path, &st);
    assert_true(st.st_size <= 2 * 1024 * 1024);
    ticks = number("SELECT sum(ticks) FROM sample");
    assert_int_equal(ticks, 40000);
    assert_int_equal(number("SELECT max(ws) FROM level WHERE type = 6"), 77 * MIB);
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth WHERE type = 'heap'"), 4);
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth WHERE bytes BETWEEN 52000000 "
                            "AND 53000000 AND round(t_s) IN (800, 1600, 2400, 3200)"),
                     4);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'heap'"),
                     10 * MIB + 4 * 50 * MIB + 39999 * 7919 % 1000 * 1024);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_stopped_file_is_one_plain_private_file),
        TEST(steady_ticks_extend_one_row),
        TEST(lasting_flags_are_no_news_but_passing_ones_are),
        TEST(unknown_columns_are_null),
        TEST(regions_live_from_first_to_last_sample),
        TEST(after_a_rollback_the_lists_are_whole_again),
        TEST(a_user_type_of_an_earlier_run_keeps_its_id),
        TEST(foreign_and_newer_files_are_left_untouched),
        TEST(a_folder_is_no_file),
        TEST(an_empty_file_is_taken),
        TEST(what_this_user_may_not_write_is_refused),
        TEST(one_live_process_records_into_one_file),
        TEST(a_kill_loses_only_what_was_not_committed),
        TEST(finish_makes_one_file_of_a_killed_recording),
        TEST(a_creation_that_failed_can_be_tried_again),
        TEST(a_deleted_file_is_noticed),
        TEST(a_failed_sample_is_made_up_for),
        TEST(a_reader_that_stays_does_not_make_the_wal_endless),
        TEST(retention_keeps_the_cap_the_steps_and_the_maximum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
