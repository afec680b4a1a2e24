/* SPDX-License-Identifier: MIT */
/* record: bounds what samples do not bound: marks, and what nobody uses any more: names, and the
 * stacks of events with their frames and files.
 * In: tables mark, string, stack, frame, code and those that use them. Out: fewer rows of them.
 * Called by retention.c, inside its transaction, a slice at a time. Must not delete a row that
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

void mt_sweep_note(struct mt_recorder *r, enum mt_sweep_of what, int64_t row)
{
    if (r->retention.sweep.active && r->retention.sweep.what == what)
        use(&r->retention.sweep, row);
}

/* How rows of one table lose their last user. */
struct way {
    enum mt_statement top, next;
    enum mt_statement users[4]; /* id, then rows it uses */
    size_t n_users;
    enum mt_statement gone[2];
    size_t n_gone;
};

static const struct way ways[MT_SWEEPS] = {
    [MT_SWEEP_STACKS] = {.top = MT_SQL_STACK_TOP,
                         .next = MT_SQL_STACK_NEXT,
                         .users = {MT_SQL_STACKS_OF_EVENTS},
                         .n_users = 1,
                         .gone = {MT_SQL_STACK_FRAMES_GONE, MT_SQL_STACK_GONE},
                         .n_gone = 2},
    [MT_SWEEP_FRAMES] = {.top = MT_SQL_FRAME_TOP,
                         .next = MT_SQL_FRAME_NEXT,
                         .users = {MT_SQL_FRAMES_OF_STACKS},
                         .n_users = 1,
                         .gone = {MT_SQL_FRAME_GONE},
                         .n_gone = 1},
    [MT_SWEEP_CODES] = {.top = MT_SQL_CODE_TOP,
                        .next = MT_SQL_CODE_NEXT,
                        .users = {MT_SQL_CODES_OF_FRAMES},
                        .n_users = 1,
                        .gone = {MT_SQL_CODE_GONE},
                        .n_gone = 1},
    [MT_SWEEP_NAMES] = {.top = MT_SQL_STRING_TOP,
                        .next = MT_SQL_STRING_NEXT,
                        .users = {MT_SQL_STRINGS_OF_REGIONS, MT_SQL_STRINGS_OF_MODULES,
                                  MT_SQL_STRINGS_OF_THREADS, MT_SQL_STRINGS_OF_CODE},
                        .n_users = 4,
                        .gone = {MT_SQL_STRING_GONE},
                        .n_gone = 1},
};

/* After events all follow, after names they alone. */
static enum mt_sweep_of choose(struct mt_retention *t)
{
    int what = 0;

    while (what < MT_SWEEP_NAMES && !t->wanted[what])
        what++;
    t->wanted[what] = false;
    if (what == MT_SWEEP_NAMES)
        t->n_ended = 0;
    return (enum mt_sweep_of)what;
}

static int begin_sweep(struct mt_recorder *r)
{
    struct mt_retention *t = &r->retention;
    struct mt_sweep *w = &t->sweep;
    int error;

    w->what = choose(t);
    error = mt_db_run_number(&r->db, r->sql[ways[w->what].top], "look for unused names", &w->top);
    if (error)
        return error;
    w->base = t->base[w->what];
    if (w->base == 0 || w->base > w->top)
        w->base = 1;
    memset(w->used, 0, sizeof(w->used));
    w->stage = 0;
    w->cursor = 0;
    w->active = true;
    return TRACER_OK;
}

/* Rows of one table that uses others: its id, then theirs. */
static int read_users(struct mt_recorder *r, sqlite3_stmt *q)
{
    struct mt_sweep *w = &r->retention.sweep;
    int64_t upto = w->cursor;
    bool any = false;
    int rc;

    mt_db_bind(q, 1, w->cursor);
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        any = true;
        if (sqlite3_column_int64(q, 0) > upto)
            upto = sqlite3_column_int64(q, 0);
        for (int i = 1; i < sqlite3_column_count(q); i++)
            use(w, sqlite3_column_int64(q, i));
    }
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    w->cursor = any ? upto : 0;
    w->stage += !any;
    return mt_db_error(&r->db, rc, "look for unused names");
}

static int delete_row(struct mt_recorder *r, const struct way *way, int64_t row)
{
    int error = TRACER_OK;

    for (size_t i = 0; i < way->n_gone && !error; i++) {
        mt_db_bind(r->sql[way->gone[i]], 1, row);
        error = mt_recorder_run(r, way->gone[i], "remove names");
    }
    return error;
}

/* The recorder's own memory of rows is forgotten with them. */
static int delete_unused(struct mt_recorder *r)
{
    struct mt_sweep *w = &r->retention.sweep;
    const struct way *way = &ways[w->what];
    int64_t row = w->cursor ? w->cursor : w->base - 1;
    int error = TRACER_OK;

    for (int i = 0; i < NAMES_A_SLICE && !error; i++) {
        int64_t next = 0;

        mt_db_bind(r->sql[way->next], 1, row);
        error = mt_db_run_number(&r->db, r->sql[way->next], "remove names", &next);
        if (!next || next > w->top || next >= w->base + MT_SWEEP_STRINGS) {
            w->active = false;
            r->retention.base[w->what] = next > w->top ? 0 : next;
            break;
        }
        row = next;
        if (!error && !used(w, row))
            error = delete_row(r, way, row);
    }
    w->cursor = row;
    memset(r->string_rows, 0, r->string_capacity * sizeof(*r->string_rows));
    mt_recorder_stacks_forget(r);
    return error;
}

int mt_sweep_some(struct mt_recorder *r)
{
    struct mt_sweep *w = &r->retention.sweep;
    const struct way *way = &ways[w->what];

    if (!w->active)
        return begin_sweep(r);
    if ((size_t)w->stage < way->n_users)
        return read_users(r, r->sql[way->users[w->stage]]);
    return delete_unused(r);
}
