/* SPDX-License-Identifier: MIT */
/* base/os/windows: the Windows headers and the few helpers that the Windows folders share. Paths
 * are UTF-8 everywhere above; only calls of the system see UTF-16. */
#ifndef MT_BASE_OS_WIN_API_H
#define MT_BASE_OS_WIN_API_H

#define WIN32_LEAN_AND_MEAN
#define PSAPI_VERSION 2
#include <windows.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_WIN_PATH_UNITS 32768 /* the longest path the system takes, with its NUL */

/* UTF-8 → UTF-16, NUL-terminated. False = does not fit or is no UTF-8. */
bool mt_win_wide(const char *text, wchar_t *out, size_t out_units);

/* UTF-16 of `units` code units → UTF-8, NUL-terminated; lone surrogates become U+FFFD. Returns
 * the bytes written, 0 = empty or does not fit. */
size_t mt_win_utf8(const wchar_t *text, size_t units, char *out, size_t out_bytes);

/* A function of a loaded system library, NULL = this system has none. Pointers to functions
 * cannot be converted from other pointers in C: the caller copies the bits. */
FARPROC mt_win_procedure(const char *library, const char *name);

/* True under Wine, whose answers are known to be made up here and there. */
bool mt_win_is_wine(void);

#endif
