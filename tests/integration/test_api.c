/* SPDX-License-Identifier: MIT */
/* Description: every misuse has its code and a sentence that names the thing and the way out; no
 * file is touched by a refused start. */
#define _GNU_SOURCE
#include "support/nobody.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void expect_refused(const char *path, const tracer_options *o, int code, const char *word)
{
    tracer *t = NULL;
    int error = tracer_start(path, o, &t);

    if (error != code || !strstr(tracer_last_error(), word))
        fail_msg("expected %s with \"%s\", got %s: \"%s\"", tracer_error_name(code), word,
                 tracer_error_name(error), tracer_last_error());
    assert_null(t);
}

static void write_file(const char *text)
{
    FILE *f = fopen(host_db, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void expect_file(const char *text)
{
    char read_back[256] = "";
    FILE *f = fopen(host_db, "r");

    assert_non_null(f);
    assert_int_equal(fread(read_back, 1, sizeof(read_back) - 1, f), strlen(text));
    fclose(f);
    assert_string_equal(read_back, text);
}

static void wrong_paths(void **state)
{
    char path[400], long_path[5000];
    tracer *t = NULL;

    (void)state;
    expect_refused(NULL, NULL, TRACER_EINVAL, "path is NULL");
    expect_refused("", NULL, TRACER_EINVAL, "path is empty");
    expect_refused("a%d.db", NULL, TRACER_EINVAL, "%d");
    expect_refused("a.db%", NULL, TRACER_EINVAL, "%p");
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    expect_refused(long_path, NULL, TRACER_EINVAL, "longer");
    expect_refused(host_dir, NULL, TRACER_EDB, "directory");
    snprintf(path, sizeof(path), "%s/none/x.db", host_dir);
    expect_refused(path, NULL, TRACER_EIO, "none/x.db");
    assert_int_equal(tracer_start(host_db, NULL, NULL), TRACER_EINVAL);
    assert_null(t);
}

static void a_foreign_file_is_left_alone(void **state)
{
    (void)state;
    write_file("dear diary");
    expect_refused(host_db, NULL, TRACER_EDB, host_db);
    expect_file("dear diary");
}

static void make_database(const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(host_db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void a_pipe_is_not_waited_for(void **state)
{
    tracer_reader *r = NULL;

    (void)state;
    assert_int_equal(mkfifo(host_db, 0600), 0);
    expect_refused(host_db, NULL, TRACER_EDB, host_db);
    assert_int_not_equal(tracer_reader_open(host_db, &r), TRACER_OK);
}

static void a_foreign_database_is_left_alone(void **state)
{
    (void)state;
    make_database("CREATE TABLE diary(dear); INSERT INTO diary VALUES (1)");
    expect_refused(host_db, NULL, TRACER_EDB, host_db);
    make_database("INSERT INTO diary VALUES (2)");
}

static void a_newer_file_is_refused(void **state)
{
    tracer *t = host_start(1000);

    (void)state;
    tracer_stop(t);
    make_database("PRAGMA user_version = 999");
    expect_refused(host_db, NULL, TRACER_ESCHEMA, "999");
}

static void wrong_options(void **state)
{
    struct {
        tracer_options known;
        uint64_t future;
    } newer = {TRACER_OPTIONS_INIT, 0};
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;

    (void)state;
    o.interval_ms = 3600001;
    expect_refused(host_db, &o, TRACER_EINVAL, "interval_ms");
    o = (tracer_options)TRACER_OPTIONS_INIT;
    o.flags = 0x80000000u;
    expect_refused(host_db, &o, TRACER_EINVAL, "0x80000000");
    o = (tracer_options)TRACER_OPTIONS_INIT;
    o.max_file_bytes = 1000;
    expect_refused(host_db, &o, TRACER_EINVAL, "max_file_bytes");
    o = (tracer_options)TRACER_OPTIONS_INIT;
    o.budget_ns = UINT64_MAX;
    expect_refused(host_db, &o, TRACER_EINVAL, "budget_ns");
    o = (tracer_options)TRACER_OPTIONS_INIT;
    o.size = 0;
    expect_refused(host_db, &o, TRACER_EINVAL, "size");
    newer.known.size = sizeof(newer);
    newer.future = 7;
    expect_refused(host_db, &newer.known, TRACER_EVERSION, "does not know");
    newer.future = 0;
    assert_int_equal(tracer_start(host_db, &newer.known, &t), TRACER_OK);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    assert_int_equal(access(host_db, F_OK), 0);
}

static void pids_that_cannot_be_watched(void **state)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    o.pid = (uint32_t)pid;
    expect_refused(host_db, &o, TRACER_ESTATE, "process");
    assert_int_equal(access(host_db, F_OK), -1);
}

static int as_nobody(void)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;
    int error;

    if (!nobody_become())
        return NOBODY_FAILED;
    o.pid = 1;
    error = tracer_start(host_db, &o, &t);
    return error == TRACER_EDENIED && strstr(tracer_last_error(), "ptrace") ? 0 : 1;
}

static void a_process_of_somebody_else(void **state)
{
    (void)state;
    assert_int_equal(nobody_status(as_nobody, 0777), 0);
}

static int unwritable_as_nobody(void)
{
    tracer *t = NULL;
    int error;

    if (!nobody_become())
        return NOBODY_FAILED;
    error = tracer_start(host_db, NULL, &t);
    return error == TRACER_EDENIED && strstr(tracer_last_error(), host_db) ? 0 : 1;
}

static void a_folder_that_cannot_be_written(void **state)
{
    (void)state;
    assert_int_equal(nobody_status(unwritable_as_nobody, 0755), 0);
}

static void stopping_twice(void **state)
{
    tracer *t = host_start(1000);

    (void)state;
    assert_int_equal(tracer_stop(t), TRACER_OK);
    assert_int_equal(tracer_stop(t), TRACER_ESTATE);
    assert_int_equal(tracer_mark(t, "x"), TRACER_ESTATE);
    assert_int_equal(tracer_stop(NULL), TRACER_OK);
    assert_int_equal(tracer_mark(NULL, "x"), TRACER_EINVAL);
}

static void starting_twice_on_one_file(void **state)
{
    tracer *t = host_start(1000);

    (void)state;
    expect_refused(host_db, NULL, TRACER_ESTATE, host_db);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    t = host_start(1000);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    assert_int_equal(host_ask("SELECT count(*) FROM run WHERE state = 'stopped'").integer, 2);
}

static void read_header(unsigned char *header)
{
    int fd = open(host_db, O_RDONLY);

    assert_int_equal(read(fd, header, 20), 20);
    close(fd);
}

static void the_stopped_file_is_one_plain_file(void **state)
{
    unsigned char header[20];
    char wal[320];
    struct stat s;
    tracer *t = host_start(1000);

    (void)state;
    assert_int_equal(tracer_stop(t), TRACER_OK);
    snprintf(wal, sizeof(wal), "%s-wal", host_db);
    assert_int_equal(access(wal, F_OK), -1);
    assert_int_equal(stat(host_db, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    read_header(header);
    assert_int_equal(header[18], 1); /* write version of the format: 1 = rollback, 2 = WAL */
    assert_int_equal(header[19], 1);
    assert_string_equal(host_ask("PRAGMA integrity_check").text, "ok");
}

/* A link to the file is the file, at the first start and at the next. */
static void a_path_may_be_a_link(void **state)
{
    char real[320];

    (void)state;
    snprintf(real, sizeof(real), "%s/real.db", host_dir);
    assert_int_equal(symlink(real, host_db), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tracer_stop(host_start(1000)), TRACER_OK);
    assert_int_equal(host_ask("SELECT count(*) FROM run").integer, 2);
    unlink(real);
}

/* Two recorders of one file would spoil it: of many that start at once one wins. */
static void one_of_many_that_start_at_once_wins(void **state)
{
    int won = 0, go[2];

    (void)state;
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            tracer *t = NULL;
            char c;
            int error;

            close(go[1]);
            (void)!read(go[0], &c, 1);
            error = tracer_start(host_db, NULL, &t);
            usleep(error ? 0 : 700000);
            _exit(error ? 1 : tracer_stop(t) ? 2 : 0);
        }
    close(go[0]);
    close(go[1]);
    for (int i = 0; i < 8; i++) {
        int status;

        wait(&status);
        won += status == 0;
        assert_true(WEXITSTATUS(status) != 2);
    }
    assert_int_equal(won, 1);
    assert_int_equal(host_ask("SELECT count(*) FROM run").integer, 1);
}

static void marks_and_types(void **state)
{
    tracer *t = host_start(1000);
    uint32_t type = 0, again = 0;
    char label[600];

    (void)state;
    assert_int_equal(tracer_mark(t, ""), TRACER_EINVAL);
    assert_int_equal(tracer_mark(t, NULL), TRACER_EINVAL);
    memset(label, 'm', sizeof(label) - 1);
    label[sizeof(label) - 1] = '\0';
    assert_int_equal(tracer_mark(t, label), TRACER_OK);
    assert_int_equal(tracer_mark(t, "it's; DROP TABLE mark"), TRACER_OK);
    assert_int_equal(tracer_type_add(t, "Pool", NULL, &type), TRACER_EINVAL);
    assert_int_equal(tracer_type_add(t, "heap", NULL, &type), TRACER_EINVAL);
    assert_int_equal(tracer_type_add(t, "total", NULL, &type), TRACER_EINVAL);
    assert_int_equal(tracer_type_add(t, "pool", "our pool", &type), TRACER_OK);
    assert_int_equal(tracer_type_add(t, "pool", NULL, &again), TRACER_OK);
    assert_int_equal(type, again);
    assert_int_equal(tracer_claim(t, label, 100, TRACER_TYPE_FREE, NULL), TRACER_EINVAL);
    assert_int_equal(tracer_claim(t, NULL, 100, type, NULL), TRACER_EINVAL);
    assert_int_equal(tracer_claim(t, label, 0, type, NULL), TRACER_EINVAL);
    assert_int_equal(tracer_unclaim(t, label, 100), TRACER_EINVAL);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    assert_int_equal(host_ask("SELECT length(label) FROM mark ORDER BY id").integer, 255);
    assert_int_equal(host_ask("SELECT 1 FROM mark WHERE label = 'it''s; DROP TABLE mark'").n_rows,
                     1);
    assert_int_equal(host_ask("SELECT id FROM type WHERE name = 'pool'").integer, type);
}

static void pausing_stops_the_timer_only(void **state)
{
    tracer_stats stats = {.size = sizeof(stats)};
    tracer *t = host_start(1);
    uint64_t n;

    (void)state;
    assert_int_equal(tracer_pause(t), TRACER_OK);
    assert_int_equal(tracer_flush(t), TRACER_OK);
    assert_int_equal(tracer_get_stats(t, &stats), TRACER_OK);
    assert_int_equal(stats.state, TRACER_STATE_PAUSED);
    n = stats.n_ticks;
    usleep(50000);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    assert_int_equal(tracer_get_stats(t, &stats), TRACER_OK);
    assert_int_equal(stats.n_ticks, n + 1);
    assert_int_equal(tracer_resume(t), TRACER_OK);
    do {
        usleep(1000);
        assert_int_equal(tracer_get_stats(t, &stats), TRACER_OK);
    } while (stats.n_ticks < n + 5);
    assert_int_equal(tracer_stop(t), TRACER_OK);
}

static void words(void **state)
{
    (void)state;
    assert_string_equal(tracer_error_name(TRACER_EINVAL), "TRACER_EINVAL");
    assert_null(tracer_error_name(5));
    assert_non_null(tracer_strerror(12345));
    assert_string_equal(tracer_type_name(TRACER_TYPE_MANAGED_HEAP), "managed_heap");
    assert_null(tracer_type_name(0));
    assert_int_equal(tracer_version(), TRACER_VERSION);
    assert_string_equal(tracer_version_string(), TRACER_VERSION_STRING);
}

#define T(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(wrong_paths),
        T(a_foreign_file_is_left_alone),
        T(a_pipe_is_not_waited_for),
        T(a_foreign_database_is_left_alone),
        T(a_newer_file_is_refused),
        T(wrong_options),
        T(pids_that_cannot_be_watched),
        T(a_process_of_somebody_else),
        T(a_folder_that_cannot_be_written),
        T(stopping_twice),
        T(starting_twice_on_one_file),
        T(the_stopped_file_is_one_plain_file),
        T(a_path_may_be_a_link),
        T(one_of_many_that_start_at_once_wins),
        T(marks_and_types),
        T(pausing_stops_the_timer_only),
        T(words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
