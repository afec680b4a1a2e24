/* SPDX-License-Identifier: MIT */
/* api: words and versions; need no tracer. Keeps the public constants equal to the tables. */
#include "base/error.h"
#include "base/memory_type.h"

#define MT_TYPE(name, id, text, description)                                                       \
    _Static_assert(TRACER_TYPE_##name == id, "memtracer.h and memory_type.def differ");
#include "base/memory_type.def"
#undef MT_TYPE

#define MT_COLUMN(name, number, column, field, unit, description)                                  \
    _Static_assert(TRACER_COLUMN_##name == number, "memtracer.h and state_column.def differ");
#include "base/state_column.def"
#undef MT_COLUMN

#define MT_ERROR(name, value, sentence)                                                            \
    _Static_assert(TRACER_##name == value, "memtracer.h and error.def differ");
#include "base/error.def"
#undef MT_ERROR

const char *tracer_type_name(uint32_t type)
{
    return mt_type_name(type);
}

const char *tracer_strerror(int code)
{
    return mt_error_sentence(code);
}

const char *tracer_error_name(int code)
{
    return mt_error_name(code);
}

const char *tracer_last_error(void)
{
    return mt_error_detail();
}

uint32_t tracer_version(void)
{
    return TRACER_VERSION;
}

const char *tracer_version_string(void)
{
    return TRACER_VERSION_STRING;
}
