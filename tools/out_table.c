/* SPDX-License-Identifier: MIT */
/* tools: values → aligned text on stdout.
 * In: columns with headings and formats, then cells row by row. Out: a table whose lines fit
 * 80 columns where the commands choose their columns so; the last column is never padded.
 * Called by the commands. Cells are made harmless when they come in; colours come last. */
#include "out_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "human.h"
#include "terminal.h"
#include "utf8.h"

#define GAP "  "
#define VALUE_BYTES_MOST                                                                           \
    65536u /* of a value; each row is padded to the longest. JSON has all of it */

struct cell {
    char *text;
    bool right;
};

struct table {
    const struct table_column *columns;
    size_t n_columns;
    bool exact;
    struct cell *cells;
    size_t n_cells, room;
};

struct table *table_new(const struct table_column *columns, size_t n_columns, bool exact)
{
    struct table *t = need(calloc(1, sizeof(*t)));

    t->columns = columns;
    t->n_columns = n_columns;
    t->exact = exact;
    return t;
}

void table_free(struct table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i].text);
    free(t->cells);
    free(t);
}

static enum cell_format next_format(const struct table *t)
{
    return t->columns[t->n_cells % t->n_columns].format;
}

static void add(struct table *t, const char *text, size_t n, bool right)
{
    if (t->n_cells == t->room) {
        t->room = t->room ? 2 * t->room : 256;
        t->cells = need(realloc(t->cells, t->room * sizeof(*t->cells)));
    }
    t->cells[t->n_cells].text = text_harmless(text, n < VALUE_BYTES_MOST ? n : VALUE_BYTES_MOST);
    t->cells[t->n_cells].right = right;
    t->n_cells++;
}

void table_text(struct table *t, const char *text)
{
    add(t, text, strlen(text), false);
}

void table_unknown(struct table *t)
{
    enum cell_format format = next_format(t);

    add(t, "-", 1, format != CELL_TEXT && format != CELL_ANY);
}

void table_integer(struct table *t, int64_t value)
{
    tracer_value v = {TRACER_VALUE_INTEGER, 0, value, (double)value, NULL};

    table_value(t, &v);
}

static void format_number(char *out, const struct table *t, const tracer_value *v)
{
    switch (next_format(t)) {
    case CELL_BYTES: human_bytes(out, v->integer, t->exact); return;
    case CELL_CHANGE: human_change(out, v->integer, t->exact); return;
    case CELL_COUNT_CHANGE: human_change(out, v->integer, true); return;
    case CELL_SECONDS: snprintf(out, HUMAN_BYTES, "%.3f", v->real); return;
    case CELL_NS: human_seconds(out, v->integer); return;
    case CELL_WALL: human_wall(out, v->integer); return;
    case CELL_PERCENT: snprintf(out, HUMAN_BYTES, "%.2f", v->real); return;
    case CELL_ADDRESS: snprintf(out, HUMAN_BYTES, "0x%012" PRIx64, (uint64_t)v->integer); return;
    case CELL_TEXT:
    case CELL_NUMBER:
    case CELL_ANY: break;
    }
    if (v->kind == TRACER_VALUE_INTEGER)
        snprintf(out, HUMAN_BYTES, "%" PRId64, v->integer);
    else
        snprintf(out, HUMAN_BYTES, "%.15g", v->real);
}

static void add_blob(struct table *t, const tracer_value *v)
{
    char *hex = need(malloc(2 * (size_t)v->n_bytes + 4));
    size_t used = (size_t)snprintf(hex, 3, "x'");

    for (uint32_t i = 0; i < v->n_bytes; i++)
        used += (size_t)snprintf(hex + used, 3, "%02x", (unsigned char)v->bytes[i]);
    hex[used++] = '\'';
    add(t, hex, used, false);
    free(hex);
}

void table_value(struct table *t, const tracer_value *v)
{
    char text[HUMAN_BYTES];

    switch (v->kind) {
    case TRACER_VALUE_NULL: table_unknown(t); return;
    case TRACER_VALUE_TEXT: add(t, v->bytes, v->n_bytes, next_format(t) == CELL_NUMBER); return;
    case TRACER_VALUE_BLOB: add_blob(t, v); return;
    default: break;
    }
    format_number(text, t, v);
    add(t, text, strlen(text), next_format(t) != CELL_TEXT);
}

size_t table_rows(const struct table *t)
{
    return t->n_cells / t->n_columns;
}

static void put_cell(const char *text, size_t width, bool right, bool last, const char *colour)
{
    size_t have = text_width(text);
    int pad = have < width ? (int)(width - have) : 0;

    if (right)
        printf("%*s", pad, "");
    printf("%s%s%s", colour, text, *colour ? "\033[0m" : "");
    if (!right && !last)
        printf("%*s", pad, "");
}

static const char *colour_of(const struct table_column *column, const char *text, bool colour)
{
    if (!colour || (column->format != CELL_CHANGE && column->format != CELL_COUNT_CHANGE))
        return "";
    return *text == '+' ? "\033[31m" : *text == '-' && text[1] ? "\033[32m" : "";
}

static size_t *measure(const struct table *t, char **headings)
{
    size_t *widths = need(calloc(t->n_columns, sizeof(*widths)));

    for (size_t c = 0; c < t->n_columns; c++)
        widths[c] = headings[c] ? text_width(headings[c]) : 0;
    for (size_t i = 0; i < t->n_cells; i++) {
        size_t width = text_width(t->cells[i].text);

        if (width > widths[i % t->n_columns])
            widths[i % t->n_columns] = width;
    }
    return widths;
}

static size_t last_shown(const struct table *t)
{
    size_t last = t->n_columns;

    while (last > 0 && !t->columns[last - 1].heading)
        last--;
    return last ? last - 1 : 0;
}

static void put_row(const struct table *t, size_t row, const size_t *widths, bool colour)
{
    const char *gap = "";

    for (size_t c = 0; c < t->n_columns; c++) {
        const struct cell *cell = &t->cells[row * t->n_columns + c];

        if (!t->columns[c].heading)
            continue;
        fputs(gap, stdout);
        put_cell(cell->text, widths[c], cell->right, c == last_shown(t),
                 colour_of(&t->columns[c], cell->text, colour));
        gap = GAP;
    }
    putchar('\n');
}

/* A heading stands over its first cell's side. */
static void put_headings(const struct table *t, char **headings, const size_t *widths, bool colour)
{
    const char *gap = "";

    for (size_t c = 0; c < t->n_columns; c++) {
        if (!headings[c])
            continue;
        fputs(gap, stdout);
        put_cell(headings[c], widths[c], t->cells[c].right, c == last_shown(t),
                 colour ? "\033[1m" : "");
        gap = GAP;
    }
    putchar('\n');
}

void table_print(const struct table *t)
{
    bool colour = terminal_has_colour();
    char **headings;
    size_t *widths;

    if (table_rows(t) == 0)
        return;
    headings = need(calloc(t->n_columns, sizeof(*headings)));
    for (size_t c = 0; c < t->n_columns; c++)
        if (t->columns[c].heading)
            headings[c] = text_harmless(t->columns[c].heading, strlen(t->columns[c].heading));
    widths = measure(t, headings);
    put_headings(t, headings, widths, colour);
    for (size_t row = 0; row < table_rows(t); row++)
        put_row(t, row, widths, colour);
    for (size_t c = 0; c < t->n_columns; c++)
        free(headings[c]);
    free(headings);
    free(widths);
}
