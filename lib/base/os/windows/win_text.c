/* SPDX-License-Identifier: MIT */
/* base/os/windows: text and optional functions, for the Windows folders of all rooms.
 * In: UTF-8 or UTF-16. Out: the other one. Must not allocate.
 * Uses: MultiByteToWideChar, WideCharToMultiByte; ntdll!wine_get_version (Wine only). */
#include "base/os/windows/win_api.h"

bool mt_win_wide(const char *text, wchar_t *out, size_t out_units)
{
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, (int)out_units) > 0;
}

size_t mt_win_utf8(const wchar_t *text, size_t units, char *out, size_t out_bytes)
{
    int n = 0;

    if (units > 0 && out_bytes > 1)
        n = WideCharToMultiByte(CP_UTF8, 0, text, (int)units, out, (int)out_bytes - 1, NULL, NULL);
    if (out_bytes > 0)
        out[n] = '\0';
    return (size_t)n;
}

FARPROC mt_win_procedure(const char *library, const char *name)
{
    HMODULE module = GetModuleHandleA(library);

    return module ? GetProcAddress(module, name) : NULL;
}

bool mt_win_is_wine(void)
{
    return mt_win_procedure("ntdll.dll", "wine_get_version") != NULL;
}
