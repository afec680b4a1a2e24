/* SPDX-License-Identifier: MIT */
/* Description: which files the recorder takes and which it refuses. */
#include <sys/stat.h>
#include <unistd.h>

#include "memtracer/reader.h"
#include "support/recorded.h"

static void refuse(int code, const char *word)
{
    assert_int_equal(open_recorder(), code);
    if (!strstr(mt_error_detail(), word))
        fail_msg("\"%s\" does not say \"%s\"", mt_error_detail(), word);
    assert_non_null(strstr(mt_error_detail(), strrchr(folder, '/') + 1));
}

static void D17_foreign_and_newer_files_are_left_untouched(void **state)
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
    assert_true(before.st_mtime == after.st_mtime && before.st_size == after.st_size);
    sqlite3_close(db);
}

static void a_folder_is_no_file(void **state)
{
    (void)state;
    assert_true(os_make_folder(path));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(D17_foreign_and_newer_files_are_left_untouched),
        TEST(a_folder_is_no_file),
        TEST(an_empty_file_is_taken),
        TEST(one_live_process_records_into_one_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
