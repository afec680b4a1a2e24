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

static inline int mt_cursor_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

/* An unsigned number of `base`; false without a digit and when it does not fit in 64 bits. */
static inline bool mt_cursor_number(struct mt_cursor *c, unsigned base, uint64_t *out)
{
    const char *first = c->at;
    uint64_t value = 0;

    for (; c->at < c->end; c->at++) {
        unsigned digit = (unsigned)mt_cursor_digit(*c->at);

        if (digit >= base)
            break;
        if (value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    *out = value;
    return c->at > first;
}

#endif
