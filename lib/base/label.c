/* SPDX-License-Identifier: MIT */
/* base: a label, description or sentence in a place of fixed size.
 * In: a text of any length. Out: its beginning. Called by api; must not allocate. */
#include "base/label.h"

#include <stdbool.h>
#include <string.h>

#define CONTINUATIONS 3 /* a character has 4 bytes at most */

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Where to cut before text[n], which is the first byte that does not fit. */
static size_t before_character(const char *text, size_t n)
{
    for (size_t back = 0; back <= CONTINUATIONS && back <= n; back++)
        if (!continues(text[n - back]))
            return n - back;
    return n; /* no UTF-8 */
}

void mt_label_copy(char *out, size_t out_bytes, const char *text)
{
    const char *end = memchr(text, '\0', out_bytes);
    size_t n = end ? (size_t)(end - text) : before_character(text, out_bytes - 1);

    memcpy(out, text, n);
    out[n] = '\0';
}
