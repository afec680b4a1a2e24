/* SPDX-License-Identifier: MIT */
/* record: what a memtracer file is. Also for read/, which opens files in its own way. */
#ifndef MT_RECORD_FILE_H
#define MT_RECORD_FILE_H

#include <stdbool.h>

#include "base/text.h"
#include "record/db.h"

/* tables.sql and views.sql as one text. */
extern const struct mt_text mt_schema[];

enum mt_file_kind { MT_FILE_NEW, MT_FILE_OURS };

/* Looks at the first 100 bytes without writing anything or taking a lock. NEW: missing or empty.
 * EDB: another kind of file, ESCHEMA: newer, EDENIED, EIO: cannot be read. */
int mt_file_check(const char *path, const char *vfs_name, enum mt_file_kind *out);

/* The same as the connection sees it, with the -wal. Empty: a file without any table. */
int mt_file_check_open(struct mt_db *db, bool *out_empty);

/* ESTATE when a run of the file is being recorded by a live process of this host. */
int mt_file_check_alive(struct mt_db *db);

/* Calls runs that nobody goes on with "interrupted". */
int mt_file_interrupt_runs(struct mt_db *db);

#endif
