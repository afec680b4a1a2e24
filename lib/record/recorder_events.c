/* SPDX-License-Identifier: MIT */
/* record: exact events → rows; their stacks, frames and files each once.
 * In: events in order of the ring, and a way to name addresses. Out: rows in the open transaction.
 * Called by sampler/drain.c. A stack that was seen lately costs one look into a table; what a
 * rollback takes away is forgotten there, and found or written anew. */
#include "record/events.h"

#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/memory.h"
#include "record/fork_gate.h"
#include "record/recorder_private.h"

#define RECENT 8192u /* a power of two */

struct recent_stack {
    uint64_t key; /* of its addresses and their generation; 0 = none */
    int64_t row;
};

struct mt_event_rows {
    struct recent_stack recent[RECENT];
    uint64_t n_open; /* events of the open transaction */
    uint64_t n_undone;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash ^= value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
    hash *= UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

/* The row found by `find`, whose parameters are bound; or else of `insert`. */
static int find_or_insert(struct mt_recorder *r, enum mt_statement find, enum mt_statement insert,
                          int64_t *out)
{
    int64_t row = 0;
    int error = mt_db_run_number(&r->db, r->sql[find], "write stacks", &row);

    if (error)
        return mt_error_set(TRACER_EDB, "%s", mt_error_detail());
    if (!row) {
        error = mt_recorder_run(r, insert, "write stacks");
        row = sqlite3_last_insert_rowid(r->db.handle);
    } else {
        sqlite3_clear_bindings(r->sql[insert]);
    }
    *out = row;
    return error;
}

static void bind_both(struct mt_recorder *r, enum mt_statement find, enum mt_statement insert,
                      int i, int64_t value)
{
    mt_db_bind(r->sql[find], i, value);
    mt_db_bind(r->sql[insert], i, value);
}

static int frame_row(struct mt_recorder *r, const struct mt_place *p, int64_t *out)
{
    int64_t path = 0, code = 0;
    int error;

    mt_db_bind_text(r->sql[MT_SQL_STRING_FIND], 1, p->path);
    mt_db_bind_text(r->sql[MT_SQL_STRING], 1, p->path);
    error = find_or_insert(r, MT_SQL_STRING_FIND, MT_SQL_STRING, &path);
    if (error)
        return error;
    mt_sweep_note(r, MT_SWEEP_NAMES, path);
    bind_both(r, MT_SQL_CODE_FIND, MT_SQL_CODE, 1, path);
    mt_db_bind_text(r->sql[MT_SQL_CODE_FIND], 2, p->build_id);
    mt_db_bind_text(r->sql[MT_SQL_CODE], 2, p->build_id);
    error = find_or_insert(r, MT_SQL_CODE_FIND, MT_SQL_CODE, &code);
    if (error)
        return error;
    mt_sweep_note(r, MT_SWEEP_CODES, code);
    bind_both(r, MT_SQL_FRAME_FIND, MT_SQL_FRAME, 1, code);
    bind_both(r, MT_SQL_FRAME_FIND, MT_SQL_FRAME, 2, (int64_t)p->offset);
    return find_or_insert(r, MT_SQL_FRAME_FIND, MT_SQL_FRAME, out);
}

static int write_frames(struct mt_recorder *r, int64_t stack, const int64_t *frames, int n)
{
    sqlite3_stmt *q = r->sql[MT_SQL_STACK_FRAME];
    int error = TRACER_OK;

    for (int i = 0; i < n && !error; i++) {
        mt_db_bind(q, 1, stack);
        mt_db_bind(q, 2, i);
        mt_db_bind(q, 3, frames[i]);
        mt_sweep_note(r, MT_SWEEP_FRAMES, frames[i]);
        error = mt_recorder_run(r, MT_SQL_STACK_FRAME, "write stacks");
    }
    return error;
}

static int write_stack(struct mt_recorder *r, const struct mt_event *e,
                       const struct mt_event_context *c, int64_t *out)
{
    int64_t frames[MT_EVENT_FRAMES], row = 0;
    uint64_t hash = e->n_frames;
    int error = TRACER_OK;

    for (int i = 0; i < e->n_frames && !error; i++) {
        struct mt_place place = {"", "", 0};

        if (!c->place(c->user, e->more.frames[i], &place))
            return MT_RECORDER_NOT_YET;
        error = frame_row(r, &place, &frames[i]);
        hash = mix(hash, error ? 0 : (uint64_t)frames[i]);
    }
    mt_db_bind(r->sql[MT_SQL_STACK_FIND], 1, (int64_t)hash);
    if (!error)
        error = mt_db_run_number(&r->db, r->sql[MT_SQL_STACK_FIND], "write stacks", &row);
    if (error || row) {
        *out = row;
        return error ? mt_error_set(TRACER_EDB, "%s", mt_error_detail()) : TRACER_OK;
    }
    mt_db_bind(r->sql[MT_SQL_STACK], 1, (int64_t)hash);
    mt_db_bind(r->sql[MT_SQL_STACK], 2, e->n_frames);
    error = mt_recorder_run(r, MT_SQL_STACK, "write stacks");
    *out = sqlite3_last_insert_rowid(r->db.handle);
    return error ? error : write_frames(r, *out, frames, e->n_frames);
}

static int stack_row(struct mt_recorder *r, const struct mt_event *e,
                     const struct mt_event_context *c, int64_t *out)
{
    uint64_t key = c->generation + 1;
    struct recent_stack *recent;
    int error;

    for (int i = 0; i < e->n_frames; i++)
        key = mix(key, e->more.frames[i]);
    recent = &r->events->recent[key & (RECENT - 1)];
    if (recent->row && recent->key == key) {
        *out = recent->row;
        return TRACER_OK;
    }
    error = write_stack(r, e, c, out);
    if (!error) {
        recent->key = key;
        recent->row = *out;
    }
    return error;
}

static bool moves(uint8_t kind)
{
    return kind == MT_EVENT_MREMAP || kind == MT_EVENT_BRK || kind == MT_EVENT_REALLOC;
}

static int write_event(struct mt_recorder *r, const struct mt_event *e, int64_t start_ns,
                       int64_t stack)
{
    sqlite3_stmt *q = r->sql[MT_SQL_EVENT];

    mt_db_bind(q, 1, r->run);
    mt_db_bind(q, 2, e->t_ns - start_ns);
    mt_db_bind(q, 4, e->kind);
    mt_db_bind(q, 5, e->tid);
    mt_db_bind(q, 6, (int64_t)e->address);
    mt_db_bind(q, 7, (int64_t)e->bytes);
    if (e->began_ns != e->t_ns)
        mt_db_bind(q, 3, e->began_ns - start_ns);
    if (moves(e->kind)) {
        mt_db_bind(q, 8, (int64_t)e->old_address);
        mt_db_bind(q, 9, (int64_t)e->old_bytes);
    }
    if (e->kind == MT_EVENT_MMAP || e->kind == MT_EVENT_MPROTECT || e->kind == MT_EVENT_SHMAT)
        mt_db_bind(q, 10, e->protection);
    if (e->kind == MT_EVENT_MMAP)
        mt_db_bind(q, 11, e->map_flags);
    mt_db_bind(q, 12, e->flags);
    mt_sweep_note(r, MT_SWEEP_STACKS, stack);
    if (stack)
        mt_db_bind(q, 13, stack);
    return mt_recorder_run(r, MT_SQL_EVENT, "write events");
}

/* Made with the first event. */
static int make_rows(struct mt_recorder *r)
{
    if (!r->events)
        r->events = mt_memory_alloc(sizeof(*r->events));
    return r->events ? TRACER_OK : mt_error_set(TRACER_ENOMEM, "no memory for stacks");
}

static int add_event(struct mt_recorder *r, const struct mt_event *e,
                     const struct mt_event_context *c)
{
    int64_t stack = 0;
    int error = make_rows(r);

    if (!error)
        error = mt_recorder_begin(r);
    if (!error && e->n_frames)
        error = stack_row(r, e, c, &stack);
    if (!error)
        error = write_event(r, e, c->start_monotonic_ns, stack);
    if (error)
        return error;
    r->events->n_open++;
    mt_events_added(r, sqlite3_last_insert_rowid(r->db.handle));
    return TRACER_OK;
}

int mt_recorder_event(struct mt_recorder *r, const struct mt_event *e,
                      const struct mt_event_context *c)
{
    int error;

    mt_fork_gate_enter();
    error = add_event(r, e, c);
    mt_fork_gate_leave();
    return error;
}

int mt_recorder_events_lost(struct mt_recorder *r, int64_t t_ns, uint64_t n)
{
    sqlite3_stmt *q = r->sql[MT_SQL_EVENT_LOSS];
    int error;

    mt_fork_gate_enter();
    error = mt_recorder_begin(r);
    if (!error) {
        mt_db_bind(q, 1, r->run);
        mt_db_bind(q, 2, t_ns);
        mt_db_bind(q, 3, (int64_t)n);
        error = mt_recorder_run(r, MT_SQL_EVENT_LOSS, "write events");
    }
    mt_fork_gate_leave();
    return error;
}

uint64_t mt_recorder_events_undone(struct mt_recorder *r)
{
    uint64_t n = r->events ? r->events->n_undone : 0;

    if (r->events)
        r->events->n_undone = 0;
    return n;
}

void mt_recorder_events_committed(struct mt_recorder *r)
{
    if (r->events)
        r->events->n_open = 0;
}

void mt_recorder_stacks_forget(struct mt_recorder *r)
{
    if (r->events)
        memset(r->events->recent, 0, sizeof(r->events->recent));
}

void mt_recorder_events_forget(struct mt_recorder *r)
{
    if (!r->events)
        return;
    mt_recorder_stacks_forget(r);
    r->events->n_undone += r->events->n_open;
    r->events->n_open = 0;
}
