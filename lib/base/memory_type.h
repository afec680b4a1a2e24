/* SPDX-License-Identifier: MIT */
/* The nouns of the result: memory types (rows), state columns, and one type's bytes. */
#ifndef MT_BASE_MEMORY_TYPE_H
#define MT_BASE_MEMORY_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "memtracer/memtracer.h"

enum mt_type {
    MT_TYPE_NONE = 0,
#define MT_TYPE(name, id, text, description) MT_TYPE_##name = id,
#include "base/memory_type.def"
#undef MT_TYPE
    MT_TYPE_BUILTIN_END,
    MT_TYPE_USER_FIRST = TRACER_TYPE_USER_FIRST,
    MT_TYPE_CAPACITY = TRACER_TYPE_CAPACITY
};

enum mt_column {
#define MT_COLUMN(name, number, column, field, unit, description) MT_COLUMN_##name = number,
#include "base/state_column.def"
#undef MT_COLUMN
    MT_COLUMN_COUNT
};

#define MT_COLUMNS_ALL ((1u << MT_COLUMN_COUNT) - 1u)

/* One type's values by column; a column without its bit in `known` is unknown (NULL). */
struct mt_type_level {
    uint32_t known;
    int64_t value[MT_COLUMN_COUNT];
};

/* All types at one moment. `present` has a bit for each type that exists in this run. */
struct mt_levels {
    uint64_t present;
    struct mt_type_level type[MT_TYPE_CAPACITY];
};

/* The built-in name of a type; NULL for other ids. */
const char *mt_type_name(uint32_t type);

/* True when both have the same known columns with the same values. */
bool mt_type_level_equal(const struct mt_type_level *a, const struct mt_type_level *b);

#endif
