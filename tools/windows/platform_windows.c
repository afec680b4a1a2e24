/* SPDX-License-Identifier: MIT */
/* tools: interrupts and time for `record`, on Windows; `run` is not there: programs are not
 * preloaded there.
 * Uses: SetConsoleCtrlHandler, Sleep, QueryPerformanceCounter (Windows 2000). */
#include <direct.h>
#include <errno.h>
#include <sys/stat.h>
#include <windows.h>

#include "../command.h"
#include "../platform.h"

static volatile LONG interrupted;

static BOOL WINAPI note_interrupt(DWORD kind)
{
    (void)kind;
    InterlockedExchange(&interrupted, 1);
    return TRUE;
}

void platform_hold_interrupts(void)
{
    SetConsoleCtrlHandler(note_interrupt, TRUE);
}

bool platform_wait(int64_t ns)
{
    Sleep((DWORD)(ns / 1000000));
    return interrupted != 0;
}

bool platform_is_there(const char *path)
{
    return GetFileAttributesA(path) != INVALID_FILE_ATTRIBUTES;
}

bool platform_is_irregular(const char *path)
{
    struct stat s;

    return !stat(path, &s) && !S_ISREG(s.st_mode);
}

int64_t platform_file_bytes(const char *path)
{
    struct __stat64 s;

    return !_stat64(path, &s) && S_ISREG(s.st_mode) ? s.st_size : -1;
}

/* rename() does not go over a file that is there. */
int platform_rename(const char *from, const char *to)
{
    if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING))
        return 0;
    errno = GetLastError() == ERROR_ACCESS_DENIED ? EACCES : EIO;
    return -1;
}

FILE *platform_new_file(const char *path)
{
    return fopen(path, "wb");
}

int platform_make_folder(const char *path)
{
    if (!_mkdir(path))
        return 1;
    return errno == EEXIST ? 0 : -1;
}

void platform_remove_folder(const char *path)
{
    _rmdir(path);
}

int64_t platform_monotonic_ns(void)
{
    LARGE_INTEGER count, per_second;

    QueryPerformanceFrequency(&per_second);
    QueryPerformanceCounter(&count);
    return (int64_t)((double)count.QuadPart * 1e9 / (double)per_second.QuadPart);
}

int launch_program(const struct launch *l, struct launched *out)
{
    (void)l;
    (void)out;
    complain("run: not on this system; start the program, then: memtracer record --pid PID");
    return TOOL_ENVIRONMENT;
}
