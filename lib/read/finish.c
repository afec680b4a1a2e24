/* SPDX-License-Identifier: MIT */
/* read: a recording that was cut off → one plain file.
 * In: a path. Out: the same file without -wal, its open runs "interrupted".
 * Called by the host and the CLI. The only writer in this room: must not touch a file whose
 * process is alive, or that is not memtracer's. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "memtracer/reader.h"
#include "record/file.h"

static int interrupt_runs(struct mt_db *db)
{
    bool empty;
    int error = mt_file_check_open(db, &empty);

    if (!error && empty)
        return mt_error_set(TRACER_EDB, "%s is empty: nothing has been recorded there", db->path);
    if (!error)
        error = mt_file_check_alive(db);
    if (!error)
        error = mt_db_script(db, "BEGIN IMMEDIATE", "begin to write it");
    if (!error)
        error = mt_file_interrupt_runs(db);
    if (!error)
        error = mt_db_script(db, "COMMIT", "write it");
    return error ? error : mt_db_make_plain(db);
}

int tracer_file_finish(const char *path)
{
    enum mt_file_kind kind;
    struct mt_db *db;
    int error;

    if (!path || !path[0] || strlen(path) >= sizeof(db->path))
        return mt_error_set(TRACER_EINVAL, "tracer_file_finish: the path is missing or too long");
    error = mt_file_check(path, NULL, &kind);
    if (error)
        return error;
    if (kind == MT_FILE_NEW)
        return mt_error_set(TRACER_EIO, "%s does not exist or is empty", path);
    db = mt_memory_alloc(sizeof(*db));
    if (!db)
        return mt_error_set(TRACER_ENOMEM, "no memory to finish %s", path);
    error = mt_db_open(db, path, NULL);
    if (!error)
        error = interrupt_runs(db);
    mt_db_close(db);
    mt_memory_free(db);
    return error;
}
