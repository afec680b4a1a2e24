/* SPDX-License-Identifier: MIT */
/* record: transactions, marks, types, states, and the end of a recorder.
 * In: calls of the sampler's thread. Out: committed rows; a plain file at the end.
 * Called by sampler/ only. Must not fail with another code than EDB or ELIMIT while recording:
 * the sampler takes those as "suspend and try again". */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "record/fork_gate.h"
#include "record/recorder_private.h"

/* The -wal is taken over at this size, and is not let grow past the limit, which only a reader
 * that stays in one transaction can bring about. */
#define WAL_PAGES_WANTED 1000
#define WAL_PAGES_LIMIT 16384
#define STEADY_NS (INT64_C(60) * 1000000000)
#define STEPS_WHEN_FULL 64
#define PAGE_BYTES UINT64_C(4096)
#define WAL_FRAME_BYTES (PAGE_BYTES + 24)

int mt_recorder_run(struct mt_recorder *r, enum mt_statement id, const char *doing)
{
    int error = mt_db_run(&r->db, r->sql[id], doing);

    return error ? mt_error_set(TRACER_EDB, "%s", mt_error_detail()) : TRACER_OK;
}

static int wal_wanted(const struct mt_recorder *r)
{
    uint64_t eighth = r->max_file_bytes / PAGE_BYTES / 8;

    return eighth && eighth < WAL_PAGES_WANTED ? (int)eighth : WAL_PAGES_WANTED;
}

/* By this connection alone: SQLite before 3.51.3 loses commits when two of them checkpoint. */
void mt_recorder_checkpoint(struct mt_recorder *r)
{
    int in_wal = -1, done = -1;

    if (!r->wal || r->wal_pages < wal_wanted(r))
        return;
    sqlite3_wal_checkpoint_v2(r->db.handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_wal, &done);
    if (in_wal >= 0 && in_wal == done && r->wal_pages > WAL_PAGES_LIMIT) {
        sqlite3_busy_timeout(r->db.handle, 0);
        if (!sqlite3_wal_checkpoint_v2(r->db.handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL))
            r->wal_pages = 0;
        sqlite3_busy_timeout(r->db.handle, MT_DB_BUSY_MS);
    }
}

static void make_room(struct mt_recorder *r)
{
    bool progress = true;

    for (int i = 0; i < STEPS_WHEN_FULL && progress && r->file_bytes >= r->max_file_bytes; i++)
        if (mt_retention_step(r, &progress))
            break;
}

static int check_room(struct mt_recorder *r)
{
    if (r->wal_pages > WAL_PAGES_LIMIT) {
        mt_recorder_checkpoint(r);
        if (r->wal_pages > WAL_PAGES_LIMIT)
            return mt_error_set(TRACER_ELIMIT,
                                "%s-wal has grown to %d MiB because a reader keeps "
                                "one transaction open: end that reader",
                                r->db.path, (int)(r->wal_pages * PAGE_BYTES >> 20));
    }
    if (!r->max_file_bytes || r->file_bytes < r->max_file_bytes)
        return TRACER_OK;
    make_room(r);
    if (r->file_bytes < r->max_file_bytes)
        return TRACER_OK;
    return mt_error_set(TRACER_ELIMIT,
                        "%s has reached max_file_bytes and thinning older samples "
                        "did not help: raise the limit or start a new file",
                        r->db.path);
}

int mt_recorder_begin(struct mt_recorder *r)
{
    int error;

    if (r->open && !sqlite3_get_autocommit(r->db.handle))
        return TRACER_OK;
    if (r->open) /* SQLite ends a transaction by itself where memory or the disk does */
        return mt_error_set(TRACER_EDB,
                            "%s: what was recorded since the last commit was lost when memory or "
                            "the disk ended",
                            r->db.path);
    error = mt_db_check_place(&r->db);
    if (!error)
        error = check_room(r);
    if (!error)
        error = mt_recorder_run(r, MT_SQL_BEGIN, "begin to write it");
    r->open = !error;
    return error;
}

static int write_mark(struct mt_recorder *r, int64_t t_ns, int64_t wall_ns, uint32_t tid,
                      const char *label)
{
    sqlite3_stmt *q = r->sql[MT_SQL_MARK];
    int error = mt_recorder_begin(r);

    if (error)
        return error;
    mt_db_bind(q, 1, r->run);
    if (r->at.sample)
        mt_db_bind(q, 2, r->at.sample);
    mt_db_bind(q, 3, t_ns);
    mt_db_bind(q, 4, wall_ns);
    mt_db_bind(q, 5, tid);
    mt_db_bind_text(q, 6, label);
    return mt_recorder_run(r, MT_SQL_MARK, "write a mark");
}

int mt_recorder_mark(struct mt_recorder *r, int64_t t_ns, int64_t wall_ns, uint32_t tid,
                     const char *label)
{
    int error;

    mt_fork_gate_enter();
    error = write_mark(r, t_ns, wall_ns, tid, label);
    r->retention.n_marks += !error;
    r->retention.added_marks += !error;
    mt_fork_gate_leave();
    return error;
}

/* The type's row in the file: an earlier run may have given the id to another name. */
static int write_type(struct mt_recorder *r, uint32_t id, const char *name, const char *description)
{
    sqlite3_stmt *find = r->sql[MT_SQL_TYPE_FIND], *insert = r->sql[MT_SQL_TYPE];
    int64_t row = 0;
    int error;

    mt_db_bind_text(find, 1, name);
    error = mt_db_run_number(&r->db, find, "write a type", &row);
    if (!error && !row) {
        mt_db_bind(insert, 1, id);
        mt_db_bind_text(insert, 2, name);
        mt_db_bind_text(insert, 3, description ? description : "");
        error = mt_db_run_number(&r->db, insert, "write a type", &row);
    }
    if (error)
        return mt_error_set(TRACER_EDB, "%s", mt_error_detail());
    r->type_rows[id] = row;
    return TRACER_OK;
}

int mt_recorder_type(struct mt_recorder *r, uint32_t id, const char *name, const char *description)
{
    struct mt_user_type *kept;
    int error;

    if (id < MT_TYPE_USER_FIRST || id >= MT_TYPE_CAPACITY)
        return mt_error_set(TRACER_EINVAL, "%u is not the id of a user's type", id);
    mt_fork_gate_enter();
    error = mt_recorder_begin(r);
    if (!error)
        error = write_type(r, id, name, description);
    mt_fork_gate_leave();
    kept = &r->user_types[id - MT_TYPE_USER_FIRST];
    if (error || kept->used)
        return error;
    kept->used = true;
    snprintf(kept->name, sizeof(kept->name), "%s", name);
    snprintf(kept->description, sizeof(kept->description), "%s", description ? description : "");
    return TRACER_OK;
}

static int write_state(struct mt_recorder *r, const char *state, const char *detail,
                       int64_t stop_wall_ns)
{
    sqlite3_stmt *q = r->sql[MT_SQL_RUN_STATE];
    int error = mt_recorder_begin(r);

    if (error)
        return error;
    mt_db_bind(q, 1, r->run);
    mt_db_bind_text(q, 2, state);
    mt_db_bind_text(q, 3, detail ? detail : "");
    mt_db_bind_known(q, 4, stop_wall_ns);
    return mt_recorder_run(r, MT_SQL_RUN_STATE, "write its state");
}

int mt_recorder_state(struct mt_recorder *r, const char *state, const char *detail)
{
    int error;

    mt_fork_gate_enter();
    error = write_state(r, state, detail, -1);
    mt_fork_gate_leave();
    return error;
}

static int flush_extension(struct mt_recorder *r)
{
    int error;

    if (!r->more.ticks)
        return TRACER_OK;
    error = mt_recorder_begin(r);
    if (!error)
        error = mt_recorder_flush_extension(r);
    if (!error)
        memset(&r->more, 0, sizeof(r->more));
    return error;
}

static void count_pages(struct mt_recorder *r)
{
    struct mt_retention *t = &r->retention;

    mt_db_run_number(&r->db, r->sql[MT_SQL_PAGE_COUNT], "measure it", &t->pages);
    mt_db_run_number(&r->db, r->sql[MT_SQL_FREE_COUNT], "measure it", &t->free_pages);
}

static void add_up(struct mt_recorder *r)
{
    r->file_bytes =
        (uint64_t)r->retention.pages * PAGE_BYTES + (uint64_t)r->wal_pages * WAL_FRAME_BYTES;
}

void mt_recorder_measure(struct mt_recorder *r)
{
    count_pages(r);
    add_up(r);
}

static int commit(struct mt_recorder *r)
{
    int error = flush_extension(r);

    if (error)
        return error;
    if (!r->open)
        return TRACER_OK;
    error = mt_recorder_begin(r); /* is it the one that was begun? */
    if (error)
        return error;
    count_pages(r); /* after the commit these would be transactions of their own */
    error = mt_recorder_run(r, MT_SQL_COMMIT, "write it");
    if (error)
        return error;
    r->open = false;
    r->committed = r->at;
    r->unsynced = r->wal;
    mt_recorder_events_committed(r);
    mt_recorder_checkpoint(r);
    add_up(r);
    mt_retention_after_commit(r); /* what is committed is so whether or not this finds room */
    return TRACER_OK;
}

/* A commit into the -wal is safe from the end of this process, but from the end of the machine only
 * once it was synced. SQLite would do that inside each COMMIT (synchronous = FULL), retention's
 * too, with forks of the host waiting; this is once an interval, and nobody waits. A disk that
 * fails is asked again after the next commit. */
static void sync_log(struct mt_recorder *r)
{
    int64_t now_ns = mt_os_monotonic_ns();

    if (!r->unsynced || now_ns - r->synced_ns < r->sync_each_ns || mt_db_sync_log(&r->db))
        return;
    r->unsynced = false;
    r->synced_ns = now_ns;
}

int mt_recorder_commit(struct mt_recorder *r)
{
    int error;

    mt_fork_gate_enter();
    error = commit(r);
    mt_fork_gate_leave();
    if (!error)
        sync_log(r);
    return error;
}

bool mt_recorder_can_wait(const struct mt_recorder *r)
{
    return !r->open && !r->unsynced && r->more.until_ns - r->more.since_ns < STEADY_NS;
}

void mt_recorder_rollback(struct mt_recorder *r)
{
    if (!r->open)
        return;
    mt_fork_gate_enter();
    if (!sqlite3_get_autocommit(r->db.handle)) {
        sqlite3_step(r->sql[MT_SQL_ROLLBACK]);
        sqlite3_reset(r->sql[MT_SQL_ROLLBACK]);
    }
    mt_fork_gate_leave();
    if (r->at.sample != r->committed.sample)
        memset(&r->more, 0, sizeof(r->more));
    memset(r->string_rows, 0, r->string_capacity * sizeof(*r->string_rows));
    mt_retention_rolled_back(r);
    mt_recorder_events_forget(r);
    mt_recorder_forget_counters(r);
    r->at = r->committed;
    r->again = MT_AGAIN_ALL;
    r->allocator = NULL;
    r->open = false;
}

uint64_t mt_recorder_own_address(const struct mt_recorder *r)
{
    return (uintptr_t)r->db.handle;
}

uint64_t mt_recorder_file_bytes(const struct mt_recorder *r)
{
    return r->file_bytes;
}

static int write_end(struct mt_recorder *r, const char *state, const char *detail)
{
    int error = write_state(r, state, detail, mt_os_wall_ns());

    if (!error)
        error = commit(r);
    if (error)
        mt_recorder_rollback(r);
    return error;
}

/* How it ended can be told without what is lost. */
static int write_end_again(struct mt_recorder *r, const char *state, int error)
{
    char lost[MT_ERROR_DETAIL_BYTES];

    snprintf(lost, sizeof(lost), "%s", mt_error_detail());
    write_end(r, state, lost);
    return mt_error_set(error, "%s", lost);
}

int mt_recorder_close(struct mt_recorder *r, const char *state, const char *detail)
{
    int error, last;

    mt_fork_gate_enter();
    error = write_end(r, state, detail);
    if (error)
        error = write_end_again(r, state, error);
    for (int i = 0; i < MT_SQL_COUNT; i++)
        sqlite3_reset(r->sql[i]);
    last = mt_db_make_plain(&r->db);
    mt_db_close(&r->db);
    mt_fork_gate_leave();
    mt_memory_free(r->string_rows);
    mt_memory_free(r->events);
    mt_memory_free(r);
    if (last == TRACER_ESTATE) /* somebody is looking at the file: it is complete all the same */
        last = TRACER_OK;
    return error ? error : last;
}
