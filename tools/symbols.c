/* SPDX-License-Identifier: MIT */
/* tools: call sites in words. In: files, build-ids and offsets of a recording. Out: names.
 * Called by the commands that show call sites. */
#include "symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

void symbols_name(struct symbols *s, const struct code_place *place, char out[SYMBOL_BYTES])
{
    char symbol[SYMBOL_BYTES];

    if (!*place->path)
        snprintf(out, SYMBOL_BYTES, "0x%" PRIx64, place->offset);
    else if (symbols_look_up(s, place->path, place->build_id, place->offset - place->is_return,
                             symbol))
        snprintf(out, SYMBOL_BYTES, "%.800s [%.200s]", symbol, base_name(place->path));
    else
        snprintf(out, SYMBOL_BYTES, "%.960s+0x%" PRIx64, place->path, place->offset);
}

static tracer_value *column(uint32_t n, const char *const *names, tracer_value *values,
                            const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return &values[i];
    return NULL;
}

void symbols_edit(void *user, uint32_t n_columns, const char *const *names, tracer_value *values)
{
    struct symbols_editor *e = user;
    const tracer_value *path = column(n_columns, names, values, "site_path");
    const tracer_value *build_id = column(n_columns, names, values, "site_build_id");
    const tracer_value *offset = column(n_columns, names, values, "site_offset");
    tracer_value *site = column(n_columns, names, values, "site");
    struct code_place place;

    if (!path || !offset || !site || path->kind != TRACER_VALUE_TEXT)
        return;
    place = (struct code_place){path->bytes, "", (uint64_t)offset->integer, e->is_return};
    if (build_id && build_id->kind == TRACER_VALUE_TEXT)
        place.build_id = build_id->bytes;
    symbols_name(e->symbols, &place, e->text);
    *site = (tracer_value){TRACER_VALUE_TEXT, (uint32_t)strlen(e->text), 0, 0, e->text};
}
