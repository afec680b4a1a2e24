/* SPDX-License-Identifier: MIT */
/* Description: another user reads in a folder that he may not write, of a name with any letters; a
 * writer that was cut off is undone by who may write, not by a reader. */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/small_file.h"

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
    char wal[300];

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

/* Changes pages in the file itself, and ends before it knows whether they stay. */
static void cut_off_in_a_change(void)
{
    sqlite3 *db;
    int status;
    pid_t child = fork();

    if (child == 0) {
        if (sqlite3_open(path, &db) ||
            sqlite3_exec(db,
                         "PRAGMA cache_size = 1; BEGIN; UPDATE level SET ws = 77;"
                         "INSERT INTO string WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT "
                         "i + 1 FROM n WHERE i < 20000) SELECT i, 'text ' || i FROM n",
                         NULL, NULL, NULL))
            _exit(1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_change_that_was_cut_off_is_neither_read_nor_damage(void **state)
{
    tracer_reader *r = NULL;
    struct seen s = {0};

    (void)state;
    cut_off_in_a_change();
    assert_int_equal(tracer_reader_open(path, &r), TRACER_EDENIED);
    assert_non_null(strstr(tracer_last_error(), "memtracer finish"));
    assert_int_equal(tracer_file_finish(path), TRACER_OK);
    r = opened();
    assert_int_equal(
        tracer_reader_query(r, "SELECT ws FROM vmmap WHERE type = 'heap'", NULL, 0, keep, &s),
        TRACER_OK);
    assert_int_equal(s.last.integer, 15);
    tracer_reader_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_folder_that_cannot_be_written_is_enough),
        TEST(a_change_that_was_cut_off_is_neither_read_nor_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
