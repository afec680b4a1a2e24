/* SPDX-License-Identifier: MIT */
/* Description: what the recorder's file layer was told to write is in the file, but for the head of
 * a frame at the log's end whose page has yet to come. The right content is a copy in memory, and
 * what SQLite's own layer finds after a kill. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "record/vfs.h"
#include "support/folder.h"

#define HEAD 24
#define PAGE 4096
#define FRAME (HEAD + PAGE)
#define FRAMES 16
#define N_ROWS 1500 /* of 900 bytes: more than SQLite's cache of 512 KiB */

static char path[200];

/* ---- the log, call by call ---- */

static sqlite3_file *file;
static char model[32 + FRAMES * FRAME];
static int model_bytes;

static int open_log(void **state)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(mt_vfs_name());
    const int how = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL;

    (void)state;
    if (folder_make())
        return -1;
    snprintf(path, sizeof(path), "%s/x.db-wal", folder);
    memset(model, 0, sizeof(model)); /* behind its end, too */
    model_bytes = 0;
    file = calloc(1, (size_t)vfs->szOsFile);
    return file ? vfs->xOpen(vfs, path, file, how, NULL) : -1;
}

static int close_log(void **state)
{
    (void)state;
    free(file);
    return folder_remove();
}

/* A log has no holes: where it ends before, it goes on. */
static void put(int bytes, int at)
{
    static unsigned n;
    char text[FRAME];

    at = at < model_bytes ? at : model_bytes;
    for (int i = 0; i < bytes; i++)
        text[i] = (char)(n++ * 2654435761u >> 24);
    assert_int_equal(file->pMethods->xWrite(file, text, bytes, at), SQLITE_OK);
    memcpy(model + at, text, (size_t)bytes);
    if (at + bytes > model_bytes)
        model_bytes = at + bytes;
}

static void assert_is_in_the_file(void)
{
    static char found[sizeof(model) + 1];
    FILE *f = fopen(path, "rb");

    assert_non_null(f);
    assert_int_equal(fread(found, 1, sizeof(found), f), model_bytes);
    fclose(f);
    assert_memory_equal(found, model, (size_t)model_bytes);
}

static void put_frames(int n)
{
    put(32, 0);
    assert_is_in_the_file();
    for (int i = 0; i < n; i++) {
        put(HEAD, 32 + i * FRAME);
        put(PAGE, 32 + i * FRAME + HEAD);
        assert_is_in_the_file();
    }
}

static void a_head_within_the_log_is_written(void **state)
{
    (void)state;
    put_frames(FRAMES);
    for (int i = 3; i < FRAMES; i++) {
        char frame[FRAME];

        assert_int_equal(file->pMethods->xRead(file, frame, FRAME, 32 + i * FRAME), SQLITE_OK);
        put(HEAD, 32 + i * FRAME);
        assert_is_in_the_file();
    }
    file->pMethods->xClose(file);
    assert_is_in_the_file();
}

static void read_what_was_put(void)
{
    static char found[sizeof(model)];

    assert_int_equal(file->pMethods->xRead(file, found, model_bytes, 0), SQLITE_OK);
    assert_memory_equal(found, model, (size_t)model_bytes);
}

static void cut_in_half(void)
{
    for (size_t i = (size_t)model_bytes / 2; i < sizeof(model); i++)
        model[i] = 0;
    model_bytes /= 2;
    assert_int_equal(file->pMethods->xTruncate(file, model_bytes), SQLITE_OK);
}

static void ask_for_the_size(void)
{
    sqlite3_int64 size;

    assert_int_equal(file->pMethods->xFileSize(file, &size), SQLITE_OK);
    assert_int_equal(size, model_bytes);
}

/* What is missing below was cut away by another hand; SQLite would take the hole for pages. */
static void a_log_that_was_cut_is_not_gone_on_with(void **state)
{
    const off_t lengths[] = {0, 32, 32 + FRAME, 32 + 3 * FRAME - 1};
    char frame[FRAME] = {0};

    (void)state;
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        put_frames(3);
        assert_int_equal(truncate(path, lengths[i]), 0);
        assert_int_equal(file->pMethods->xWrite(file, frame, HEAD, 32 + 3 * FRAME),
                         SQLITE_IOERR_WRITE);
        assert_int_equal(file->pMethods->xTruncate(file, 0), SQLITE_OK);
        model_bytes = 0;
    }
    file->pMethods->xClose(file);
}

/* Whatever comes behind a head finds it in the file, and leaves it there. */
static void any_call_finds_the_file_as_it_was_left(void **state)
{
    (void)state;
    srand(20261130);
    put_frames(FRAMES / 2);
    for (unsigned round = 0; round < 4000; round++) {
        int at = 32 + rand() % FRAMES * FRAME;

        if (rand() % 2)
            put(HEAD, rand() % 2 && model_bytes < FRAMES * FRAME ? model_bytes : at);
        switch (rand() % 6) {
        case 0: read_what_was_put(); break;
        case 1: cut_in_half(); break;
        case 2: ask_for_the_size(); break;
        case 3: file->pMethods->xSync(file, SQLITE_SYNC_NORMAL); break;
        case 4: put(PAGE, at + HEAD); break;
        default: put(PAGE, at); break;
        }
        assert_is_in_the_file();
    }
    put(HEAD, 32);
    file->pMethods->xClose(file);
    assert_is_in_the_file();
}

/* ---- a kill ---- */

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL))
        _exit(1);
}

/* Pages that are thrown out of the cache and changed again stand in the log once. */
static _Noreturn void commit_and_be_killed(void)
{
    sqlite3 *db;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, mt_vfs_name()))
        _exit(1);
    run(db, "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -512; PRAGMA journal_mode = WAL; "
            "PRAGMA synchronous = NORMAL;"
            "CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB); BEGIN;");
    for (int i = 0; i < N_ROWS; i++)
        run(db, "INSERT INTO t(b) VALUES(randomblob(900))");
    run(db, "UPDATE t SET b = randomblob(900); COMMIT;");
    raise(SIGKILL);
    _exit(1);
}

static int number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *q = NULL;
    int n;

    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    n = sqlite3_column_int(q, 0);
    sqlite3_finalize(q);
    return n;
}

static void a_kill_loses_nothing_of_a_commit_larger_than_the_cache(void **state)
{
    sqlite3 *db;
    pid_t child;
    int status;

    (void)state;
    assert_int_equal(folder_make(), 0);
    snprintf(path, sizeof(path), "%s/x.db", folder);
    child = fork();
    if (child == 0)
        commit_and_be_killed();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(number(db, "SELECT count(*) FROM t"), N_ROWS);
    sqlite3_close(db);
    folder_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_head_within_the_log_is_written, open_log, close_log),
        cmocka_unit_test_setup_teardown(a_log_that_was_cut_is_not_gone_on_with, open_log,
                                        close_log),
        cmocka_unit_test_setup_teardown(any_call_finds_the_file_as_it_was_left, open_log,
                                        close_log),
        cmocka_unit_test(a_kill_loses_nothing_of_a_commit_larger_than_the_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
