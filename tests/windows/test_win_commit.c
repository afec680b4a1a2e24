/* SPDX-License-Identifier: MIT */
/* Description: a process that is terminated within a commit loses that commit alone. A file layer
 * over SQLite's own stops in the n-th write, cut or sync, a write half done, and says so; the
 * process is terminated there, for every n of a commit and every fourth of a recording's end
 * (every one with MEMTRACER_FULL=1). */
#include "windows/win_host.h"

#include <sqlite3.h>
#include <stdlib.h>

#define N_BEFORE 2 /* marks, each with a sample, that were committed before */
#define N_LEAST 4  /* writes of a commit: two pages or more, each with its header */

/* ---- the second process ---- */

static sqlite3_vfs vfs, *beneath;
static sqlite3_io_methods methods, log_methods;
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

static int write_half(sqlite3_file *f, const void *from, int n, sqlite3_int64 at, char where)
{
    if (is_here()) {
        real->xWrite(f, from, n / 2, at);
        wait_for_the_end(where);
    }
    return real->xWrite(f, from, n, at);
}

static int write_file(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    return write_half(f, from, n, at, 'f');
}

static int write_log(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    return write_half(f, from, n, at, 'l');
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
    log_methods = methods;
    log_methods.xWrite = write_log;
    f->pMethods = flags & SQLITE_OPEN_WAL ? &log_methods : &methods;
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

/* Both processes know the event by the name of the parent's number. */
static HANDLE make_go(const char *parent)
{
    char name[64];

    snprintf(name, sizeof(name), "memtracer-test-go-%s", parent);
    return CreateEventA(NULL, TRUE, FALSE, name);
}

static void wait_for_go(const char *parent)
{
    HANDLE go = make_go(parent);

    say('.');
    WaitForSingleObject(go, INFINITE);
}

/* "--commit 7 PARENT", "--stop 7 PARENT": where to end. */
static int be_terminated(const char *what, unsigned n, const char *parent)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;

    o.interval_ms = 3600000;
    o.flags = TRACER_F_NO_PAGES; /* quick: rows are what is looked at */
    plug_in();
    if (tracer_start(host_db, &o, &t))
        return 1;
    for (int i = 0; i < N_BEFORE; i++)
        if (tracer_mark(t, "kept") || tracer_sample(t))
            return 1;
    wait_for_go(parent);
    stop_at = n;
    if (!VirtualAlloc(NULL, 1 << 20, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) ||
        (!strcmp(what, "--stop") ? tracer_stop(t) : tracer_sample(t)))
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

/* Where the process was when it ended, 'd' = there is no n-th call; samples that were new. */
static char terminate_at(const wchar_t *what, unsigned n, int64_t *out_n_new)
{
    PROCESS_INFORMATION child;
    char parent[16], before[512], where;
    wchar_t words[64];
    HANDLE go, pipe;
    int64_t last;

    snprintf(parent, sizeof(parent), "%lu", GetCurrentProcessId());
    swprintf(words, 64, L"%ls %u %hs", what, n, parent);
    go = make_go(parent);
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
    assert_in_range(where, 'a', 'z');
    assert_int_equal(tracer_file_finish(host_db), 0);
    assert_string_equal(host_ask("PRAGMA integrity_check").text, "ok");
    assert_string_equal(rows_up_to(last), before);
    assert_int_equal(host_ask("SELECT count(*) FROM sample WHERE flags & 1").integer, 0);
    *out_n_new = host_ask("SELECT max(id) FROM sample").integer - last;
    return where;
}

/* The new sample is there when the log has all of it and not before. The log is synced now and
 * then, on either side of what is written to it. */
static void a_commit_is_lost_alone_wherever_it_ends(void **state)
{
    unsigned n_in_log = 0;
    char where = 0;

    (void)state;
    for (unsigned n = 1; where != 'd'; n++) {
        int64_t n_new;

        where = terminate_at(L"--commit", n, &n_new);
        n_in_log += where == 'l';
        if (where == 's')
            assert_in_range(n_new, 0, 1);
        else
            assert_int_equal(n_new, where == 'd');
        host_delete();
    }
    assert_true(n_in_log >= N_LEAST);
}

/* The last commit, the log into the file, the log away: some forty positions. */
static void a_stop_loses_nothing_wherever_it_ends(void **state)
{
    unsigned step = getenv("MEMTRACER_FULL") ? 1 : 4;
    unsigned seen = 0;
    int64_t n_new;
    char where = 0;

    (void)state;
    for (unsigned n = 1; where != 'd'; n += step) {
        where = terminate_at(L"--stop", n, &n_new);
        seen |= 1u << (where - 'a');
        host_delete();
    }
    assert_true(seen >> ('l' - 'a') & seen >> ('f' - 'a') & 1u);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_commit_is_lost_alone_wherever_it_ends, host_begin,
                                        host_end),
        cmocka_unit_test_setup_teardown(a_stop_loses_nothing_wherever_it_ends, host_begin,
                                        host_end),
    };

    if (argc > 3) {
        host_take_path();
        return be_terminated(argv[1], (unsigned)strtoul(argv[2], NULL, 10), argv[3]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
