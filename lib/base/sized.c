/* SPDX-License-Identifier: MIT */
/* base: a struct of another version of the header → one of this build.
 * In: the caller's struct and a table of its fields. Out: a complete struct, or a sentence.
 * Called by api/ and read/. Must not read past the size that the struct says. */
#include "base/sized.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

static uint32_t size_of(const void *given)
{
    uint32_t size;

    memcpy(&size, given, sizeof(size));
    return size;
}

/* No version of the header had such a size: half a pointer would be taken for a whole one. */
static const struct mt_field *field_cut(const struct mt_sized *kind, uint32_t size)
{
    for (size_t i = 0; i < kind->n_fields; i++)
        if (size > kind->fields[i].begin && size < kind->fields[i].end)
            return &kind->fields[i];
    return NULL;
}

int mt_sized_check(const struct mt_sized *kind, const void *given)
{
    const struct mt_field *cut;
    uint32_t size;

    if (!given)
        return mt_error_set(TRACER_EINVAL, "%s is missing", kind->name);
    size = size_of(given);
    if (size < sizeof(size) || size > MT_SIZED_BYTES_MOST)
        return mt_error_set(TRACER_EINVAL, "%s.size is %" PRIu32 "; set it to sizeof(%s)",
                            kind->name, size, kind->name);
    cut = field_cut(kind, size);
    if (cut)
        return mt_error_set(TRACER_EINVAL,
                            "%s.size is %" PRIu32 ", which ends inside field %s; set it to "
                            "sizeof(%s)",
                            kind->name, size, cut->name, kind->name);
    return TRACER_OK;
}

int mt_sized_take(const struct mt_sized *kind, const void *given, void *out)
{
    const unsigned char *bytes = given;
    int error = mt_sized_check(kind, given);
    uint32_t size, own = (uint32_t)kind->bytes;

    if (error)
        return error;
    size = size_of(given);
    for (uint32_t i = own; i < size; i++)
        if (bytes[i])
            return mt_error_set(TRACER_EVERSION,
                                "%s carries a field at byte %" PRIu32
                                " that memtracer " TRACER_VERSION_STRING " does not know",
                                kind->name, i);
    memset(out, 0, own);
    memcpy(out, given, size < own ? size : own);
    memcpy(out, &own, sizeof(own));
    return TRACER_OK;
}
