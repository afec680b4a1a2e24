/* SPDX-License-Identifier: MIT */
/* record: bounds what samples do not bound: marks, and names nobody uses any more.
 * In: tables mark, string and those that name strings. Out: fewer rows of mark and string.
 * Called by retention.c, inside its transaction, a slice at a time. Must not delete a name that
 * the recorder uses while the search goes on: mt_sweep_note() tells it. */
#include <string.h>

#include "base/error.h"
#include "record/recorder_private.h"

#define FEW_GONE 16
#define NAMES_A_SLICE 512

int mt_thin_marks(struct mt_recorder *r, int64_t protect)
{
    static const enum mt_statement ways[] = {MT_SQL_MARK_NEIGHBOURS, MT_SQL_MARK_HALF};
    struct mt_retention *t = &r->retention;
    sqlite3_stmt *group = r->sql[MT_SQL_MARK_GROUP];
    int64_t last = 0, gone = 0;
    int error;

    mt_db_bind(group, 1, t->mark_after);
    mt_db_bind(group, 2, protect);
    error = mt_db_run_number(&r->db, group, "thin older marks", &last);
    for (int i = 0; i < 2 && !error && last && gone < FEW_GONE; i++) {
        mt_db_bind(r->sql[ways[i]], 1, t->mark_after);
        mt_db_bind(r->sql[ways[i]], 2, last);
        error = mt_recorder_run(r, ways[i], "thin older marks");
        gone += sqlite3_changes(r->db.handle);
    }
    if (error)
        return error;
    t->n_marks -= gone;
    t->mark_after = last; /* 0 at the end: round and round */
    return TRACER_OK;
}

int mt_thin_ended(struct mt_recorder *r)
{
    static const enum mt_statement lists[] = {MT_SQL_ENDED_THREADS, MT_SQL_ENDED_MODULES};
    int error = TRACER_OK;

    for (int i = 0; i < 2 && !error; i++) {
        error = mt_recorder_run(r, lists[i], "remove threads that ended");
        r->retention.n_ended += sqlite3_changes(r->db.handle);
    }
    return error;
}

static void use(struct mt_sweep *w, int64_t row)
{
    int64_t i = row - w->base;

    if (row > 0 && i >= 0 && i < MT_SWEEP_STRINGS)
        w->used[i / 64] |= UINT64_C(1) << (i % 64);
}

static bool used(const struct mt_sweep *w, int64_t row)
{
    int64_t i = row - w->base;

    return i < 0 || i >= MT_SWEEP_STRINGS || (w->used[i / 64] >> (i % 64) & 1u);
}

void mt_sweep_note(struct mt_recorder *r, int64_t string_row)
{
    if (r->retention.sweep.active)
        use(&r->retention.sweep, string_row);
}

static int begin_sweep(struct mt_recorder *r)
{
    struct mt_sweep *w = &r->retention.sweep;
    int error =
        mt_db_run_number(&r->db, r->sql[MT_SQL_STRING_TOP], "look for unused names", &w->top);

    if (error)
        return error;
    if (w->base == 0 || w->base > w->top)
        w->base = 1;
    memset(w->used, 0, sizeof(w->used));
    w->stage = 0;
    w->cursor = 0;
    w->active = true;
    r->retention.n_ended = 0;
    return TRACER_OK;
}

/* Rows of one table that names strings: id, then the strings. */
static int read_users(struct mt_recorder *r, sqlite3_stmt *q)
{
    struct mt_sweep *w = &r->retention.sweep;
    bool any = false;
    int rc;

    mt_db_bind(q, 1, w->cursor);
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        any = true;
        w->cursor = sqlite3_column_int64(q, 0);
        for (int i = 1; i < sqlite3_column_count(q); i++)
            use(w, sqlite3_column_int64(q, i));
    }
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    if (!any) {
        w->stage++;
        w->cursor = 0;
    }
    return mt_db_error(&r->db, rc, "look for unused names");
}

/* The recorder's own memory of rows is forgotten with them. */
static int delete_unused(struct mt_recorder *r)
{
    struct mt_sweep *w = &r->retention.sweep;
    int64_t row = w->cursor ? w->cursor : w->base - 1;
    int error = TRACER_OK;

    for (int i = 0; i < NAMES_A_SLICE && !error; i++) {
        int64_t next = 0;

        mt_db_bind(r->sql[MT_SQL_STRING_NEXT], 1, row);
        error = mt_db_run_number(&r->db, r->sql[MT_SQL_STRING_NEXT], "remove names", &next);
        if (!next || next > w->top || next >= w->base + MT_SWEEP_STRINGS) {
            w->active = false;
            w->base = next > w->top ? 0 : next;
            break;
        }
        row = next;
        mt_db_bind(r->sql[MT_SQL_STRING_GONE], 1, row);
        if (!error && !used(w, row))
            error = mt_recorder_run(r, MT_SQL_STRING_GONE, "remove names");
        sqlite3_clear_bindings(r->sql[MT_SQL_STRING_GONE]);
    }
    w->cursor = row;
    memset(r->string_rows, 0, r->string_capacity * sizeof(*r->string_rows));
    return error;
}

int mt_sweep_some(struct mt_recorder *r)
{
    static const enum mt_statement users[] = {MT_SQL_STRINGS_OF_REGIONS, MT_SQL_STRINGS_OF_MODULES,
                                              MT_SQL_STRINGS_OF_THREADS, MT_SQL_STRINGS_OF_CODE};
    struct mt_sweep *w = &r->retention.sweep;

    if (!w->active)
        return begin_sweep(r);
    if ((size_t)w->stage < MT_COUNT_OF(users))
        return read_users(r, r->sql[users[w->stage]]);
    return delete_unused(r);
}
