/* SPDX-License-Identifier: MIT */
/* base: error codes to words, and the per-thread detail of the last failure.
 * In: a code and a sentence from any room. Out: text for api/.
 * Must not allocate: it is called when nothing else works. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static MT_THREAD_LOCAL char detail[MT_ERROR_DETAIL_BYTES];

int mt_error_set(int code, const char *format, ...)
{
    char text[MT_ERROR_DETAIL_BYTES]; /* an argument may be the old detail */
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    memcpy(detail, text, sizeof(detail));
    for (char *p = detail; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    return code;
}

const char *mt_error_detail(void)
{
    return detail;
}

const char *mt_error_sentence(int code)
{
    switch (code) {
#define MT_ERROR(name, value, sentence)                                                            \
    case value:                                                                                    \
        return sentence;
#include "base/error.def"
#undef MT_ERROR
    }
    return "unknown error code";
}

const char *mt_error_name(int code)
{
    switch (code) {
#define MT_ERROR(name, value, sentence)                                                            \
    case value:                                                                                    \
        return value ? "TRACER_" #name : "TRACER_OK";
#include "base/error.def"
#undef MT_ERROR
    }
    return NULL;
}
