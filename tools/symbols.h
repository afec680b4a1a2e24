/* SPDX-License-Identifier: MIT */
/* Names for code: a file, its build-id and an offset → "function at file:line". Behind the Meson
 * feature `symbols` (elfutils); without it, or where the file is gone or another build now, the
 * name is "file+0xoffset". */
#ifndef MEMTRACER_TOOLS_SYMBOLS_H
#define MEMTRACER_TOOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtracer/reader.h"

#define SYMBOL_BYTES 1024

struct symbols; /* opaque; keeps files open */

struct symbols *symbols_new(void);
void symbols_free(struct symbols *s);

/* What symbols_dw.c or symbols_none.c can do: the function with its line; false = not known.
 * `build_id` is hexadecimal, "" = any; `offset` is an address of an instruction. */
bool symbols_look_up(struct symbols *s, const char *path, const char *build_id, uint64_t offset,
                     char out[SYMBOL_BYTES]);

struct code_place {
    const char *path;
    const char *build_id; /* "" = any */
    uint64_t offset;
    bool is_return; /* a return address: the call stands before it */
};

/* The place in words; always some. */
void symbols_name(struct symbols *s, const struct code_place *place, char out[SYMBOL_BYTES]);

/* An editor of rows (answer.h): fills the column "site" from site_path, site_build_id and
 * site_offset, where those are known. */
struct symbols_editor {
    struct symbols *symbols;
    bool is_return;
    char text[SYMBOL_BYTES];
};
void symbols_edit(void *user, uint32_t n_columns, const char *const *names, tracer_value *values);

#endif
