/* SPDX-License-Identifier: MIT */
/* read: what else grew, from the few rows that tell.
 * In: a span of the newest life, a type or a counter. Out: the growth of its numbers.
 * Called by cause.c. Must not read the rows between onset and tail: a long recording has many. */
#include "base/error.h"
#include "read/series.h"

#define FAR 4096 /* rows without a number: it is not known there */

#define LEVELS "SELECT committed, size, huge, lazy_free, blocks, ws_shareable FROM level"
#define COUNTERS "SELECT value FROM counter"

static const struct source {
    unsigned n;
    const char *back, *on; /* from ?3 backwards; after ?3 until ?4 */
} levels = {MT_SERIES_COLUMNS,
            LEVELS " WHERE run = ?1 AND type = ?2 AND sample <= ?3 ORDER BY sample DESC",
            LEVELS " WHERE run = ?1 AND type = ?2 AND sample > ?3 AND sample <= ?4"
                   " ORDER BY sample"},
  counters = {1, COUNTERS " WHERE run = ?1 AND counter = ?2 AND sample <= ?3 ORDER BY sample DESC",
              COUNTERS " WHERE run = ?1 AND counter = ?2 AND sample > ?3 AND sample <= ?4"
                       " ORDER BY sample"};

/* Fills what is still unknown. Returns whether something is. */
static bool take_first(sqlite3_stmt *q, unsigned n, int64_t *out)
{
    bool missing = false;

    for (unsigned c = 0; c < n; c++) {
        if (out[c] != TRACER_UNKNOWN)
            continue;
        if (sqlite3_column_type(q, (int)c) != SQLITE_NULL)
            out[c] = mt_series_bytes(sqlite3_column_int64(q, (int)c));
        else
            missing = true;
    }
    return missing;
}

static void take_extreme(sqlite3_stmt *q, unsigned n, bool most, int64_t *out)
{
    for (unsigned c = 0; c < n; c++) {
        int64_t value = mt_series_bytes(sqlite3_column_int64(q, (int)c));

        if (sqlite3_column_type(q, (int)c) == SQLITE_NULL)
            continue;
        if (out[c] == TRACER_UNKNOWN || (most ? value > out[c] : value < out[c]))
            out[c] = value;
    }
}

enum mode {
    BACK,    /* the nearest known values before a sample */
    FORWARD, /* … after it */
    LEAST,   /* the least after it */
    MOST
};

struct asking {
    tracer_reader *r;
    const struct source *of;
    int64_t run, id; /* id of the type or counter */
};

static int look(const struct asking *a, enum mode mode, int64_t after, int64_t until, int64_t *out)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(a->r->handle, mode == BACK ? a->of->back : a->of->on, -1, &q, NULL);
    unsigned rows = 0;

    sqlite3_bind_int64(q, 1, a->run);
    sqlite3_bind_int64(q, 2, a->id);
    sqlite3_bind_int64(q, 3, after);
    if (mode != BACK)
        sqlite3_bind_int64(q, 4, until);
    while (rc == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW) {
        if (mode >= LEAST)
            take_extreme(q, a->of->n, mode == MOST, out);
        else if (!take_first(q, a->of->n, out) || ++rows == FAR)
            break;
    }
    if (rc == SQLITE_OK)
        rc = sqlite3_finalize(q);
    return mt_read_error(a->r, rc);
}

/* The least (or most) value from the one in effect at `from` on. A single value may have been read
 * while something came and went. */
static int floor_of(const struct asking *a, bool most, int64_t from, int64_t until, int64_t *out)
{
    int error;

    for (unsigned c = 0; c < a->of->n; c++)
        out[c] = TRACER_UNKNOWN;
    error = look(a, BACK, from, 0, out);
    if (!error)
        error = look(a, most ? MOST : LEAST, from, until, out);
    return error;
}

static int grew(const struct asking *a, const struct mt_series_span *s, bool most, int64_t *out)
{
    int64_t base[MT_SERIES_COLUMNS], last[MT_SERIES_COLUMNS];
    int error = floor_of(a, most, s->onset, s->head, base);

    if (!error)
        error = look(a, FORWARD, s->head, s->end, base);
    if (!error)
        error = floor_of(a, most, s->tail, s->end, last);
    for (unsigned c = 0; c < a->of->n && !error; c++)
        out[c] = base[c] == TRACER_UNKNOWN || last[c] == TRACER_UNKNOWN ? TRACER_UNKNOWN
                                                                        : last[c] - base[c];
    return error;
}

int mt_series_grew(tracer_reader *r, const struct mt_series_span *span, int64_t type, int64_t *out)
{
    return grew(&(struct asking){r, &levels, span->run, type}, span, false, out);
}

int mt_series_counter_grew(tracer_reader *r, const struct mt_series_span *span, int64_t counter,
                           bool most, int64_t *out)
{
    return grew(&(struct asking){r, &counters, span->run, counter}, span, most, out);
}
