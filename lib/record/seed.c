/* SPDX-License-Identifier: MIT */
/* record: the fixed rows of a file: types, counters, flags, settings.
 * In: the .def lists. Out: rows where they are missing. Called by recorder_open.c in its
 * transaction. Must not overwrite: settings are the user's to change. */
#include "base/compiler.h"
#include "base/sample.h"
#include "record/recorder_private.h"

struct row {
    int64_t number;
    const char *name, *text, *unit;
};

static const struct row types[] = {
#define MT_TYPE(name, id, text, description) {id, text, description, NULL},
#include "base/memory_type.def"
#undef MT_TYPE
};

static const struct row counters[] = {
#define MT_COUNTER(name, id, text, unit, description) {id, text, description, unit},
#include "base/counter.def"
#undef MT_COUNTER
};

static const struct row event_kinds[] = {
#define MT_EVENT(name, id, text, effect) {id, text, #effect, NULL},
#include "base/event_kind.def"
#undef MT_EVENT
};

static const struct row flags[] = {
    {MT_SAMPLE_SUM_OFF, "sum_off", "types do not add up to regions: a fault of memtracer", NULL},
    {MT_SAMPLE_TORN, "torn", "the list changed while it was read; overlaps were cut", NULL},
    {MT_SAMPLE_TRUNCATED, "truncated", "more regions, owners or names than there was room for",
     NULL},
    {MT_SAMPLE_NO_PAGES, "no_pages", "resident columns are unknown", NULL},
    {MT_SAMPLE_PARTIAL, "partial", "the budget ended before all changes were counted", NULL},
    {MT_SAMPLE_GAP, "gap", "before it nothing was seen for a while: see missed", NULL},
    {MT_SAMPLE_FAILED, "failed", "nothing could be seen; values are carried over", NULL},
    {MT_SAMPLE_REJECTED, "rejected", "lines of the system's text were not understood", NULL},
    {MT_SAMPLE_CLOCK, "clock", "the wall clock jumped against the monotonic one", NULL},
    {MT_SAMPLE_EXPLICIT, "explicit", "asked for: by tracer_sample(), start or stop", NULL},
    {MT_SAMPLE_LIST_KEPT, "list_kept",
     "the counters accounted for the list of mappings, with one change at most; it was not read",
     NULL},
};

static const struct row settings[] = {
#define MT_SETTING(name, value, description) {value, #name, description, NULL},
#include "record/setting.def"
#undef MT_SETTING
};

static const struct {
    const char *sql;
    const struct row *rows;
    size_t n;
} tables[] = {
    {"INSERT OR IGNORE INTO type(id, name, description) VALUES (?1, ?2, ?3)", types,
     MT_COUNT_OF(types)},
    {"INSERT OR IGNORE INTO counter_kind(id, name, description, unit) VALUES (?1, ?2, ?3, ?4)",
     counters, MT_COUNT_OF(counters)},
    {"INSERT OR IGNORE INTO event_kind(id, name, effect) VALUES (?1, ?2, ?3)", event_kinds,
     MT_COUNT_OF(event_kinds)},
    {"INSERT OR IGNORE INTO sample_flag(bit, name, description) VALUES (?1, ?2, ?3)", flags,
     MT_COUNT_OF(flags)},
    {"INSERT OR IGNORE INTO setting(value, name, description) VALUES (?1, ?2, ?3)", settings,
     MT_COUNT_OF(settings)},
};

static int seed_table(struct mt_db *db, const char *sql, const struct row *rows, size_t n)
{
    sqlite3_stmt *s = NULL;
    int error =
        mt_db_error(db, sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL), "use its tables");

    for (size_t i = 0; i < n && !error; i++) {
        mt_db_bind(s, 1, rows[i].number);
        mt_db_bind_text(s, 2, rows[i].name);
        mt_db_bind_text(s, 3, rows[i].text);
        if (rows[i].unit)
            mt_db_bind_text(s, 4, rows[i].unit);
        error = mt_db_run(db, s, "write its fixed rows");
    }
    sqlite3_finalize(s);
    return error;
}

int mt_seed(struct mt_db *db)
{
    int error = TRACER_OK;

    for (size_t i = 0; i < MT_COUNT_OF(tables) && !error; i++)
        error = seed_table(db, tables[i].sql, tables[i].rows, tables[i].n);
    return error;
}
