/* SPDX-License-Identifier: MIT */
/* tools: values → JSON (RFC 8259) on stdout.
 * In: keys and values in order. Out: one object or array, indented by two, a newline at its end.
 * Called by the commands under --json. Keeps 64-bit integers whole. */
#include "out_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "utf8.h"

static void put_escaped(struct json *j, uint32_t c, const char *bytes, size_t n)
{
    if (c == TEXT_INVALID)
        fputs("\xef\xbf\xbd", j->file);
    else if (c == '"' || c == '\\')
        fprintf(j->file, "\\%c", (char)c);
    else if (c == '\n')
        fputs("\\n", j->file);
    else if (c == '\t')
        fputs("\\t", j->file);
    else if (j->inside_html && (c == '<' || c == '>' || c == '&'))
        fprintf(j->file, "\\u%04" PRIx32, c);
    else if (!text_is_hostile(c))
        fwrite(bytes, 1, n, j->file);
    else if (c <= 0xffff)
        fprintf(j->file, "\\u%04" PRIx32, c);
    else
        fprintf(j->file, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
}

static void put_string(struct json *j, const char *text, size_t n)
{
    size_t length;

    fputc('"', j->file);
    for (size_t i = 0; i < n; i += length) {
        uint32_t c = text_first(text + i, n - i, &length);

        put_escaped(j, c, text + i, length);
    }
    fputc('"', j->file);
}

static void new_line(struct json *j)
{
    if (!j->compact)
        fprintf(j->file, "\n%*s", 2 * j->depth, "");
}

static void begin(struct json *j, const char *key)
{
    if (j->comma)
        fputc(',', j->file);
    if (j->depth > 0)
        new_line(j);
    if (key) {
        put_string(j, key, strlen(key));
        fputs(j->compact ? ":" : ": ", j->file);
    }
    j->comma = true;
}

void json_open(struct json *j, const char *key, char bracket)
{
    begin(j, key);
    fputc(bracket, j->file);
    j->depth++;
    j->comma = false;
}

void json_close(struct json *j, char bracket)
{
    j->depth--;
    if (j->comma)
        new_line(j);
    fputc(bracket, j->file);
    j->comma = true;
    if (j->depth == 0)
        fputc('\n', j->file);
}

void json_text(struct json *j, const char *key, const char *text, size_t n)
{
    begin(j, key);
    put_string(j, text, n);
}

void json_string(struct json *j, const char *key, const char *text)
{
    json_text(j, key, text, strlen(text));
}

void json_integer(struct json *j, const char *key, int64_t value)
{
    begin(j, key);
    fprintf(j->file, "%" PRId64, value);
}

void json_real(struct json *j, const char *key, double value)
{
    begin(j, key);
    if (isfinite(value))
        fprintf(j->file, "%.15g", value);
    else
        fputs("null", j->file);
}

void json_bool(struct json *j, const char *key, bool value)
{
    begin(j, key);
    fputs(value ? "true" : "false", j->file);
}

void json_null(struct json *j, const char *key)
{
    begin(j, key);
    fputs("null", j->file);
}

void json_address(struct json *j, const char *key, int64_t value)
{
    begin(j, key);
    fprintf(j->file, "\"0x%012" PRIx64 "\"", (uint64_t)value);
}

static void put_blob(struct json *j, const char *key, const tracer_value *value)
{
    begin(j, key);
    fputc('"', j->file);
    for (uint32_t i = 0; i < value->n_bytes; i++)
        fprintf(j->file, "%02x", (unsigned char)value->bytes[i]);
    fputc('"', j->file);
}

void json_value(struct json *j, const char *key, const tracer_value *value)
{
    switch (value->kind) {
    case TRACER_VALUE_INTEGER: json_integer(j, key, value->integer); return;
    case TRACER_VALUE_REAL: json_real(j, key, value->real); return;
    case TRACER_VALUE_TEXT: json_text(j, key, value->bytes, value->n_bytes); return;
    case TRACER_VALUE_BLOB: put_blob(j, key, value); return;
    default: json_null(j, key); return;
    }
}
