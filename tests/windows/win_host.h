/* SPDX-License-Identifier: MIT */
/* A host program: a recording in the temporary folder, totals by type, answers by SQL. The tests
 * start themselves a second time as the process that is watched, or killed. */
#ifndef TEST_WINDOWS_WIN_HOST_H
#define TEST_WINDOWS_WIN_HOST_H

static char host_db[1100];

#include "support/host_ask.h"

#include "base/os/windows/win_api.h"

static char host_folder[1024];

static inline void host_delete(void)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    wchar_t wide[1200];
    char path[1200];

    for (unsigned i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", host_db, endings[i]);
        if (mt_win_wide(path, wide, sizeof(wide) / sizeof(wide[0])))
            DeleteFileW(wide);
    }
}

/* The name has a letter that is not ASCII. */
static inline int host_begin(void **state)
{
    wchar_t folder[512];
    DWORD units = GetTempPathW(512, folder);

    (void)state;
    if (!mt_win_utf8(folder, units, host_folder, sizeof(host_folder)))
        return -1;
    snprintf(host_db, sizeof(host_db), "%smemtracer-\xc3\xa4-%lu.db", host_folder,
             GetCurrentProcessId());
    host_delete();
    return 0;
}

static inline int host_end(void **state)
{
    (void)state;
    host_delete();
    return 0;
}

static inline tracer *host_start(uint32_t interval_ms, uint32_t pid)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;
    int error;

    o.interval_ms = interval_ms;
    o.pid = pid;
    error = tracer_start(host_db, &o, &t);
    if (error)
        fail_msg("%s: %s", tracer_error_name(error), tracer_last_error());
    return t;
}

/* Starts this program with an argument, the recording's path in its environment; its standard
 * output is read by host_wait_ready(). */
static inline PROCESS_INFORMATION host_spawn(const wchar_t *word, HANDLE *out_pipe)
{
    SECURITY_ATTRIBUTES inherit = {sizeof(inherit), NULL, TRUE};
    STARTUPINFOW start = {.cb = sizeof(start), .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION child;
    wchar_t exe[1024], command[1200], path[1200];

    assert_true(mt_win_wide(host_db, path, 1200));
    assert_true(SetEnvironmentVariableW(L"MEMTRACER_TEST_DB", path));
    assert_true(GetModuleFileNameW(NULL, exe, 1024));
    assert_true(swprintf(command, 1200, L"\"%ls\" %ls", exe, word) > 0);
    assert_true(CreatePipe(out_pipe, &start.hStdOutput, &inherit, 0));
    assert_true(CreateProcessW(exe, command, NULL, NULL, TRUE, 0, NULL, NULL, &start, &child));
    CloseHandle(start.hStdOutput);
    return child;
}

/* The path in the second process. */
static inline void host_take_path(void)
{
    wchar_t path[1200];
    DWORD units = GetEnvironmentVariableW(L"MEMTRACER_TEST_DB", path, 1200);

    mt_win_utf8(path, units, host_db, sizeof(host_db));
}

/* The child writes one byte when it is where the test wants it. */
static inline void host_wait_ready(HANDLE pipe)
{
    char byte;
    DWORD n;

    assert_true(ReadFile(pipe, &byte, 1, &n, NULL) && n == 1);
}

static inline void host_say_ready(void)
{
    DWORD n;

    WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), ".", 1, &n, NULL);
}

#endif
