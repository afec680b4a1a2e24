/* SPDX-License-Identifier: MIT */
/* record: the thin layer on sqlite3. One connection with prepared statements, used by one thread.
 * SQLite result codes end here: every function answers with a TRACER_ code and a detail that
 * names the file. */
#ifndef MT_RECORD_DB_H
#define MT_RECORD_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define MT_DB_BUSY_MS 2000 /* how long another writer is waited for */

struct mt_db {
    sqlite3 *handle;
    sqlite3_stmt **statements;
    int n_statements;
    void *lookaside; /* SQLite's small blocks, not from the host's allocator */
    char path[4096];
};

/* An error where this SQLite cannot serve a thread beside the host's. */
int mt_db_check_threads(const char *path);

/* Opens for writing; the file is made when missing. Sets limits and pragmas of the connection. */
int mt_db_open(struct mt_db *db, const char *path, const char *vfs_name);

/* Never checkpoints: mt_db_make_plain() does. NULL handle is fine. */
void mt_db_close(struct mt_db *db);

/* Prepares `n` statements into the caller's array, which lives as long as the connection. */
int mt_db_prepare(struct mt_db *db, const char *const *sql, int n, sqlite3_stmt **out);

/* Runs a script of the library's own. */
int mt_db_script(struct mt_db *db, const char *sql, const char *doing);

/* The first column of the first row, `missing` when there is no row. */
int mt_db_number(struct mt_db *db, const char *sql, int64_t missing, int64_t *out);

/* Steps a statement that gives no row, resets it and clears its parameters. */
int mt_db_run(struct mt_db *db, sqlite3_stmt *s, const char *doing);

/* Steps a statement that gives at most one number; `*out` stays when there is none. */
int mt_db_run_number(struct mt_db *db, sqlite3_stmt *s, const char *doing, int64_t *out);

/* Words the result `rc` of something done to the file; 0 for SQLITE_OK, ROW and DONE. */
int mt_db_error(const struct mt_db *db, int rc, const char *doing);

/* WAL where the file system can, else a rollback journal; says which. */
int mt_db_journal_wal(struct mt_db *db, bool *out_wal);

/* What was committed is on the disk when this returns 0; nothing to do without a -wal. */
int mt_db_sync_log(struct mt_db *db);

/* An error where the file is not what was written: another is there by its name, or it, or its log,
 * was cut short. */
int mt_db_check_place(struct mt_db *db);

/* Takes the -wal over and leaves one plain file; ESTATE when a reader has it open: nothing is lost
 * then, but the -wal stays. */
int mt_db_make_plain(struct mt_db *db);

/* Parameters; negative means unknown for mt_db_bind_known(). */
void mt_db_bind(sqlite3_stmt *s, int i, int64_t value);
void mt_db_bind_known(sqlite3_stmt *s, int i, int64_t value);
void mt_db_bind_text(sqlite3_stmt *s, int i, const char *text);

#endif
