/* SPDX-License-Identifier: MIT */
/* record: what the files of the recorder share. */
#ifndef MT_RECORD_RECORDER_PRIVATE_H
#define MT_RECORD_RECORDER_PRIVATE_H

#include "record/db.h"
#include "record/file.h"
#include "record/recorder.h"
#include "record/retention.h"

enum mt_statement {
#define MT_STATEMENT(name, sql) MT_SQL_##name,
#include "record/statement.def"
#undef MT_STATEMENT
    MT_SQL_COUNT
};

/* What is lost with a rolled back transaction must be written again: one bit a list. */
#define MT_AGAIN_LEVELS 1u
#define MT_AGAIN_REGIONS 2u
#define MT_AGAIN_MODULES 4u
#define MT_AGAIN_THREADS 8u
#define MT_AGAIN_TYPES 16u
#define MT_AGAIN_ALL 31u

#define MT_USER_TYPES (MT_TYPE_CAPACITY - MT_TYPE_USER_FIRST)

/* How far the file has come: as written, and as committed. */
struct mt_position {
    int64_t sample;     /* row of the newest sample, 0 = none */
    uint32_t flags;     /* its flags */
    int64_t region_max; /* greatest rows: what is above the committed one is lost by rollback */
    int64_t module_max;
    int64_t thread_max;
};

/* Steady ticks that the newest sample's row does not show yet. */
struct mt_extension {
    int64_t ticks;
    int64_t since_ns; /* the first of them */
    int64_t until_ns;
    int64_t cost_wall_ns;
    int64_t cost_cpu_ns;
    int64_t own_bytes;
};

struct mt_user_type {
    bool used;
    char name[32];
    char description[256];
};

struct mt_recorder {
    struct mt_db db;
    sqlite3_stmt *sql[MT_SQL_COUNT];
    const struct mt_strings *strings;
    int64_t *string_rows; /* by string id, 0 = not in the file yet */
    uint32_t string_capacity;
    int64_t run;
    struct mt_position at, committed;
    struct mt_extension more;
    uint32_t again;                            /* MT_AGAIN_… */
    struct mt_levels levels;                   /* as last written */
    struct mt_counters counters;               /* as last written */
    int64_t type_rows[MT_TYPE_CAPACITY];       /* ids in the file: user types may have moved */
    int64_t counter_rows[MT_COUNTER_CAPACITY]; /* the same of counters; 0 = not in the file yet */
    struct mt_user_type user_types[MT_USER_TYPES];
    const char *allocator; /* as last written; NULL = not in the file for sure */
    uint64_t max_file_bytes;
    uint64_t file_bytes;
    int wal_pages; /* as of the last commit */
    bool wal;
    bool open;            /* a transaction was begun */
    bool unsynced;        /* something was committed since the last sync of the -wal */
    int64_t synced_ns;    /* monotonic */
    int64_t sync_each_ns; /* syncs are at least so far apart */
    struct mt_retention retention;
    struct mt_event_rows *events; /* of exact events; NULL = none yet */
};

/* The rows of the host's own counters may be gone: they are looked for again. */
void mt_recorder_forget_counters(struct mt_recorder *r);

/* Runs a prepared statement of the recorder. */
int mt_recorder_run(struct mt_recorder *r, enum mt_statement id, const char *doing);

/* Begins a transaction unless one is open. ELIMIT while the -wal or the file is full. */
int mt_recorder_begin(struct mt_recorder *r);

/* Takes the -wal over when it is long enough: a checkpoint costs two syncs. */
void mt_recorder_checkpoint(struct mt_recorder *r);

/* Sets file_bytes and the numbers of pages. */
void mt_recorder_measure(struct mt_recorder *r);

/* recorder_rows.c: writes the ticks that `more` holds. */
int mt_recorder_flush_extension(struct mt_recorder *r);

/* recorder_lists.c: regions, modules, threads of a sample whose row is `sample_row`. */
int mt_recorder_lists(struct mt_recorder *r, const struct mt_sample *s, int64_t sample_row);
/* Takes back the rows a failed sample has set. */
void mt_recorder_lists_undo(const struct mt_position *before, const struct mt_sample *s);

/* recorder_events.c: the events of the open transaction are in the file, or gone. */
void mt_recorder_events_committed(struct mt_recorder *r);
void mt_recorder_events_forget(struct mt_recorder *r);
/* Rows of stacks may be gone. */
void mt_recorder_stacks_forget(struct mt_recorder *r);

/* seed.c: fixed rows, where missing. */
int mt_seed(struct mt_db *db);

#endif
