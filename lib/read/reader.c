/* SPDX-License-Identifier: MIT */
/* read: a path → a connection that can only look.
 * In: a path. Out: a reader, or a refusal that names the way out. Called by the host and the CLI.
 * Must not write, checkpoint or trust the file: its schema may have been made by anyone. */
#include "memtracer/reader.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "read/query.h"
#include "record/file.h"

#define BUSY_MS 5000

/* What one query may do: an end for views that have none. Steps are of SQLite's machine; as one
 * step may copy megabytes, CPU time is counted too. Both grow with the file: a plain look at all of
 * it takes some 20 steps and 1 µs for a row of 50 bytes. */
#define STEPS_BETWEEN_LOOKS 1000
#define STEPS_OF_ANY_FILE INT64_C(200000000)
#define STEPS_OF_A_BYTE 2000
#define STEPS_OF_THE_FIRST 1000000 /* the question of open: is there a run? */
#define NS_OF_ANY_FILE INT64_C(5000000000)
#define NS_OF_A_BYTE 5000

static const struct {
    int id, most;
} limits[] = {
    {SQLITE_LIMIT_ATTACHED, 0},       {SQLITE_LIMIT_COLUMN, MT_READ_COLUMNS},
    {SQLITE_LIMIT_LENGTH, 64 << 20},  {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
    {SQLITE_LIMIT_EXPR_DEPTH, 200},   {SQLITE_LIMIT_COMPOUND_SELECT, 50},
    {SQLITE_LIMIT_WORKER_THREADS, 0}, {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
};

/* Pragmas that only tell something; of some the argument is a name, of others it would write. */
static const struct {
    const char *name;
    bool takes_argument;
} harmless[] = {
    {"table_info", true},      {"table_xinfo", true},   {"table_list", true},
    {"index_list", true},      {"index_info", true},    {"quick_check", true},
    {"integrity_check", true}, {"user_version", false}, {"application_id", false},
    {"page_count", false},     {"page_size", false},    {"freelist_count", false},
    {"journal_mode", false},
};

static int allow_pragma(const char *name, const char *argument)
{
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
        if (!sqlite3_stricmp(name, harmless[i].name))
            return argument && !harmless[i].takes_argument ? SQLITE_DENY : SQLITE_OK;
    return SQLITE_DENY;
}

/* Called by SQLite while it compiles: also views of the file pass through here. */
static int authorize(void *user, int action, const char *a, const char *b, const char *c,
                     const char *d)
{
    (void)user;
    (void)c;
    (void)d;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
        return b && !sqlite3_stricmp(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA: return a ? allow_pragma(a, b) : SQLITE_DENY;
    }
    return SQLITE_DENY;
}

int mt_read_error(tracer_reader *r, int rc)
{
    const char *text = sqlite3_errcode(r->handle) ? sqlite3_errmsg(r->handle) : sqlite3_errstr(rc);

    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return TRACER_OK;
    case SQLITE_AUTH:
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return mt_error_set(TRACER_EDENIED, "%s: only reading is allowed here: %s", r->path, text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return mt_error_set(TRACER_ESTATE, "%s is locked by another program: try again", r->path);
    case SQLITE_NOMEM: return mt_error_set(TRACER_ENOMEM, "no memory to read %s", r->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return mt_error_set(TRACER_EDB, "%s is damaged: %s", r->path, text);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: return mt_error_set(TRACER_EIO, "%s cannot be read: %s", r->path, text);
    case SQLITE_TOOBIG:
        return mt_error_set(TRACER_ELIMIT, "%s: a value or the SQL is too long: %s", r->path, text);
    case SQLITE_INTERRUPT:
        return mt_error_set(TRACER_ELIMIT,
                            "%s: the query has no end, or takes far longer than a file of "
                            "that size should need: ask for less, or look at its views",
                            r->path);
    }
    return mt_error_set(TRACER_EINVAL, "%s: SQLite says: %s", r->path, text);
}

/* Called by SQLite now and then while a query runs. */
static int count_steps(void *user)
{
    tracer_reader *r = user;

    r->steps += STEPS_BETWEEN_LOOKS;
    if (r->steps > r->steps_most)
        return 1;
    if (mt_os_monotonic_ns() - r->began_ns <= r->ns_most)
        return 0;
    /* Slow disks and a busy machine are not the query's fault. */
    return mt_os_thread_cpu_ns() - r->began_cpu_ns > r->ns_most;
}

static int64_t ask_pragma(sqlite3 *handle, const char *sql)
{
    sqlite3_stmt *q = NULL;
    int64_t value = 0;

    if (!sqlite3_prepare_v2(handle, sql, -1, &q, NULL) && sqlite3_step(q) == SQLITE_ROW)
        value = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return value;
}

/* Pages are of 65536 bytes at most, and 2^32 - 2 in number. */
static int64_t bytes_of(sqlite3 *handle)
{
    return ask_pragma(handle, "PRAGMA page_count") * ask_pragma(handle, "PRAGMA page_size");
}

void mt_read_begin(tracer_reader *r)
{
    r->steps = 0;
    r->began_ns = mt_os_monotonic_ns();
    r->began_cpu_ns = mt_os_thread_cpu_ns();
}

static void harden(tracer_reader *r)
{
    sqlite3 *handle = r->handle;

    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        sqlite3_limit(handle, limits[i].id, limits[i].most);
    sqlite3_busy_timeout(handle, BUSY_MS);
    sqlite3_exec(handle,
                 "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;"
                 "PRAGMA query_only = ON;",
                 NULL, NULL, NULL);
    sqlite3_set_authorizer(handle, authorize, NULL);
    r->steps_most = STEPS_OF_THE_FIRST;
    r->ns_most = NS_OF_ANY_FILE;
    mt_read_begin(r);
    sqlite3_progress_handler(handle, STEPS_BETWEEN_LOOKS, count_steps, r);
}

static void set_limits(tracer_reader *r)
{
    int64_t bytes = bytes_of(r->handle);

    r->steps_most = STEPS_OF_ANY_FILE + STEPS_OF_A_BYTE * bytes;
    r->ns_most = NS_OF_ANY_FILE + NS_OF_A_BYTE * bytes;
}

static int connect_to(tracer_reader *r, const char *name, int uri)
{
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | uri;
    int rc = sqlite3_open_v2(name, &r->handle, flags, NULL);

    if (rc == SQLITE_OK) {
        harden(r);
        rc = sqlite3_exec(r->handle, "SELECT 1 FROM run LIMIT 1", NULL, NULL, NULL);
        set_limits(r);
    }
    return rc;
}

/* The path as a URI that says the file does not change. */
static void immutable_uri(const char *path, char *out, size_t out_bytes)
{
    size_t n = (size_t)snprintf(out, out_bytes, "file:%s", path[0] && path[1] == ':' ? "///" : "");

    for (; *path && n + 20 < out_bytes; path++) {
        unsigned char c = (unsigned char)*path;

        if (isalnum(c) || strchr("/._-:", c))
            out[n++] = (char)c;
        else
            n += (size_t)snprintf(out + n, out_bytes - n, "%%%02X", c);
    }
    snprintf(out + n, out_bytes - n, "?immutable=1");
}

static bool has_beside(const char *path, const char *ending)
{
    char name[4200];
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    int exists = 0;

    snprintf(name, sizeof(name), "%s%s", path, ending);
    /* SQLite calls a file of no bytes missing, which is what is asked here. */
    return vfs && !vfs->xAccess(vfs, name, SQLITE_ACCESS_EXISTS, &exists) && exists;
}

/* A file in WAL mode needs -shm beside it, which cannot be made in a folder one may only read.
 * Without a -wal nothing is missing, and the file may be taken as it is; but not with a -journal,
 * by which a writer that was cut off gets undone. */
static int connect_unchanging(tracer_reader *r)
{
    char uri[3 * 4096 + 64];

    if (has_beside(r->path, "-journal"))
        return mt_error_set(TRACER_EDENIED,
                            "%s was cut off in a change, which its -journal undoes, and that is "
                            "not for a reader: run `memtracer finish`, or copy both files first",
                            r->path);
    if (has_beside(r->path, "-wal"))
        return mt_error_set(TRACER_EDENIED,
                            "%s has rows in its -wal that cannot be read in a "
                            "folder you may not write: copy both files elsewhere",
                            r->path);
    immutable_uri(r->path, uri, sizeof(uri));
    sqlite3_close(r->handle);
    r->handle = NULL;
    return mt_read_error(r, connect_to(r, uri, SQLITE_OPEN_URI));
}

static int open_checked(tracer_reader *r)
{
    enum mt_file_kind kind;
    int error = mt_file_check(r->path, NULL, &kind), rc;

    if (error)
        return error;
    if (kind == MT_FILE_NEW)
        return mt_error_set(TRACER_EIO,
                            "%s does not exist or is empty: nothing has been recorded "
                            "there",
                            r->path);
    rc = connect_to(r, r->path, 0);
    if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY)
        return connect_unchanging(r);
    if (rc == SQLITE_ERROR)
        return mt_error_set(TRACER_EDB, "%s lacks a table of memtracer's: %s", r->path,
                            sqlite3_errmsg(r->handle));
    return mt_read_error(r, rc);
}

int tracer_reader_open(const char *path, tracer_reader **out)
{
    tracer_reader *r;
    int error;

    if (!path || !path[0] || !out)
        return mt_error_set(TRACER_EINVAL, "tracer_reader_open: path or out is missing");
    if (strlen(path) >= sizeof(r->path))
        return mt_error_set(TRACER_EINVAL, "the path is longer than %d bytes",
                            (int)sizeof(r->path) - 1);
    r = mt_memory_alloc(sizeof(*r));
    if (!r)
        return mt_error_set(TRACER_ENOMEM, "no memory for a reader");
    snprintf(r->path, sizeof(r->path), "%s", path);
    error = open_checked(r);
    if (error)
        tracer_reader_close(r);
    else
        *out = r;
    return error;
}

void tracer_reader_close(tracer_reader *r)
{
    if (!r)
        return;
    sqlite3_close(r->handle);
    mt_memory_free(r);
}
