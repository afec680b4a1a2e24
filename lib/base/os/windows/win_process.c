/* SPDX-License-Identifier: MIT */
/* base/os/windows: process identity, paths, keeping the library loaded.
 * Called by api/ in the host's threads and by sampler/. Must not allocate.
 * Uses: GetFullPathNameW; GetModuleHandleExW with PIN; RtlGenRandom. There is no fork(). */
#include "base/os/os.h"
#include "base/os/windows/win_api.h"

#include <ntsecapi.h>
#include <string.h>
#include <wchar.h>

#define PATH_UNITS 4096

uint32_t mt_os_process_id(void)
{
    return GetCurrentProcessId();
}

uint32_t mt_os_fork_generation(void)
{
    return 1;
}

bool mt_os_path_absolute(const char *path, char *out, size_t out_bytes)
{
    wchar_t given[PATH_UNITS], full[PATH_UNITS];
    DWORD units;

    if (!mt_win_wide(path, given, PATH_UNITS))
        return false;
    units = GetFullPathNameW(given, PATH_UNITS, full, NULL);
    return units > 0 && units < PATH_UNITS && mt_win_utf8(full, units, out, out_bytes) > 0;
}

/* The full path of a device has a form of its own (that of NUL is \\.\NUL); looking at its
 * attributes could already open it. */
bool mt_os_path_irregular(const char *path)
{
    wchar_t given[PATH_UNITS], full[PATH_UNITS];
    DWORD units, attributes;

    if (!mt_win_wide(path, given, PATH_UNITS))
        return false;
    units = GetFullPathNameW(given, PATH_UNITS, full, NULL);
    if (units == 0 || units >= PATH_UNITS || !wcsncmp(full, L"\\\\.\\", 4))
        return true;
    attributes = GetFileAttributesW(full);
    return attributes != INVALID_FILE_ATTRIBUTES &&
           (attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE));
}

void mt_os_library_pin(void)
{
    static const char here;
    HMODULE module;

    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                       (const wchar_t *)(const void *)&here, &module);
}

/* An ended process still has its id while somebody holds a handle to it. */
bool mt_os_process_alive(uint32_t pid)
{
    HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, pid);
    bool alive;

    if (!process)
        return GetLastError() == ERROR_ACCESS_DENIED;
    alive = WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
    CloseHandle(process);
    return alive;
}

void mt_os_random(void *out, size_t bytes)
{
    uint64_t mix = (uint64_t)mt_os_monotonic_ns() ^ (uint64_t)GetCurrentProcessId() << 32;
    unsigned char *p = out;

    if (RtlGenRandom(out, (ULONG)bytes))
        return;
    for (size_t i = 0; i < bytes; i++) {
        mix = mix * 6364136223846793005u + 1442695040888963407u;
        p[i] = (unsigned char)(mix >> 33);
    }
}
