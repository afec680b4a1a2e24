/* SPDX-License-Identifier: MIT */
/* record: the thin layer on sqlite3. In: SQL of the library's own. Out: TRACER_ codes, details.
 * Called by recorder*.c, seed.c, retention.c and read/finish.c. Must not call sqlite3_config or
 * sqlite3_shutdown: the host may use the same copy of SQLite. */
#include "record/db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "record/vfs.h"

#define LOOKASIDE_SLOT 512
#define LOOKASIDE_SLOTS 200
#define SHM_REGION_BYTES 32768 /* of SQLite's WAL index */

static const char connection_pragmas[] =
    "PRAGMA mmap_size = 0;" /* a truncated map would kill the host with SIGBUS */
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA cache_size = -512;"
    "PRAGMA trusted_schema = OFF;"
    "PRAGMA journal_size_limit = 4194304;";

/* SQLite's code and what the system said, as one of ours. */
static int code_of(const struct mt_db *db, int rc)
{
    int system = db->handle ? sqlite3_system_errno(db->handle) : 0;

    switch (rc & 0xff) {
    case SQLITE_NOMEM: return TRACER_ENOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: /* too many at the locks of the -wal for too long */ return TRACER_ESTATE;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH: return TRACER_EDENIED;
    case SQLITE_CANTOPEN:
        return system == EACCES || system == EPERM || system == EROFS ? TRACER_EDENIED : TRACER_EIO;
    case SQLITE_IOERR: return TRACER_EIO;
    }
    return TRACER_EDB;
}

static const char *advice_of(const struct mt_db *db, int rc)
{
    int system = db->handle ? sqlite3_system_errno(db->handle) : 0;

    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: return "another program has it locked: end that program's transaction";
    case SQLITE_FULL: return "no space left: free some, or choose another folder";
    case SQLITE_CANTOPEN: return "does its folder exist, and may this user write there?";
    case SQLITE_READONLY:
    case SQLITE_PERM: return "it cannot be written: change its rights, or choose another path";
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return "it is not a sound SQLite file: choose another path";
    case SQLITE_IOERR:
        return system == EBADF ? "the host closed its descriptor: stop the tracer and start it anew"
                               : "the disk or file system failed";
    }
    return "see the SQLite message";
}

int mt_db_error(const struct mt_db *db, int rc, const char *doing)
{
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
        return TRACER_OK;
    return mt_error_set(code_of(db, rc), "%s: cannot %s: %s (SQLite: %s)", db->path, doing,
                        advice_of(db, rc),
                        db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(rc));
}

/* Without effect where SQLite was built with OMIT_LOOKASIDE, as Debian's is: there each commit
 * takes some hundred small blocks from malloc. */
static void set_lookaside(struct mt_db *db)
{
    db->lookaside = mt_memory_alloc((size_t)LOOKASIDE_SLOT * LOOKASIDE_SLOTS);
    if (db->lookaside)
        sqlite3_db_config(db->handle, SQLITE_DBCONFIG_LOOKASIDE, db->lookaside, LOOKASIDE_SLOT,
                          LOOKASIDE_SLOTS);
}

/* Where a host has turned all mutexes off at run time, a connection that asks for one has none. */
int mt_db_check_threads(const char *path)
{
    sqlite3 *probe = NULL;
    bool has_mutexes;
    int rc;

    if (!sqlite3_threadsafe())
        return mt_error_set(TRACER_EDB,
                            "%s: this SQLite was built without thread safety "
                            "(SQLITE_THREADSAFE=0): link another one",
                            path);
    rc = sqlite3_open_v2(":memory:", &probe, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, NULL);
    has_mutexes = probe && sqlite3_db_mutex(probe);
    sqlite3_close(probe);
    if (rc != SQLITE_OK)
        return mt_error_set(rc == SQLITE_NOMEM ? TRACER_ENOMEM : TRACER_EDB,
                            "%s: cannot open it: %s", path, sqlite3_errstr(rc));
    if (!has_mutexes)
        return mt_error_set(TRACER_EDB,
                            "%s: this program has turned the mutexes of SQLite off "
                            "(SQLITE_CONFIG_SINGLETHREAD): set SQLITE_CONFIG_MULTITHREAD, or watch "
                            "it from outside by memtracer record",
                            path);
    return TRACER_OK;
}

int mt_db_open(struct mt_db *db, const char *path, const char *vfs_name)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                      SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
    int rc, error;

    memset(db, 0, sizeof(*db));
    snprintf(db->path, sizeof(db->path), "%s", path);
    rc = sqlite3_open_v2(path, &db->handle, flags, vfs_name);
    error = mt_db_error(db, rc, "open it");
    if (error)
        return error;
    set_lookaside(db);
    sqlite3_busy_timeout(db->handle, MT_DB_BUSY_MS);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_limit(db->handle, SQLITE_LIMIT_ATTACHED, 0);
    if (sqlite3_db_readonly(db->handle, "main"))
        return mt_error_set(TRACER_EDENIED,
                            "%s: it cannot be written: change its rights, or "
                            "choose another path",
                            path);
    return mt_db_script(db, connection_pragmas, "set it up");
}

void mt_db_close(struct mt_db *db)
{
    for (int i = 0; i < db->n_statements; i++)
        sqlite3_finalize(db->statements[i]);
    sqlite3_close(db->handle);
    mt_memory_free(db->lookaside);
    db->handle = NULL;
    db->lookaside = NULL;
    db->n_statements = 0;
}

int mt_db_prepare(struct mt_db *db, const char *const *sql, int n, sqlite3_stmt **out)
{
    db->statements = out;
    for (int i = 0; i < n; i++) {
        int rc =
            sqlite3_prepare_v3(db->handle, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &out[i], NULL);

        if (rc)
            return mt_db_error(db, rc, "use its tables");
        db->n_statements = i + 1;
    }
    return TRACER_OK;
}

int mt_db_script(struct mt_db *db, const char *sql, const char *doing)
{
    return mt_db_error(db, sqlite3_exec(db->handle, sql, NULL, NULL, NULL), doing);
}

int mt_db_number(struct mt_db *db, const char *sql, int64_t missing, int64_t *out)
{
    sqlite3_stmt *s = NULL;
    int64_t value = missing;
    int rc = sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    if (rc == SQLITE_ROW || rc == SQLITE_DONE)
        *out = value;
    return mt_db_error(db, rc, "read it");
}

int mt_db_run_number(struct mt_db *db, sqlite3_stmt *s, const char *doing, int64_t *out)
{
    int rc = sqlite3_step(s), error;

    if (rc == SQLITE_ROW) {
        *out = sqlite3_column_int64(s, 0);
        rc = sqlite3_step(s);
    }
    error = mt_db_error(db, rc, doing);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return error;
}

int mt_db_run(struct mt_db *db, sqlite3_stmt *s, const char *doing)
{
    int64_t ignored;

    return mt_db_run_number(db, s, doing, &ignored);
}

/* A pragma that answers with a word: sets journal_mode and tells whether the word is `wanted`. It
 * answers before it commits, so that what fails there is known only at the end. */
static int set_journal(struct mt_db *db, const char *sql, const char *wanted, bool *out)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    *out = false;
    if (rc == SQLITE_ROW) {
        const char *word = (const char *)sqlite3_column_text(s, 0);

        *out = word && !strcmp(word, wanted);
        rc = word ? sqlite3_step(s) : SQLITE_NOMEM;
    }
    sqlite3_finalize(s);
    return mt_db_error(db, rc, "set its journal mode");
}

/* Not every file system can share memory. SQLite finds that out only after the header says WAL, and
 * then nobody can open the file; so it is tried before. No -shm stays, also none of a WAL that
 * could not be begun. Only for a file that is plain. */
static bool share_memory_once(const struct mt_db *db)
{
    sqlite3_file *file = NULL;
    void volatile *p = NULL;
    bool can;

    sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, (void *)&file);
    if (!file || !file->pMethods || file->pMethods->iVersion < 2)
        return false;
    can = file->pMethods->xShmMap(file, 0, SHM_REGION_BYTES, 1, &p) == SQLITE_OK && p;
    file->pMethods->xShmUnmap(file, 1); /* of a file without a log, nobody uses it */
    return can;
}

int mt_db_journal_wal(struct mt_db *db, bool *out_wal)
{
    bool plain;
    int error = set_journal(db, "PRAGMA journal_mode", "wal", out_wal);

    if (!error && !*out_wal && share_memory_once(db))
        error = set_journal(db, "PRAGMA journal_mode = WAL", "wal", out_wal);
    if (error || !*out_wal) {
        error = set_journal(db, "PRAGMA journal_mode = DELETE", "delete", &plain);
        if (!error && plain)
            share_memory_once(db);
    }
    if (!error)
        error = mt_db_script(db, "PRAGMA synchronous = NORMAL", "set it up");
    sqlite3_wal_autocheckpoint(db->handle, 0);
    return error;
}

int mt_db_sync_log(struct mt_db *db)
{
    sqlite3_file *log = NULL;

    sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, (void *)&log);
    if (!log || !log->pMethods)
        return TRACER_OK;
    return mt_db_error(db, log->pMethods->xSync(log, SQLITE_SYNC_NORMAL), "bring it to the disk");
}

/* A deleted file would take rows that nobody can ever read, without an error. */
int mt_db_check_place(struct mt_db *db)
{
    int moved = 0, cut = 0;

    sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved)
        return mt_error_set(TRACER_EDB,
                            "%s was deleted or moved while it was recorded: stop the tracer and "
                            "start it anew",
                            db->path);
    sqlite3_file_control(db->handle, "main", MT_VFS_IS_CUT, &cut);
    if (cut)
        return mt_error_set(TRACER_EDB,
                            "%s, or its -wal, was cut short by another program while it was "
                            "recorded, and what was there is lost: stop the tracer and start it "
                            "anew",
                            db->path);
    return TRACER_OK;
}

int mt_db_make_plain(struct mt_db *db)
{
    bool plain;
    /* Another file may have the name by now: its -wal is not ours to take away. */
    int error = mt_db_check_place(db);

    if (error)
        return error;
    sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    error = set_journal(db, "PRAGMA journal_mode = DELETE", "delete", &plain);
    if ((!error && !plain) || error == TRACER_ESTATE)
        return mt_error_set(TRACER_ESTATE,
                            "%s: a reader has it open, so its -wal stays beside it; "
                            "end the reader and run `memtracer finish`",
                            db->path);
    return error;
}

void mt_db_bind(sqlite3_stmt *s, int i, int64_t value)
{
    sqlite3_bind_int64(s, i, value);
}

void mt_db_bind_known(sqlite3_stmt *s, int i, int64_t value)
{
    if (value >= 0)
        sqlite3_bind_int64(s, i, value);
}

/* Static: all callers run the statement before the text can go. */
void mt_db_bind_text(sqlite3_stmt *s, int i, const char *text)
{
    sqlite3_bind_text(s, i, text, -1, SQLITE_STATIC);
}
