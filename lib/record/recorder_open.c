/* SPDX-License-Identifier: MIT */
/* record: from a path to a recorder with a run.
 * In: path, facts of the process. Out: an open recorder, or a refusal that left the file alone.
 * Called by the sampler's thread at its start. Must not write before the file is known to be new
 * or memtracer's, and nobody's at the moment. */
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "memtracer/version.h"
#include "record/fork_gate.h"
#include "record/recorder_private.h"
#include "record/vfs.h"

#define STRING_ROOM 65536u
#define NS_PER_MS INT64_C(1000000)
#define SYNC_MS_LEAST 1000

#define STRINGIFY(x) #x
#define DIGITS(x) STRINGIFY(x)

/* auto_vacuum writes the file: it has to be part of the one transaction that makes it, or a kill
 * in between leaves a database that nobody knows. */
static const char begin_new[] = "PRAGMA page_size = 4096; BEGIN; PRAGMA auto_vacuum = INCREMENTAL;";
static const char identity[] = "PRAGMA application_id = " DIGITS(
    TRACER_APPLICATION_ID) ";"
                           "PRAGMA user_version = " DIGITS(TRACER_SCHEMA_VERSION) ";";

static int create_tables(struct mt_db *db)
{
    int error = mt_db_script(db, mt_schema[0].text, "make its tables");

    if (!error)
        error = mt_db_script(db, identity, "make its tables");
    return error;
}

/* Tables where the file is empty, fixed rows, runs that were cut off. */
static int fill_file(struct mt_db *db)
{
    bool empty;
    int error = mt_file_check_open(db, &empty);

    if (!error && empty)
        error = create_tables(db);
    if (!error)
        error = mt_file_check_alive(db);
    if (!error)
        error = mt_file_interrupt_runs(db);
    if (!error)
        error = mt_seed(db);
    return error;
}

/* Looks without a lock first, so that a live recording is told by its name, then does all in one
 * transaction. */
static int prepare_file(struct mt_db *db)
{
    bool empty;
    int error = mt_file_check_open(db, &empty);

    if (!error && !empty)
        error = mt_file_check_alive(db);
    if (error)
        return error;
    error = mt_db_script(db, empty ? begin_new : "BEGIN IMMEDIATE", "begin to write it");
    if (!error)
        error = fill_file(db);
    if (!error)
        error = mt_db_script(db, "COMMIT", "write it");
    if (error)
        sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    return error;
}

static int check_trust(const char *path)
{
    char why[512];

    mt_os_path_distrust(path, why, sizeof(why));
    return why[0] ? mt_error_set(TRACER_EDENIED, "%s", why) : TRACER_OK;
}

static int open_file(struct mt_recorder *r, const char *path)
{
    static const char *const sql[MT_SQL_COUNT] = {
#define MT_STATEMENT(name, text) [MT_SQL_##name] = text,
#include "record/statement.def"
#undef MT_STATEMENT
    };
    enum mt_file_kind kind;
    int error = check_trust(path);

    if (!error)
        error = mt_db_check_threads(path);
    if (!error)
        error = mt_file_check(path, mt_vfs_name(), &kind);
    if (error)
        return error;
    if (kind == MT_FILE_NEW)
        mt_os_file_create(path);
    error = mt_db_open(&r->db, path, mt_vfs_name());
    if (!error)
        error = prepare_file(&r->db);
    if (!error)
        error = mt_db_journal_wal(&r->db, &r->wal);
    if (!error)
        error = mt_db_prepare(&r->db, sql, MT_SQL_COUNT, r->sql);
    return error;
}

/* A random uuid, version 4. */
static void make_uuid(char out[37])
{
    uint8_t b[16];
    int n = 0;

    mt_os_random(b, sizeof(b));
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    for (int i = 0; i < 16; i++)
        n += snprintf(out + n, (size_t)(37 - n),
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", b[i]);
}

static void bind_facts(sqlite3_stmt *s, const struct mt_run_info *info)
{
    const struct mt_os_facts *f = info->facts;

    mt_db_bind_text(s, 3, f->host);
    mt_db_bind_text(s, 4, f->os);
    mt_db_bind(s, 5, info->pid);
    mt_db_bind_known(s, 6, f->parent_pid);
    mt_db_bind_text(s, 9, f->exe);
    mt_db_bind_text(s, 10, f->name);
    mt_db_bind_text(s, 11, f->allocator);
    mt_db_bind_known(s, 14, f->process_start_ns);
    mt_db_bind_known(s, 21, f->host_memory_bytes);
    mt_db_bind_known(s, 22, f->cgroup_limit_bytes);
    mt_db_bind_known(s, 23, f->address_limit_bytes);
    mt_db_bind_known(s, 24, f->data_limit_bytes);
    mt_db_bind_known(s, 25, f->max_regions);
}

/* Who writes: the watched process itself, or one that watches it from outside. */
static int bind_recorder(sqlite3_stmt *s, const struct mt_run_info *info)
{
    struct mt_os_facts *own;

    mt_db_bind(s, 7, mt_os_process_id());
    if (info->pid == mt_os_process_id()) {
        mt_db_bind_known(s, 8, info->facts->process_start_ns);
        return TRACER_OK;
    }
    own = mt_memory_alloc(sizeof(*own));
    if (!own)
        return mt_error_set(TRACER_ENOMEM, "no memory for the recorder");
    mt_os_facts_read(mt_os_process_id(), own);
    mt_db_bind_known(s, 8, own->process_start_ns);
    mt_memory_free(own);
    return TRACER_OK;
}

static int insert_run(struct mt_recorder *r, const struct mt_run_info *info)
{
    sqlite3_stmt *s = r->sql[MT_SQL_RUN];
    char uuid[37];
    int error = bind_recorder(s, info);

    if (error)
        return error;
    make_uuid(uuid);
    mt_db_bind_text(s, 1, uuid);
    mt_db_bind_text(s, 2, info->label ? info->label : info->facts->name);
    bind_facts(s, info);
    mt_db_bind(s, 12, info->start_wall_ns);
    mt_db_bind(s, 13, info->start_monotonic_ns);
    mt_db_bind(s, 15, (int64_t)mt_os_page_bytes());
    mt_db_bind(s, 16, info->interval_ms);
    mt_db_bind(s, 17, info->commit_ms);
    mt_db_bind(s, 18, (int64_t)info->budget_ns);
    mt_db_bind(s, 19, info->flags);
    if (info->max_file_bytes)
        mt_db_bind(s, 20, (int64_t)info->max_file_bytes);
    mt_db_bind_text(s, 26, TRACER_VERSION_STRING);
    mt_db_bind_text(s, 27, sqlite3_libversion());
    error = mt_recorder_run(r, MT_SQL_RUN, "begin a run");
    r->run = sqlite3_last_insert_rowid(r->db.handle);
    return error;
}

/* What the rows already there tell: where numbers go on. */
static int read_position(struct mt_recorder *r)
{
    int error = mt_db_number(&r->db, "SELECT max(id) FROM region", 0, &r->at.region_max);

    if (!error)
        error = mt_db_number(&r->db, "SELECT max(id) FROM module", 0, &r->at.module_max);
    if (!error)
        error = mt_db_number(&r->db, "SELECT max(id) FROM thread", 0, &r->at.thread_max);
    return error;
}

static int begin_run(struct mt_recorder *r, const struct mt_run_info *info)
{
    int error = read_position(r);

    if (!error)
        error = mt_retention_open(r);
    if (!error)
        error = mt_recorder_begin(r);
    if (!error) /* once more, now that nobody else can write: two may have come this far */
        error = mt_file_check_alive(&r->db);
    if (!error)
        error = insert_run(r, info);
    r->committed = r->at;
    r->again = MT_AGAIN_LEVELS;
    for (int i = 0; i < MT_TYPE_CAPACITY; i++)
        r->type_rows[i] = i;
    for (int i = 0; i < MT_COUNTER_USER_FIRST; i++)
        r->counter_rows[i] = i;
    return error ? error : mt_recorder_commit(r);
}

/* A commit that comes a little early is synced all the same. The first interval begins now: who
 * waits for the start does not wait for the disk. */
static void set_sync_pace(struct mt_recorder *r, uint32_t commit_ms)
{
    int64_t ms = commit_ms > SYNC_MS_LEAST ? commit_ms : SYNC_MS_LEAST;

    r->sync_each_ns = ms * NS_PER_MS / 10 * 9;
    r->synced_ns = mt_os_monotonic_ns();
}

static int last_wal_pages(void *user, sqlite3 *handle, const char *name, int n_pages)
{
    struct mt_recorder *r = user;

    (void)handle;
    (void)name;
    r->wal_pages = n_pages;
    return SQLITE_OK;
}

int mt_recorder_open(const char *path, const struct mt_run_info *info,
                     const struct mt_strings *strings, struct mt_recorder **out)
{
    struct mt_recorder *r = mt_memory_alloc(sizeof(*r));
    int error;

    if (!r)
        return mt_error_set(TRACER_ENOMEM, "no memory for the recorder");
    r->strings = strings;
    r->max_file_bytes = info->max_file_bytes;
    set_sync_pace(r, info->commit_ms);
    r->string_capacity = STRING_ROOM;
    r->string_rows = mt_memory_alloc(STRING_ROOM * sizeof(*r->string_rows));
    mt_fork_gate_enter();
    error = r->string_rows ? open_file(r, path)
                           : mt_error_set(TRACER_ENOMEM, "no memory for the recorder");
    if (!error) {
        sqlite3_wal_hook(r->db.handle, last_wal_pages, r);
        error = begin_run(r, info);
    }
    if (error)
        mt_db_close(&r->db);
    mt_fork_gate_leave();
    if (error) {
        mt_memory_free(r->string_rows);
        mt_memory_free(r);
        return error;
    }
    *out = r;
    return TRACER_OK;
}
