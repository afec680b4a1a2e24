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

/* A return address stands behind the call: what called is one before. */
void symbols_name(struct symbols *s, const char *path, const char *build_id, uint64_t offset,
                  char out[SYMBOL_BYTES])
{
    char symbol[SYMBOL_BYTES];

    if (!*path)
        snprintf(out, SYMBOL_BYTES, "0x%" PRIx64, offset);
    else if (symbols_look_up(s, path, build_id, offset - 1, symbol))
        snprintf(out, SYMBOL_BYTES, "%.800s [%.200s]", symbol, base_name(path));
    else
        snprintf(out, SYMBOL_BYTES, "%.960s+0x%" PRIx64, path, offset);
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

    if (!path || !offset || !site || path->kind != TRACER_VALUE_TEXT)
        return;
    symbols_name(e->symbols, path->bytes,
                 build_id && build_id->kind == TRACER_VALUE_TEXT ? build_id->bytes : "",
                 (uint64_t)offset->integer, e->text);
    *site = (tracer_value){TRACER_VALUE_TEXT, (uint32_t)strlen(e->text), 0, 0, e->text};
}
