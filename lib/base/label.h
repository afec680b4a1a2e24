/* SPDX-License-Identifier: MIT */
/* Texts of the host's, kept in a place of fixed size. */
#ifndef MT_BASE_LABEL_H
#define MT_BASE_LABEL_H

#include <stddef.h>

/* Copies as much of `text` as fits, and a NUL. A character of UTF-8 that would not fit whole is
 * left out, so that a text stays one that every language can read; other bytes are kept as they
 * are. `out_bytes` ≥ 1. */
void mt_label_copy(char *out, size_t out_bytes, const char *text);

#endif
