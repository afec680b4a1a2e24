/* SPDX-License-Identifier: MIT */
/* Text from files and other programs: any bytes, perhaps meant to harm a terminal. */
#ifndef MEMTRACER_TOOLS_UTF8_H
#define MEMTRACER_TOOLS_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_INVALID 0xffffffffu

/* The first character of the n ≥ 1 bytes at s and its length; TEXT_INVALID and 1 where the bytes
 * are no UTF-8 (overlong forms, surrogates and values above U+10FFFF included). */
uint32_t text_first(const char *s, size_t n, size_t *out_length);

/* True for what must not reach a terminal: control characters, line and paragraph separators,
 * marks that reorder text. */
bool text_is_hostile(uint32_t c);

/* At most so long are n bytes when they are spelled out, the NUL behind them included. */
#define TEXT_HARMLESS_BYTES(n) (10 * (n) + 1)

/* The same bytes with hostile characters spelled out, in a place of TEXT_HARMLESS_BYTES(n); returns
 * their length. */
size_t text_spell_out(const char *s, size_t n, char *out);

/* A new string in which hostile characters are spelled out: \n, \x1b, \u202e, \xff. */
char *text_harmless(const char *s, size_t n);

/* How many terminal cells a harmless string takes. */
size_t text_width(const char *s);

#endif
