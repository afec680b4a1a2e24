/* SPDX-License-Identifier: MIT */
/* The only place for compiler extensions. */
#ifndef MT_BASE_COMPILER_H
#define MT_BASE_COMPILER_H

/* Which printf the C library has; the build says gnu_printf where that is not the default. */
#ifndef MT_PRINTF_STYLE
#define MT_PRINTF_STYLE printf
#endif

#if defined(__GNUC__)
#define MT_PRINTF(format_at, first) __attribute__((format(MT_PRINTF_STYLE, format_at, first)))
#define MT_THREAD_LOCAL __thread
#define MT_UNUSED __attribute__((unused))
#define MT_CONSTRUCTOR __attribute__((constructor)) /* runs when the library is loaded */
#else
#define MT_PRINTF(format_at, first)
#define MT_THREAD_LOCAL _Thread_local
#define MT_UNUSED
#define MT_CONSTRUCTOR
#endif

#define MT_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
