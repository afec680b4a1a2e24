/* SPDX-License-Identifier: MIT */
/* Description: the whole library on Windows: a punctuated leak of malloc's is three rows with
 * their marks; a killed process leaves a file that is finished and sound; another process is
 * watched from outside and its end noticed; others read while it is recorded. */
#include "windows/win_host.h"

#include <stdlib.h>

#define KEPT_BYTES 0x33c4000 /* each command keeps 54,280,192 bytes */
#define MIB 1048576

static void churn(void)
{
    static void *blocks[200];

    for (int i = 0; i < 200; i++) {
        size_t bytes = 2000 + (size_t)(i * 7919 % 20000);

        blocks[i] = malloc(bytes);
        memset(blocks[i], i, bytes);
    }
    for (int i = 0; i < 200; i++)
        free(blocks[i]);
}

/* Samples are asked for, so that the load of the machine does not decide what is seen. */
static void work_a_while(tracer *t)
{
    for (int i = 0; i < 5; i++) {
        churn();
        assert_int_equal(tracer_sample(t), 0);
    }
}

static void a_punctuated_leak_is_three_rows(void **state)
{
    tracer *t = host_start(3600000, 0);
    void *kept[3];

    (void)state;
    work_a_while(t);
    for (int i = 0; i < 3; i++) {
        char label[32];

        snprintf(label, sizeof(label), "command %d", i + 1);
        assert_int_equal(tracer_mark(t, label), 0);
        kept[i] = malloc(KEPT_BYTES);
        memset(kept[i], 1, KEPT_BYTES);
        work_a_while(t);
    }
    assert_int_equal(tracer_stop(t), 0);
    assert_int_equal(host_ask("SELECT * FROM punctuated_growth").n_rows, 3);
    assert_int_equal(host_ask("SELECT * FROM punctuated_growth WHERE type = 'heap' "
                              "AND abs(bytes - (54280192 + 4096)) <= 4096 "
                              "AND mark = 'command ' || step")
                         .n_rows,
                     3);
    assert_int_equal(host_ask("SELECT sum(flags & 1) FROM sample").integer, 0);
    assert_string_equal(host_ask("PRAGMA integrity_check").text, "ok");
    for (int i = 0; i < 3; i++)
        free(kept[i]);
}

static void the_run_says_where_it_ran(void **state)
{
    tracer *t = host_start(1000, 0);

    (void)state;
    assert_int_equal(tracer_stop(t), 0);
    assert_int_equal(host_ask("SELECT pid FROM run").integer, GetCurrentProcessId());
    assert_int_equal(host_ask("SELECT name = 'test_win_record.exe' AND os LIKE 'Windows %' "
                              "AND host <> '' AND host_memory_bytes > 0 FROM run")
                         .integer,
                     1);
    assert_int_equal(
        host_ask("SELECT abs(start_wall_ns - process_start_ns) < 600e9 FROM run").integer, 1);
}

static void an_interval_of_0_is_a_second(void **state)
{
    tracer *t = host_start(0, 0);

    (void)state;
    assert_int_equal(tracer_stop(t), 0);
    assert_int_equal(host_ask("SELECT interval_ms FROM run").integer, 1000);
}

/* Deadlines are absolute: those kept and those missed add up to the time that has passed, however
 * long each took; a sample's time lies within its own cost of its deadline. */
static void no_deadline_is_lost(void **state)
{
    tracer *t = host_start(10, 0);
    tracer_stats stats = {.size = sizeof(stats)};

    (void)state;
    do { /* however slow the machine is: the first look is none of those with a deadline */
        Sleep(1500);
        assert_int_equal(tracer_get_stats(t, &stats), 0);
    } while (stats.n_ticks < 10);
    assert_int_equal(tracer_stop(t), 0);
    assert_int_equal(host_ask("SELECT sum(ticks + missed) BETWEEN "
                              "max(until_ns - cost_wall_ns) / 10000000 - 2 AND "
                              "max(until_ns) / 10000000 + 2 "
                              "FROM sample WHERE id < (SELECT max(id) FROM sample)")
                         .integer,
                     1);
}

/* The tracer's own blocks and the stack of its thread are of type tracer and of no other. */
static void the_tracer_shows_its_own_cost(void **state)
{
    tracer *t = host_start(1000, 0);
    tracer_stats stats = {.size = sizeof(stats)};
    uint64_t bytes = host_row(t, TRACER_TYPE_TRACER).size_bytes;

    (void)state;
    assert_int_equal(tracer_get_stats(t, &stats), 0);
    assert_true(stats.own_bytes > 0);
    assert_true(bytes >= stats.own_bytes && bytes <= stats.own_bytes + 2 * MIB);
    assert_int_equal(host_ask("SELECT count(*) FROM thread WHERE name = "
                              "(SELECT id FROM string WHERE text = 'memtracer')")
                         .integer,
                     1);
    assert_int_equal(tracer_stop(t), 0);
}

static void another_reads_while_it_is_recorded(void **state)
{
    tracer *t = host_start(50, 0);
    PROCESS_INFORMATION child;
    DWORD code;
    HANDLE pipe;

    (void)state;
    assert_int_equal(tracer_sample(t), 0);
    child = host_spawn(L"--read", &pipe);
    WaitForSingleObject(child.hProcess, 30000);
    assert_true(GetExitCodeProcess(child.hProcess, &code));
    assert_int_equal(code, 0);
    assert_int_equal(tracer_stop(t), 0);
}

static void another_process_is_watched(void **state)
{
    HANDLE pipe;
    PROCESS_INFORMATION child = host_spawn(L"--idle", &pipe);
    tracer_stats stats = {.size = sizeof(stats), .state = 0};
    tracer_type_bytes private_row, stack;
    tracer *t;

    (void)state;
    host_wait_ready(pipe);
    t = host_start(50, child.dwProcessId);
    private_row = host_row(t, TRACER_TYPE_PRIVATE);
    stack = host_row(t, TRACER_TYPE_STACK);
    assert_true(private_row.size_bytes >= 16 * MIB && private_row.size_bytes < 64 * MIB);
    assert_true(private_row.committed_bytes >= 8 * MIB);
    assert_true(stack.size_bytes >= MIB);
    TerminateProcess(child.hProcess, 0);
    WaitForSingleObject(child.hProcess, INFINITE);
    for (int i = 0; i < 1000 && stats.state != TRACER_STATE_ENDED; i++) {
        Sleep(50);
        assert_int_equal(tracer_get_stats(t, &stats), 0);
    }
    assert_int_equal(stats.state, TRACER_STATE_ENDED);
    assert_int_equal(tracer_stop(t), 0);
}

static void a_killed_process_leaves_a_sound_file(void **state)
{
    HANDLE pipe;
    PROCESS_INFORMATION child = host_spawn(L"--record", &pipe);

    (void)state;
    host_wait_ready(pipe);
    assert_int_equal(tracer_file_finish(host_db), TRACER_ESTATE); /* it is alive */
    TerminateProcess(child.hProcess, 3);
    WaitForSingleObject(child.hProcess, INFINITE);
    assert_int_equal(tracer_file_finish(host_db), 0);
    assert_string_equal(host_ask("PRAGMA integrity_check").text, "ok");
    assert_string_equal(host_ask("SELECT state FROM run").text, "interrupted");
    assert_string_equal(host_ask("SELECT label FROM mark").text, "here");
    assert_true(host_ask("SELECT count(*) FROM sample").integer >= 2);
}

#define N_KILLS 6

/* Each byte is a mark that was committed before it was sent. */
static int64_t said_before_the_end(HANDLE pipe)
{
    int64_t n = 0;
    char byte;
    DWORD done;

    while (ReadFile(pipe, &byte, 1, &done, NULL) && done == 1)
        n++;
    return n;
}

/* Killed at other moments each time, most of them within a commit. */
static void a_kill_within_a_commit_loses_that_commit_alone(void **state)
{
    (void)state;
    for (DWORD i = 0; i < N_KILLS; i++) {
        HANDLE pipe;
        PROCESS_INFORMATION child = host_spawn(L"--commit", &pipe);
        int64_t n_said;

        for (DWORD k = 0; k <= i; k++)
            host_wait_ready(pipe);
        Sleep(7 * i);
        TerminateProcess(child.hProcess, 3);
        WaitForSingleObject(child.hProcess, INFINITE);
        n_said = (int64_t)i + 1 + said_before_the_end(pipe);
        assert_int_equal(tracer_file_finish(host_db), 0);
        assert_string_equal(host_ask("PRAGMA integrity_check").text, "ok");
        assert_in_range(host_ask("SELECT count(*) FROM mark").integer, n_said, n_said + 1);
        assert_int_equal(host_ask("SELECT count(*) FROM sample WHERE flags & 1").integer, 0);
        CloseHandle(pipe);
        host_delete();
    }
}

/* A host that ends without stopping: other threads are gone by then, some with locks. */
static void G12_a_host_that_just_ends_is_not_held_up(void **state)
{
    HANDLE pipe;
    PROCESS_INFORMATION child = host_spawn(L"--exit", &pipe);
    DWORD code;

    (void)state;
    assert_int_equal(WaitForSingleObject(child.hProcess, 30000), WAIT_OBJECT_0);
    assert_true(GetExitCodeProcess(child.hProcess, &code));
    assert_int_equal(code, 7);
    assert_int_equal(tracer_file_finish(host_db), 0);
    assert_string_equal(host_ask("SELECT state FROM run").text, "interrupted");
}

/* The library stays loaded while its thread runs, whatever the host gives back. */
static void G12_a_library_given_back_while_it_records(void **state)
{
    HMODULE library = LoadLibraryW(L"libmemtracer-0.dll");
    FARPROC found_start, found_stop;
    int (*start)(const char *, const tracer_options *, tracer **);
    int (*stop)(tracer *);
    tracer *t = NULL;

    (void)state;
    assert_non_null(library);
    found_start = GetProcAddress(library, "tracer_start");
    found_stop = GetProcAddress(library, "tracer_stop");
    memcpy(&start, &found_start, sizeof(start));
    memcpy(&stop, &found_stop, sizeof(stop));
    assert_int_equal(start(host_db, NULL, &t), 0);
    for (int i = 0; i < 3; i++)
        FreeLibrary(library);
    Sleep(50);
    assert_int_equal(stop(t), 0);
    assert_string_equal(host_ask("SELECT state FROM run").text, "stopped");
}

static void no_such_process(void **state)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;

    (void)state;
    o.pid = 0xfffffff0u;
    assert_int_equal(tracer_start(host_db, &o, &t), TRACER_ESTATE);
    assert_null(t);
    assert_int_equal(GetFileAttributesA(host_db), INVALID_FILE_ATTRIBUTES);
}

/* ---- the second process ---- */

static int be_idle(void)
{
    char *p = VirtualAlloc(NULL, 16 * MIB, MEM_RESERVE, PAGE_READWRITE);

    if (!p || !VirtualAlloc(p, 8 * MIB, MEM_COMMIT, PAGE_READWRITE))
        return 1;
    host_say_ready();
    Sleep(60000);
    return 1;
}

static int be_recorded(void)
{
    tracer *t = NULL;

    if (tracer_start(host_db, NULL, &t) || tracer_mark(t, "here") || tracer_sample(t))
        return 1;
    host_say_ready();
    Sleep(60000);
    return 1;
}

static int be_committing(void)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;

    o.interval_ms = 3600000;
    if (tracer_start(host_db, &o, &t))
        return 1;
    for (;;) {
        if (tracer_mark(t, "one") || tracer_sample(t))
            return 1;
        host_say_ready();
    }
}

static int be_ended(void)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;

    o.interval_ms = 1;
    if (tracer_start(host_db, &o, &t) || tracer_sample(t))
        return 1;
    exit(7);
}

static int read_rows(void)
{
    struct host_answer a = {0, "", 0};
    tracer_reader *r = NULL;

    if (tracer_reader_open(host_db, &r) ||
        tracer_reader_query(r, "SELECT * FROM vmmap", NULL, 0, host_take_row, &a))
        return 1;
    tracer_reader_close(r);
    return a.n_rows < 12;
}

static int be_child(const char *word)
{
    host_take_path();
    if (!strcmp(word, "--idle"))
        return be_idle();
    if (!strcmp(word, "--exit"))
        return be_ended();
    if (!strcmp(word, "--commit"))
        return be_committing();
    return strcmp(word, "--read") ? be_recorded() : read_rows();
}

int main(int argc, char **argv)
{
#define WITH_FILE(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)
    const struct CMUnitTest tests[] = {
        WITH_FILE(the_run_says_where_it_ran),
        WITH_FILE(an_interval_of_0_is_a_second),
        WITH_FILE(no_deadline_is_lost),
        WITH_FILE(the_tracer_shows_its_own_cost),
        WITH_FILE(a_punctuated_leak_is_three_rows),
        WITH_FILE(another_reads_while_it_is_recorded),
        WITH_FILE(another_process_is_watched),
        WITH_FILE(a_killed_process_leaves_a_sound_file),
        WITH_FILE(a_kill_within_a_commit_loses_that_commit_alone),
        WITH_FILE(G12_a_host_that_just_ends_is_not_held_up),
        WITH_FILE(G12_a_library_given_back_while_it_records),
        WITH_FILE(no_such_process),
    };

    if (argc > 1)
        return be_child(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
