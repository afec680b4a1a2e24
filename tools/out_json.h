/* SPDX-License-Identifier: MIT */
/* A small JSON writer on stdout. Keys NULL inside arrays. Text is made valid: what is no UTF-8
 * becomes U+FFFD, hostile characters are escaped. Addresses are hexadecimal text. */
#ifndef MEMTRACER_TOOLS_OUT_JSON_H
#define MEMTRACER_TOOLS_OUT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "memtracer/reader.h"

struct json {
    FILE *file;
    int depth;
    bool comma;       /* something stands before at this depth */
    bool compact;     /* one line, without blanks */
    bool inside_html; /* < > & are escaped: the text may stand in an HTML element */
};

#define JSON_STDOUT                                                                                \
    {                                                                                              \
        stdout, 0, false, false, false                                                             \
    }

void json_open(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);                 /* '}' or ']' */
void json_text(struct json *j, const char *key, const char *text, size_t n);
void json_string(struct json *j, const char *key, const char *text);
void json_integer(struct json *j, const char *key, int64_t value);
void json_real(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
void json_address(struct json *j, const char *key, int64_t value);
void json_value(struct json *j, const char *key, const tracer_value *value);

#endif
