/* SPDX-License-Identifier: MIT */
/* Tables for people: aligned columns, a bold heading and coloured changes on a terminal. */
#ifndef MEMTRACER_TOOLS_OUT_TABLE_H
#define MEMTRACER_TOOLS_OUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtracer/reader.h"

enum cell_format {
    CELL_TEXT,         /* as it is, left-aligned */
    CELL_NUMBER,       /* as it is, right-aligned */
    CELL_BYTES,        /* "51.8 MiB" */
    CELL_CHANGE,       /* "+51.8 MiB", red and green on a terminal */
    CELL_COUNT_CHANGE, /* "+3" */
    CELL_SECONDS,      /* REAL seconds: "12.500" */
    CELL_NS,           /* INTEGER nanoseconds: "12.500" seconds */
    CELL_WALL,         /* INTEGER wall clock ns: "2026-11-29 12:00:00" */
    CELL_PERCENT,      /* "12.34" */
    CELL_ADDRESS,      /* "0x7f…" */
    CELL_ANY,          /* by the value: numbers right, text left */
};

struct table_column {
    const char *heading; /* NULL = not shown to people, in JSON only */
    enum cell_format format;
};

struct table; /* opaque */

/* `columns` must outlive the table. exact: bytes instead of units. */
struct table *table_new(const struct table_column *columns, size_t n_columns, bool exact);
void table_free(struct table *t);

/* The next cell, row by row from the left; every column of `columns` is given. */
void table_value(struct table *t, const tracer_value *value);
void table_text(struct table *t, const char *text);
void table_integer(struct table *t, int64_t value);
void table_unknown(struct table *t);

size_t table_rows(const struct table *t);

/* Writes to stdout; nothing when there is no row. */
void table_print(const struct table *t);

#endif
