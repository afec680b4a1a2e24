/* SPDX-License-Identifier: MIT */
/* tests: os_help.h for Windows. */
#include "support/os_help.h"

#include <stdio.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#define KILLED_CODE 0x4b494c4cu

bool os_temporary_folder(char *out, size_t out_bytes)
{
    static unsigned n_made;
    char base[MAX_PATH];
    int n;

    if (!GetTempPathA(MAX_PATH, base))
        return false;
    for (char *p = base; *p; p++)
        if (*p == '\\')
            *p = '/';
    n = snprintf(out, out_bytes, "%smemtracer_test_%lu_%u", base, GetCurrentProcessId(), n_made++);
    return n > 0 && (size_t)n < out_bytes && CreateDirectoryA(out, NULL);
}

bool os_make_folder(const char *path)
{
    return CreateDirectoryA(path, NULL) != 0;
}

int os_run_self(const char *word, const char *argument)
{
    STARTUPINFOA start = {.cb = sizeof(start)};
    PROCESS_INFORMATION child;
    char exe[MAX_PATH], command[2048];
    DWORD code = 127;

    if (!GetModuleFileNameA(NULL, exe, MAX_PATH))
        return 127;
    snprintf(command, sizeof(command), "\"%s\" \"%s\" \"%s\"", exe, word, argument);
    if (!CreateProcessA(exe, command, NULL, NULL, TRUE, 0, NULL, NULL, &start, &child))
        return 127;
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &code);
    CloseHandle(child.hThread);
    CloseHandle(child.hProcess);
    return code == KILLED_CODE ? OS_KILLED : (int)code;
}

_Noreturn void os_kill_self(void)
{
    TerminateProcess(GetCurrentProcess(), KILLED_CODE);
    for (;;)
        Sleep(INFINITE);
}
