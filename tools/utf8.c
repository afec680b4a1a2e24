/* SPDX-License-Identifier: MIT */
/* tools: foreign bytes → characters, harmless text, widths.
 * In: any bytes. Out: what a terminal may see. Called by out_table.c, out_json.c, complain().
 * Must not depend on the locale: what is hostile is so everywhere. */
#include "utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "terminal.h"

/* By length of the character: payload mask of the first byte, least value. */
static const struct {
    uint32_t mask, least;
} forms[] = {{0, 0}, {0x7f, 0}, {0x1f, 0x80}, {0x0f, 0x800}, {0x07, 0x10000}};

static size_t length_by_first(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

uint32_t text_first(const char *s, size_t n, size_t *out_length)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t length = length_by_first(p[0]);
    uint32_t c = p[0] & forms[length].mask;

    *out_length = 1;
    if (length == 0 || length > n)
        return TEXT_INVALID;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return TEXT_INVALID;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < forms[length].least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return TEXT_INVALID;
    *out_length = length;
    return c;
}

bool text_is_hostile(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return c == TEXT_INVALID;
}

static size_t spell(char *out, size_t room, uint32_t c, unsigned char byte)
{
    if (c == '\n' || c == '\t' || c == '\r')
        return (size_t)snprintf(out, room, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
    if (c == TEXT_INVALID || c < 0x80)
        return (size_t)snprintf(out, room, "\\x%02x", byte);
    return (size_t)snprintf(out, room, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
}

size_t text_spell_out(const char *s, size_t n, char *out)
{
    size_t room = TEXT_HARMLESS_BYTES(n), used = 0, length;

    for (size_t i = 0; i < n; i += length) {
        uint32_t c = text_first(s + i, n - i, &length);

        if (text_is_hostile(c)) {
            used += spell(out + used, room - used, c, (unsigned char)s[i]);
        } else {
            memcpy(out + used, s + i, length);
            used += length;
        }
    }
    out[used] = '\0';
    return used;
}

char *text_harmless(const char *s, size_t n)
{
    char *out = need(malloc(TEXT_HARMLESS_BYTES(n)));

    return need(realloc(out, text_spell_out(s, n, out) + 1));
}

size_t text_width(const char *s)
{
    size_t n = strlen(s), width = 0, length;

    for (size_t i = 0; i < n; i += length)
        width += terminal_cells(text_first(s + i, n - i, &length));
    return width;
}
