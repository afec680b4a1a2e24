/* SPDX-License-Identifier: MIT */
/* Reading a line from left to right, by what stands there and never by its column. */
#ifndef MT_SOURCE_LINUX_CURSOR_H
#define MT_SOURCE_LINUX_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

struct mt_cursor {
    const char *at;
    const char *end;
};

static inline void mt_cursor_blanks(struct mt_cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
        c->at++;
}

static inline bool mt_cursor_char(struct mt_cursor *c, char expected)
{
    if (c->at == c->end || *c->at != expected)
        return false;
    c->at++;
    return true;
}

/* What a hexadecimal digit is worth; 99 = none. */
static inline unsigned mt_cursor_digit(char c)
{
    unsigned decimal = (unsigned)(unsigned char)c - '0';
    unsigned letter = ((unsigned)(unsigned char)c | 0x20u) - 'a';

    if (decimal < 10)
        return decimal;
    return letter < 6 ? letter + 10 : 99;
}

/* An unsigned number of `base`; false without a digit and when it does not fit in 64 bits. Inlined
 * with a constant base, the limits are constants: a list has millions of digits. */
static inline bool mt_cursor_number(struct mt_cursor *c, unsigned base, uint64_t *out)
{
    const uint64_t most = UINT64_MAX / base, last = UINT64_MAX % base;
    const char *first = c->at, *at = first, *end = c->end;
    uint64_t value = 0;

    for (; at < end; at++) {
        unsigned digit = mt_cursor_digit(*at);

        if (digit >= base)
            break;
        if (value > most || (value == most && digit > last)) {
            c->at = at;
            return false;
        }
        value = value * base + digit;
    }
    c->at = at;
    *out = value;
    return at > first;
}

#endif
