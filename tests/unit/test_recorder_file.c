/* SPDX-License-Identifier: MIT */
/* Description: which files the recorder takes and which it refuses. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memtracer/reader.h"
#include "support/recorded.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(foreign_and_newer_files_are_left_untouched),
        TEST(a_folder_is_no_file),
        TEST(an_empty_file_is_taken),
        TEST(what_this_user_may_not_write_is_refused),
        TEST(one_live_process_records_into_one_file),
        TEST(a_creation_that_failed_can_be_tried_again),
        TEST(a_deleted_file_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
