/* SPDX-License-Identifier: MIT */
/* read: the rows of one type → a value a point.
 * In: the points of a series, and what to load. Out: what is judged, and the address space beside
 * it, from one pass in the order of the key.
 * Called by reader_verdict.c. Must not hold more than the caller's arrays. */
#include "base/error.h"
#include "read/series.h"

static const char sql_level[] = "SELECT each_row(sample, committed, size, ws, swap) FROM level"
                                " WHERE run = ?1 AND type = ?2";
static const char sql_has_ws[] =
    "SELECT EXISTS (SELECT 1 FROM level WHERE run = ?1 AND type = ?2 AND ws IS NOT NULL)";
enum { SAMPLE, COMMITTED, SIZE, WS, SWAP };

/* One life of one type while its rows come. */
struct loading {
    const struct mt_series *s;
    uint32_t measure;
    bool has_ws;         /* some row of the type knows resident bytes */
    size_t slot, end;    /* being filled */
    int64_t value, size; /* in effect */
    struct mt_series_extremes values_seen, sizes_seen; /* in the slot */
    int64_t *values, *sizes;
};

int64_t mt_series_value(sqlite3_value *column)
{
    return sqlite3_value_type(column) == SQLITE_NULL ? MT_VERDICT_UNKNOWN
                                                     : mt_series_bytes(sqlite3_value_int64(column));
}

/* Held is resident and swapped, or committed where no row of the type knows resident bytes. */
static int64_t value_of(const struct loading *l, sqlite3_value **columns)
{
    int64_t ws;

    if (l->measure == TRACER_MEASURE_SIZE)
        return mt_series_value(columns[SIZE]);
    if (l->measure == TRACER_MEASURE_COMMITTED)
        return mt_series_value(columns[COMMITTED]);
    ws = mt_series_value(columns[WS]);
    if (ws == MT_VERDICT_UNKNOWN)
        return l->has_ws ? MT_VERDICT_UNKNOWN : mt_series_value(columns[COMMITTED]);
    return ws + mt_series_bytes(sqlite3_value_int64(columns[SWAP])); /* NULL reads 0 */
}

void mt_series_take(struct mt_series_extremes *e, int64_t value)
{
    if (value == MT_VERDICT_UNKNOWN)
        return;
    if (e->least == MT_VERDICT_UNKNOWN)
        e->least = e->most = value;
    e->most_last = value > e->most ? true : value < e->least ? false : e->most_last;
    e->most = value > e->most ? value : e->most;
    e->least = value < e->least ? value : e->least;
}

void mt_series_put(const struct mt_series_extremes *e, unsigned per_slot, int64_t *out)
{
    out[0] = per_slot == 1 || e->most_last ? e->least : e->most;
    if (per_slot == 2)
        out[1] = e->most_last ? e->most : e->least;
}

static void take_now(struct loading *l)
{
    mt_series_take(&l->values_seen, l->value);
    mt_series_take(&l->sizes_seen, l->size);
}

static void begin_slot(struct loading *l)
{
    l->values_seen = l->sizes_seen = MT_SERIES_EXTREMES;
}

static void end_slot(struct loading *l)
{
    unsigned n = l->s->per_slot;

    mt_series_put(&l->values_seen, n, l->values + l->slot * n);
    if (l->sizes)
        mt_series_put(&l->sizes_seen, n, l->sizes + l->slot * n);
    l->slot++;
    begin_slot(l);
    take_now(l);
}

static void take_row(void *user, sqlite3_value **columns)
{
    struct loading *l = user;
    int64_t sample = sqlite3_value_int64(columns[SAMPLE]);

    while (l->slot < l->end && l->s->slots[l->slot].last < sample)
        end_slot(l);
    if (l->slot < l->end && sample <= l->s->slots[l->slot].first)
        begin_slot(l); /* what was in effect before the slot is not in it */
    l->value = value_of(l, columns);
    l->size = mt_series_value(columns[SIZE]);
    take_now(l);
}

static int has_ws(tracer_reader *r, int64_t run, int64_t type, bool *out)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(r->handle, sql_has_ws, -1, &q, NULL);

    *out = false;
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(q, 1, run);
        sqlite3_bind_int64(q, 2, type);
        if (sqlite3_step(q) == SQLITE_ROW)
            *out = sqlite3_column_int(q, 0) != 0;
        rc = sqlite3_finalize(q);
    }
    return mt_read_error(r, rc);
}

int mt_series_load(tracer_reader *r, const struct mt_series *s, int64_t type, uint32_t measure,
                   int64_t *values, int64_t *sizes)
{
    int error = TRACER_OK;

    for (unsigned k = 0; k < s->n_lives && !error; k++) {
        const struct mt_series_life *life = &s->lives[k];
        const int64_t params[] = {life->run, type};
        struct loading l = {.s = s,
                            .measure = measure,
                            .slot = life->first_slot,
                            .end = life->end_slot,
                            .value = MT_VERDICT_UNKNOWN,
                            .size = MT_VERDICT_UNKNOWN,
                            .values = values,
                            .sizes = sizes};

        begin_slot(&l);
        error = has_ws(r, life->run, type, &l.has_ws);
        if (!error)
            error = mt_read_each(r, sql_level, params, 2, take_row, &l);
        while (l.slot < l.end)
            end_slot(&l);
    }
    return error;
}
