/* SPDX-License-Identifier: MIT */
/* read: one column of a series.
 * In: the points of a series, and what to load. Out: a value a point.
 * Called by reader_verdict.c. Reads each level once, in the order of its key; must not hold more
 * than the caller's array. */
#include "base/error.h"
#include "read/series.h"

/* Held is resident and swapped, or committed where no row of the type knows resident bytes. */
static const char sql_level[] =
    "SELECT sample, CASE ?3"
    " WHEN 0 THEN iif(ws IS NULL, iif(?4, NULL, committed), ws + ifnull(swap, 0))"
    " WHEN 1 THEN committed WHEN 2 THEN size WHEN 3 THEN huge WHEN 4 THEN lazy_free"
    " WHEN 5 THEN blocks ELSE ws_shareable END"
    " FROM level WHERE run = ?1 AND type = ?2 ORDER BY sample";
static const char sql_has_ws[] =
    "SELECT EXISTS (SELECT 1 FROM level WHERE run = ?1 AND type = ?2 AND ws IS NOT NULL)";
static const char sql_counter[] =
    "SELECT sample, value FROM counter WHERE run = ?1 AND counter = ?2 ORDER BY sample";
static const char sql_regions[] =
    "SELECT id, regions FROM sample WHERE run = ?1 AND ?2 = 0 ORDER BY id";

/* Values in effect, one row ahead. */
struct stream {
    sqlite3_stmt *q;
    bool more;
    int64_t sample, value; /* the next row's */
    int64_t now;           /* in effect before it */
};

static void advance(struct stream *s)
{
    s->now = s->value;
    s->more = sqlite3_step(s->q) == SQLITE_ROW;
    if (!s->more)
        return;
    s->sample = sqlite3_column_int64(s->q, 0);
    s->value =
        sqlite3_column_type(s->q, 1) == SQLITE_NULL ? MT_VERDICT_UNKNOWN : mt_series_bytes(s->q, 1);
}

static void begin(struct stream *s)
{
    s->value = MT_VERDICT_UNKNOWN;
    advance(s);
}

/* The least and the most of a slot, in the order in which they came. */
static void fill_slot(struct stream *s, const struct mt_series_slot *slot, unsigned per_slot,
                      int64_t *out)
{
    int64_t least, most;
    bool most_last = true;

    while (s->more && s->sample <= slot->first)
        advance(s);
    least = most = s->now;
    while (s->more && s->sample <= slot->last) {
        advance(s);
        if (s->now == MT_VERDICT_UNKNOWN)
            continue;
        if (least == MT_VERDICT_UNKNOWN)
            least = most = s->now;
        most_last = s->now > most ? true : s->now < least ? false : most_last;
        most = s->now > most ? s->now : most;
        least = s->now < least ? s->now : least;
    }
    out[0] = per_slot == 1 || most_last ? least : most;
    if (per_slot == 2)
        out[1] = most_last ? most : least;
}

static int has_ws(tracer_reader *r, int64_t run, int64_t type, int *out)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(r->handle, sql_has_ws, -1, &q, NULL);

    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(q, 1, run);
        sqlite3_bind_int64(q, 2, type);
        if (sqlite3_step(q) == SQLITE_ROW)
            *out = sqlite3_column_int(q, 0);
        rc = sqlite3_finalize(q);
    }
    return mt_read_error(r, rc);
}

static int load_life(tracer_reader *r, const struct mt_series *s, unsigned k, sqlite3_stmt *q,
                     int64_t *out)
{
    const struct mt_series_life *life = &s->lives[k];
    struct stream in = {.q = q};

    sqlite3_bind_int64(q, 1, life->run);
    begin(&in);
    for (size_t i = life->first_slot; i < life->end_slot; i++)
        fill_slot(&in, &s->slots[i], s->per_slot, out + i * s->per_slot);
    return mt_read_error(r, sqlite3_reset(q));
}

static const char *sql_of(enum mt_series_of of)
{
    if (of == MT_SERIES_COUNTER)
        return sql_counter;
    return of == MT_SERIES_REGIONS ? sql_regions : sql_level;
}

int mt_series_load(tracer_reader *r, const struct mt_series *s, enum mt_series_of of, int64_t type,
                   int64_t *out)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(r->handle, sql_of(of), -1, &q, NULL), error;

    error = mt_read_error(r, rc);
    for (unsigned k = 0; k < s->n_lives && !error; k++) {
        int known = 0;

        sqlite3_bind_int64(q, 2, of == MT_SERIES_REGIONS ? 0 : type);
        if (of < MT_SERIES_COUNTER) {
            if (of == MT_SERIES_HELD)
                error = has_ws(r, s->lives[k].run, type, &known);
            sqlite3_bind_int(q, 3, (int)of);
            sqlite3_bind_int(q, 4, known);
        }
        if (!error)
            error = load_life(r, s, k, q, out);
    }
    rc = sqlite3_finalize(q);
    return error ? error : mt_read_error(r, rc);
}
