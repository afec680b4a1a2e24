/* SPDX-License-Identifier: MIT */
/* record: is this a memtracer file, and is someone writing it?
 * In: a path, or an open connection. Out: kind of file, refusals that name it.
 * Called by recorder_open.c and read/. Must not write before the answer is known. The header is
 * read through SQLite's own VFS: a descriptor of ours on the same file would, when closed, drop
 * every lock the process holds on it. */
#include "record/file.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "memtracer/version.h"
#include "record/vfs.h"

#define HEADER_BYTES 100
#define USER_VERSION_AT 60
#define APPLICATION_ID_AT 68
/* Start times come from two clocks of the kernel and may differ by a tick or a clock step. */
#define SAME_START_NS INT64_C(2000000000)

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int judge(const char *path, uint32_t application_id, uint32_t version)
{
    if (application_id != TRACER_APPLICATION_ID)
        return mt_error_set(TRACER_EDB,
                            "%s is a SQLite file of another program and was left "
                            "untouched: choose another path",
                            path);
    if (version > TRACER_SCHEMA_VERSION)
        return mt_error_set(TRACER_ESCHEMA,
                            "%s has schema %u, this memtracer knows up to %d: "
                            "use a newer memtracer or another path",
                            path, version, TRACER_SCHEMA_VERSION);
    if (version == 0)
        return mt_error_set(TRACER_EDB,
                            "%s says it is memtracer's but has no schema number: "
                            "choose another path",
                            path);
    return TRACER_OK;
}

static int judge_header(const char *path, int rc, const unsigned char *header)
{
    if (rc == SQLITE_IOERR_SHORT_READ ||
        (rc == SQLITE_OK && memcmp(header, "SQLite format 3", 16) != 0))
        return mt_error_set(TRACER_EDB,
                            "%s is not a SQLite file and was left untouched: choose "
                            "another path",
                            path);
    if (rc != SQLITE_OK)
        return mt_error_set(TRACER_EDB,
                            "%s cannot be read as a file (is it a directory?): "
                            "choose another path",
                            path);
    return judge(path, big_endian(header + APPLICATION_ID_AT),
                 big_endian(header + USER_VERSION_AT));
}

static int cannot_open(sqlite3_vfs *vfs, const char *path)
{
    int readable = 0;

    vfs->xAccess(vfs, path, SQLITE_ACCESS_READ, &readable);
    if (readable)
        return mt_error_set(TRACER_EDB,
                            "%s is not a regular file (a directory, a pipe?): "
                            "choose another path",
                            path);
    return mt_error_set(TRACER_EDENIED,
                        "%s cannot be read by this user: change its rights, or "
                        "choose another path",
                        path);
}

/* Of the file `name`; `path` is how it was called, and is called. */
static int read_header(sqlite3_vfs *vfs, const char *name, const char *path, sqlite3_file *file)
{
    unsigned char header[HEADER_BYTES];
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
    int rc = vfs->xOpen(vfs, name, file, flags, NULL);

    if (rc != SQLITE_OK)
        return cannot_open(vfs, path);
    rc = file->pMethods->xRead(file, header, HEADER_BYTES, 0);
    file->pMethods->xClose(file);
    return judge_header(path, rc, header);
}

/* Symbolic links are followed here as SQLite follows them when it opens the file. */
static int look_at(sqlite3_vfs *vfs, const char *path)
{
    char *block = mt_memory_alloc((size_t)vfs->szOsFile + (size_t)vfs->mxPathname + 1);
    char *resolved = block ? block + vfs->szOsFile : NULL;
    const char *name = NULL;
    int error;

    if (block && (vfs->xFullPathname(vfs, path, vfs->mxPathname, resolved) & 0xff) == SQLITE_OK)
        name = sqlite3_create_filename(resolved, "", "", 0, NULL);
    if (name)
        error = read_header(vfs, name, path, (sqlite3_file *)(void *)block);
    else
        error =
            mt_error_set(TRACER_ENOMEM, "no memory to look at %s, or its path is too long", path);
    sqlite3_free_filename((char *)(uintptr_t)name); /* its type lost a const in 3.40 */
    mt_memory_free(block);
    return error;
}

int mt_file_check(const char *path, const char *vfs_name, enum mt_file_kind *out)
{
    sqlite3_vfs *vfs = sqlite3_initialize() ? NULL : sqlite3_vfs_find(vfs_name);
    int exists = 0, rc, error;

    if (!vfs)
        return mt_error_set(TRACER_EDB, "SQLite cannot be initialized");
    if (mt_os_path_irregular(path)) /* first: to SQLite, a folder of Windows does not exist */
        return mt_error_set(TRACER_EDB,
                            "%s is not a regular file (a directory, a pipe?): "
                            "choose another path",
                            path);
    rc = vfs->xAccess(vfs, path, SQLITE_ACCESS_EXISTS, &exists);
    if (rc || !exists) {
        *out = MT_FILE_NEW;
        return TRACER_OK;
    }
    error = look_at(vfs, path);
    if (!error)
        *out = MT_FILE_OURS;
    return error;
}

int mt_file_check_open(struct mt_db *db, bool *out_empty)
{
    int64_t objects, application_id, version;
    int error = mt_db_number(db, "SELECT count(*) FROM sqlite_schema", 0, &objects);

    if (!error)
        error = mt_db_number(db, "PRAGMA application_id", 0, &application_id);
    if (!error)
        error = mt_db_number(db, "PRAGMA user_version", 0, &version);
    if (error)
        return error;
    *out_empty = !objects && !application_id && !version;
    return *out_empty ? TRACER_OK : judge(db->path, (uint32_t)application_id, (uint32_t)version);
}

/* Is `pid` on this host the very process that began at `start_ns`? */
static bool same_process(uint32_t pid, int64_t start_ns, struct mt_os_facts *facts)
{
    int64_t apart;

    if (!mt_os_process_alive(pid))
        return false;
    mt_os_facts_read(pid, facts);
    apart = facts->process_start_ns - start_ns;
    return start_ns < 0 || facts->process_start_ns < 0 ||
           (apart < SAME_START_NS && apart > -SAME_START_NS);
}

static int recorded_by(const struct mt_db *db, uint32_t pid)
{
    return mt_error_set(TRACER_ESTATE,
                        "%s is being recorded by process %u%s: stop that tracer, "
                        "or put %%p into the path",
                        db->path, pid, pid == mt_os_process_id() ? " (this one)" : "");
}

/* One row of a run that was not ended: host, pid, start. The lock knows better than numbers, which
 * containers share and clock steps change. */
static int judge_run(const struct mt_db *db, sqlite3_stmt *s, struct mt_os_facts *facts, int claim)
{
    const char *host = (const char *)sqlite3_column_text(s, 0);
    uint32_t pid = (uint32_t)sqlite3_column_int64(s, 1);
    int64_t start_ns = sqlite3_column_type(s, 2) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 2);

    if (claim == SQLITE_BUSY)
        return recorded_by(db, pid);
    mt_os_facts_read(mt_os_process_id(), facts);
    if (!host || strcmp(host, facts->host) != 0 || !same_process(pid, start_ns, facts))
        return TRACER_OK;
    return recorded_by(db, pid);
}

int mt_file_check_alive(struct mt_db *db)
{
    static const char sql[] = "SELECT host, recorder_pid, recorder_start_ns FROM run "
                              "WHERE state IN ('recording', 'degraded', 'suspended') "
                              "ORDER BY id DESC";
    int claim = sqlite3_file_control(db->handle, "main", MT_VFS_CLAIM, NULL);
    struct mt_os_facts *facts;
    sqlite3_stmt *s = NULL;
    int error = TRACER_OK, rc;

    if (claim == SQLITE_OK) /* nobody has it, for we have it now */
        return TRACER_OK;
    facts = mt_memory_alloc(sizeof(*facts));
    if (!facts)
        return mt_error_set(TRACER_ENOMEM, "no memory to look at %s", db->path);
    rc = sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL);
    while (rc == SQLITE_OK && !error && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        error = judge_run(db, s, facts, claim);
        rc = SQLITE_OK;
    }
    if (!error)
        error = mt_db_error(db, rc, "read its runs");
    sqlite3_finalize(s);
    mt_memory_free(facts);
    if (!error && claim == SQLITE_BUSY) /* it has only begun */
        return mt_error_set(TRACER_ESTATE,
                            "%s is being opened by another recorder: put %%p into "
                            "the path",
                            db->path);
    return error;
}

int mt_file_interrupt_runs(struct mt_db *db)
{
    return mt_db_script(db,
                        "UPDATE run SET state = 'interrupted', state_detail = "
                        "iif(state_detail = '', '', state_detail || '; ') || "
                        "'the process ended without stopping its tracer' "
                        "WHERE state IN ('recording', 'degraded', 'suspended')",
                        "note that an earlier run was cut off");
}
