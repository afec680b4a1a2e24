/* SPDX-License-Identifier: MIT */
/* Description: a process that is terminated within a commit loses that commit alone. A file layer
 * over SQLite's own stops in the n-th write, cut or sync, a write half done, and says so; the
 * process is terminated there, for every n of a commit, and of the end of a recording. */
#include "windows/win_host.h"

#include <sqlite3.h>
#include <stdlib.h>

#define N_BEFORE 4 /* marks, each with a sample, that were committed before */
#define N_LEAST 4  /* writes of a commit: two pages or more, each with its header */

/* ---- the second process ---- */

static sqlite3_vfs vfs, *beneath;
static sqlite3_io_methods methods;
static const sqlite3_io_methods *real;
static unsigned n_calls, stop_at; /* 0 = not yet */

static void say(char what)
{
    DWORD n;

    WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), &what, 1, &n, NULL);
}

static bool is_here(void)
{
    return stop_at && ++n_calls == stop_at;
}

static void wait_for_the_end(char where)
{
    say(where);
    Sleep(INFINITE);
}

static int write_file(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    if (is_here()) {
        real->xWrite(f, from, n / 2, at);
        wait_for_the_end('w');
    }
    return real->xWrite(f, from, n, at);
}

static int cut_file(sqlite3_file *f, sqlite3_int64 n)
{
    if (is_here())
        wait_for_the_end('c');
    return real->xTruncate(f, n);
}

static int sync_file(sqlite3_file *f, int flags)
{
    if (is_here())
        wait_for_the_end('s');
    return real->xSync(f, flags);
}

static int open_file(sqlite3_vfs *self, const char *path, sqlite3_file *f, int flags, int *out)
{
    int error = beneath->xOpen(beneath, path, f, flags, out);

    (void)self;
    if (error)
        return error;
    real = f->pMethods;
    methods = *real;
    methods.xWrite = write_file;
    methods.xTruncate = cut_file;
    methods.xSync = sync_file;
    f->pMethods = &methods;
    return SQLITE_OK;
}

static void plug_in(void)
{
    beneath = sqlite3_vfs_find(NULL);
    vfs = *beneath;
    vfs.pNext = NULL;
    vfs.zName = "stops";
    vfs.xOpen = open_file;
    sqlite3_vfs_register(&vfs, 1);
}

/* The go is an event, since standard input may be closed. */
static void wait_for_go(void)
{
    HANDLE go = OpenEventW(SYNCHRONIZE, FALSE, L"memtracer-test-go");

    say('.');
    WaitForSingleObject(go, INFINITE);
}

/* "commit 7", "stop 7": where to end. */
static int be_terminated(const char *what, unsigned n)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;

    o.interval_ms = 3600000;
    plug_in();
    if (tracer_start(host_db, &o, &t))
        return 1;
    for (int i = 0; i < N_BEFORE; i++)
        if (tracer_mark(t, "kept") || tracer_sample(t))
            return 1;
    wait_for_go();
    stop_at = n;
    if (!strcmp(what, "--stop") ? tracer_stop(t)
                                : tracer_mark(t, "may be lost") || tracer_sample(t))
        return 1;
    say('d');
    Sleep(INFINITE);
    return 0;
}

/* ---- the test ---- */

/* What tells that no row of the samples up to `last` was lost or changed. */
static const char *rows_up_to(int64_t last)
{
    static struct host_answer a;
    char sql[1024];

    snprintf(sql, sizeof(sql),
             "WITH last(id) AS (VALUES(%lld)) SELECT concat_ws(' ', "
             "(SELECT count(*) FROM mark WHERE label = 'kept'), "
             "(SELECT count(*) || ' ' || sum(t_ns) FROM sample, last WHERE sample.id <= last.id), "
             "(SELECT count(*) || ' ' || sum(size + sample * type) FROM level, last "
             "WHERE sample <= last.id), "
             "(SELECT count(*) || ' ' || sum(base / 4096 + bytes) FROM region, last "
             "WHERE first_sample <= last.id))",
             (long long)last);
    a = host_ask(sql);
    return a.text;
}

static char hear(HANDLE pipe)
{
    char what = 0;
    DWORD n;

    return ReadFile(pipe, &what, 1, &n, NULL) && n == 1 ? what : 0;
}

/* Where the process was when it ended; 'd' = there is no n-th call. */
static char terminate_at(const wchar_t *what, unsigned n)
{
    HANDLE go = CreateEventW(NULL, TRUE, FALSE, L"memtracer-test-go"), pipe;
    wchar_t words[64];
    PROCESS_INFORMATION child;
    char before[512], where;
    int64_t last;

    swprintf(words, 64, L"%ls %u", what, n);
    child = host_spawn(words, &pipe);
    assert_int_equal(hear(pipe), '.');
    last = host_ask("SELECT max(id) FROM sample").integer;
    snprintf(before, sizeof(before), "%s", rows_up_to(last));
    SetEvent(go);
    where = hear(pipe);
    TerminateProcess(child.hProcess, 3);
    WaitForSingleObject(child.hProcess, INFINITE);
    CloseHandle(pipe);
    CloseHandle(go);
    CloseHandle(child.hThread);
    CloseHandle(child.hProcess);
    assert_int_equal(tracer_file_finish(host_db), 0);
    assert_string_equal(host_ask("PRAGMA integrity_check").text, "ok");
    assert_string_equal(rows_up_to(last), before);
    assert_int_equal(host_ask("SELECT count(*) FROM sample WHERE flags & 1").integer, 0);
    return where;
}

/* Each position is a write to the log; what it belongs to is not there before it is whole. */
static void a_commit_is_lost_alone_wherever_it_ends(void **state)
{
    char where = 'w';

    (void)state;
    for (unsigned n = 1; where != 'd'; n++) {
        where = terminate_at(L"--commit", n);
        assert_true(where == 'w' || (where == 'd' && n > N_LEAST));
        assert_int_equal(host_ask("SELECT count(*) FROM mark WHERE label = 'may be lost'").integer,
                         where == 'd');
        host_delete();
    }
}

/* The last commit, the log into the file, the log away: some forty positions. */
static void a_stop_loses_nothing_wherever_it_ends(void **state)
{
    unsigned step = getenv("MEMTRACER_FULL") ? 1 : 4;
    char where = 'w';
    unsigned seen = 0;

    (void)state;
    for (unsigned n = 1; where != 'd'; n += step) {
        where = terminate_at(L"--stop", n);
        seen |= 1u << (where - 'a');
        host_delete();
    }
    assert_true(seen >> ('w' - 'a') & 1u);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_commit_is_lost_alone_wherever_it_ends, host_begin,
                                        host_end),
        cmocka_unit_test_setup_teardown(a_stop_loses_nothing_wherever_it_ends, host_begin,
                                        host_end),
    };

    if (argc > 2) {
        host_take_path();
        return be_terminated(argv[1], (unsigned)strtoul(argv[2], NULL, 10));
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
