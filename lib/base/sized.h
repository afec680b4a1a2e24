/* SPDX-License-Identifier: MIT */
/* Public structs that begin with their size: an older program's is shorter, a newer one's longer.
 * Every function that takes one checks it here. */
#ifndef MT_BASE_SIZED_H
#define MT_BASE_SIZED_H

#include <stddef.h>
#include <stdint.h>

#define MT_SIZED_BYTES_MOST 4096u /* more is a size that nobody has set */

struct mt_field {
    const char *name;
    size_t begin, end;
};

struct mt_sized {
    const char *name; /* "tracer_options" */
    size_t bytes;
    const struct mt_field *fields; /* all of them, in order */
    size_t n_fields;
};

#define MT_FIELD(type, field)                                                                      \
    {                                                                                              \
#field, offsetof(type, field), offsetof(type, field) + sizeof(((type *)0)->field)          \
    }
#define MT_SIZED(type, fields)                                                                     \
    {                                                                                              \
#type, sizeof(type), fields, sizeof(fields) / sizeof((fields)[0])                          \
    }

/* A size that holds itself, ends between two fields and is not absurd; else EINVAL and a sentence
 * with the struct's name. `given` is the struct, NULL is EINVAL too. */
int mt_sized_check(const struct mt_sized *kind, const void *given);

/* Into `out`, a struct of this build: the known part, zeros behind it, its own size. EINVAL as
 * above; EVERSION for a byte that is not zero where this build has no field. */
int mt_sized_take(const struct mt_sized *kind, const void *given, void *out);

#endif
