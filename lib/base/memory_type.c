/* SPDX-License-Identifier: MIT */
/* base: the table of types as text.
 * In: ids. Out: names for the file, the CLI and the bindings. Called from every room. */
#include "base/memory_type.h"

#include <stddef.h>

const char *mt_type_name(uint32_t type)
{
    switch (type) {
#define MT_TYPE(name, id, text, description)                                                       \
    case id:                                                                                       \
        return text;
#include "base/memory_type.def"
#undef MT_TYPE
    }
    return NULL;
}

bool mt_type_level_equal(const struct mt_type_level *a, const struct mt_type_level *b)
{
    if (a->known != b->known)
        return false;
    for (unsigned c = 0; c < MT_COLUMN_COUNT; c++)
        if ((a->known >> c & 1u) && a->value[c] != b->value[c])
            return false;
    return true;
}
