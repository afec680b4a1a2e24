/* SPDX-License-Identifier: MIT */
/* Names, kept once: paths, labels, owners, thread names. Bytes are kept as they are.
 * One thread only. Ids are stable for the life of the table; 0 is the empty string. */
#ifndef MT_BASE_STRINGS_H
#define MT_BASE_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct mt_strings;

/* Room for about `n_strings` strings in `text_bytes` bytes; address space is reserved, pages are
 * touched as they fill. */
int mt_strings_new(uint32_t n_strings, size_t text_bytes, struct mt_strings **out);
void mt_strings_free(struct mt_strings *s);

/* Names that begin with `prefix` are of a kind that decides something: in a full table what stands
 * for them begins so, too, and `prefix` itself is a name that has room. To be told first of all. */
void mt_strings_keep_kind(struct mt_strings *s, const char *prefix);

/* The id of these bytes. When the table is full, that of "PREFIX (name table full)", the longest
 * prefix of a kind, or of "(name table full)". */
uint32_t mt_strings_add(struct mt_strings *s, const char *bytes, size_t n_bytes);

/* The id of the text of a printf. */
uint32_t mt_strings_addf(struct mt_strings *s, const char *format, ...) MT_PRINTF(2, 3);

/* True once a name had no room. */
bool mt_strings_has_refused(const struct mt_strings *s);
/* True where the id stands for names that had no room. */
bool mt_strings_stands_in(const struct mt_strings *s, uint32_t id);

/* The bytes of an id, NUL-terminated; never NULL. `out_bytes` may be NULL. */
const char *mt_strings_get(const struct mt_strings *s, uint32_t id, size_t *out_bytes);

/* Number of ids in use, the empty one included: ids are below it. */
uint32_t mt_strings_count(const struct mt_strings *s);

#endif
