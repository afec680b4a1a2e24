/* SPDX-License-Identifier: MIT */
/* tools: the rows of one recording → another one.
 * In: a file that the reader has accepted. Out: its runs, with new numbers where numbers are the
 * file's own, names and code shared by their text. Called by cmd_merge.c. Uses SQLite itself, for
 * it writes; the file that is taken in is attached read-only and none of its views is used. */
#include "merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "memtracer/reader.h"
#include "options.h"

/* In order: what others point to comes first. */
static const char *const copied[] = {"run",    "sample",      "level", "region",
                                     "module", "thread",      "mark",  "counter",
                                     "stack",  "stack_frame", "event", "event_loss"};

/* Tables whose rows are numbered anew: by what was there before plus the old number. */
static const char *const numbered[] = {"run",    "sample", "region", "module",
                                       "thread", "mark",   "stack",  "event"};

/* What becomes of a column, by its name; NULL table = in every table. `x` is the old row, `b` what
 * the numbers grow by. The first that fits counts; without one it is taken as it is. */
static const struct {
    const char *table, *column, *sql;
} rules[] = {
    {NULL, "run", "x.run + b.run"},
    {NULL, "sample", "x.sample + b.sample"},
    {NULL, "first_sample", "x.first_sample + b.sample"},
    {NULL, "last_sample", "x.last_sample + b.sample"},
    {NULL, "continues", "x.continues + b.region"},
    {NULL, "stack", "x.stack + b.stack"},
    /* of numbers of frames, which are the file's own: made unique again */
    {"stack", "hash", "x.id + b.stack"},
    {NULL, "type", "(SELECT new FROM map_type WHERE old = x.type)"},
    {NULL, "counter", "(SELECT new FROM map_counter WHERE old = x.counter)"},
    {NULL, "frame", "(SELECT new FROM map_frame WHERE old = x.frame)"},
    {NULL, "file", "(SELECT new FROM map_string WHERE old = x.file)"},
    {NULL, "owner", "(SELECT new FROM map_string WHERE old = x.owner)"},
    {NULL, "path", "(SELECT new FROM map_string WHERE old = x.path)"},
    {"thread", "name", "(SELECT new FROM map_string WHERE old = x.name)"},
};

static const char maps[] = "CREATE TEMP TABLE map_string(old INTEGER PRIMARY KEY, new INTEGER);"
                           "CREATE TEMP TABLE map_type(old INTEGER PRIMARY KEY, new INTEGER);"
                           "CREATE TEMP TABLE map_counter(old INTEGER PRIMARY KEY, new INTEGER);"
                           "CREATE TEMP TABLE map_code(old INTEGER PRIMARY KEY, new INTEGER);"
                           "CREATE TEMP TABLE map_frame(old INTEGER PRIMARY KEY, new INTEGER);";

/* Names, types, counters, code: each once, whatever their numbers were. */
static const char shared[] =
    "DELETE FROM map_string; DELETE FROM map_type; DELETE FROM map_counter; DELETE FROM map_code;"
    "DELETE FROM map_frame;"
    "INSERT OR IGNORE INTO main.setting SELECT * FROM src.setting;"
    "INSERT OR IGNORE INTO main.sample_flag SELECT * FROM src.sample_flag;"
    "INSERT OR IGNORE INTO main.event_kind SELECT * FROM src.event_kind;"
    "INSERT OR IGNORE INTO main.string(text) SELECT text FROM src.string ORDER BY id;"
    "INSERT INTO map_string SELECT a.id, b.id FROM src.string a JOIN main.string b USING(text);"
    "INSERT OR IGNORE INTO main.type SELECT * FROM src.type WHERE id < 32;"
    "INSERT INTO main.type SELECT (SELECT max(31, max(id)) FROM main.type)"
    " + row_number() OVER (ORDER BY id), name, description FROM src.type"
    " WHERE name NOT IN (SELECT name FROM main.type);"
    "INSERT INTO map_type SELECT a.id, b.id FROM src.type a JOIN main.type b USING(name);"
    "INSERT INTO main.counter_kind SELECT (SELECT ifnull(max(id), 0) FROM main.counter_kind)"
    " + row_number() OVER (ORDER BY id), name, unit, description FROM src.counter_kind"
    " WHERE name NOT IN (SELECT name FROM main.counter_kind);"
    "INSERT INTO map_counter SELECT a.id, b.id FROM src.counter_kind a"
    " JOIN main.counter_kind b USING(name);"
    "INSERT OR IGNORE INTO main.code(path, build_id) SELECT p.new, c.build_id FROM src.code c"
    " JOIN map_string p ON p.old = c.path ORDER BY c.id;"
    "INSERT INTO map_code SELECT c.id, d.id FROM src.code c JOIN map_string p ON p.old = c.path"
    " JOIN main.code d ON d.path = p.new AND d.build_id = c.build_id;"
    "INSERT OR IGNORE INTO main.frame(code, offset) SELECT c.new, f.offset FROM src.frame f"
    " JOIN map_code c ON c.old = f.code ORDER BY f.id;"
    "INSERT INTO map_frame SELECT f.id, g.id FROM src.frame f JOIN map_code c ON c.old = f.code"
    " JOIN main.frame g ON g.code = c.new AND g.offset = f.offset;";

static int failed(const struct merging *m)
{
    if (!m->work->interrupted)
        complain_of(m->path, sqlite3_errmsg(m->db));
    return TOOL_ENVIRONMENT;
}

static int script(struct merging *m, const char *sql)
{
    return sqlite3_exec(m->db, sql, NULL, NULL, NULL) ? failed(m) : TOOL_OK;
}

int merge_begin(struct merging *m)
{
    int code = script(m, "PRAGMA journal_mode = OFF; PRAGMA trusted_schema = OFF;"
                         "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;"
                         "PRAGMA synchronous = OFF; PRAGMA application_id = 0x6d747263; BEGIN");

    if (!code)
        code = script(m, tracer_schema_sql());
    if (!code)
        code = script(m, "COMMIT");
    return code ? code : script(m, maps);
}

/* The first row's first column as text, for free(); NULL = no row. */
static int one_text(struct merging *m, const char *sql, char **out)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(m->db, sql, -1, &q, NULL);

    *out = NULL;
    if (!rc)
        rc = sqlite3_step(q);
    if (rc == SQLITE_ROW && sqlite3_column_type(q, 0) != SQLITE_NULL) {
        const unsigned char *text = sqlite3_column_text(q, 0);
        size_t n = (size_t)sqlite3_column_bytes(q, 0) + 1;

        if (text)
            *out = memcpy(need(malloc(n)), text, n);
        else
            rc = SQLITE_NOMEM;
    }
    sqlite3_finalize(q);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? TOOL_OK : failed(m);
}

static const char *rule_of(const char *table, const char *column)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (!strcmp(rules[i].column, column) && (!rules[i].table || !strcmp(rules[i].table, table)))
            return rules[i].sql;
    return NULL;
}

static int run_text(struct merging *m, sqlite3_str *text)
{
    char *sql = sqlite3_str_finish(text);
    int code = sql ? script(m, sql) : failed(m);

    sqlite3_free(sql);
    return code;
}

static void put_column(sqlite3_str *text, const char *table, const char *column)
{
    const char *rule = rule_of(table, column);

    if (!strcmp(column, "id"))
        sqlite3_str_appendf(text, "x.id + b.%w", table);
    else if (rule)
        sqlite3_str_appendall(text, rule);
    else
        sqlite3_str_appendf(text, "x.\"%w\"", column);
}

/* The columns of a table, each by its rule; SQLITE_DONE when all are there. */
static int put_columns(struct merging *m, sqlite3_str *text, const char *table)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(m->db, "SELECT name, cid FROM pragma_table_info(?1, 'main')", -1,
                                &q, NULL);

    if (!rc)
        rc = sqlite3_bind_text(q, 1, table, -1, SQLITE_STATIC);
    while ((!rc || rc == SQLITE_ROW) && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        const char *column = (const char *)sqlite3_column_text(q, 0);

        if (!column) {
            rc = SQLITE_NOMEM;
            break;
        }
        sqlite3_str_appendall(text, sqlite3_column_int(q, 1) ? ", " : "");
        put_column(text, table, column);
    }
    sqlite3_finalize(q);
    return rc;
}

/* INSERT INTO main.T SELECT …. */
static int copy_table(struct merging *m, const char *table)
{
    sqlite3_str *text = sqlite3_str_new(m->db);

    sqlite3_str_appendf(text, "INSERT INTO main.%w SELECT ", table);
    if (put_columns(m, text, table) != SQLITE_DONE) {
        sqlite3_free(sqlite3_str_finish(text));
        return failed(m);
    }
    sqlite3_str_appendf(text, " FROM src.%w x CROSS JOIN temp.grow b", table);
    return run_text(m, text);
}

static int copy_tables(struct merging *m)
{
    sqlite3_str *text = sqlite3_str_new(m->db);
    int code;

    sqlite3_str_appendall(text,
                          "DROP TABLE IF EXISTS temp.grow; CREATE TEMP TABLE grow AS SELECT ");
    for (size_t i = 0; i < COUNT_OF(numbered); i++)
        sqlite3_str_appendf(text, "%s(SELECT ifnull(max(id), 0) FROM main.%w) AS %w", i ? ", " : "",
                            numbered[i], numbered[i]);
    code = run_text(m, text);
    if (!code)
        code = script(m, shared);
    for (size_t i = 0; i < COUNT_OF(copied) && !code; i++)
        code = copy_table(m, copied[i]);
    return code;
}

static int refuse(struct merging *m)
{
    static const struct {
        const char *sql, *words;
    } reasons[] = {
        /* a file made by others may call a view "run" */
        {"SELECT name FROM src.sqlite_schema WHERE type NOT IN ('table', 'index') AND name IN"
         " (SELECT name FROM main.sqlite_schema WHERE type = 'table')",
         "is no table there"},
        /* series measured elsewhere are of no process: 0 */
        {"SELECT 'run ' || s.id || ' (' || s.label || ', process ' || s.pid || ' on ' || s.host ||"
         " ')' FROM src.run s JOIN main.run r ON r.uuid = s.uuid OR (s.pid <> 0 AND r.host = s.host"
         " AND r.pid = s.pid AND r.start_wall_ns = s.start_wall_ns)",
         "is already there from another file"},
    };
    int code = TOOL_OK;

    for (size_t i = 0; i < COUNT_OF(reasons) && !code; i++) {
        char *what;

        code = one_text(m, reasons[i].sql, &what);
        if (what) {
            complain("%s: %s %s", m->path, what, reasons[i].words);
            code = TOOL_ENVIRONMENT;
        }
        free(what);
    }
    return code;
}

static int attach(struct merging *m, const char *path)
{
    static const char sql[] =
        "ATTACH 'file:' || replace(replace(replace(?1, '%', '%25'), '?', '%3f'),"
        " '#', '%23') || '?mode=ro' AS src";
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(m->db, sql, -1, &q, NULL);

    if (!rc)
        rc = sqlite3_bind_text(q, 1, path, -1, SQLITE_STATIC);
    if (!rc)
        rc = sqlite3_step(q) == SQLITE_DONE ? 0 : 1;
    sqlite3_finalize(q);
    return rc ? failed(m) : TOOL_OK;
}

int merge_take(struct merging *m, const char *path)
{
    int code;

    m->path = path;
    code = attach(m, path);
    if (code)
        return code;
    code = script(m, "BEGIN");
    if (!code)
        code = refuse(m);
    if (!code)
        code = copy_tables(m);
    if (!code)
        code = script(m, "COMMIT");
    return code ? code : script(m, "DETACH src");
}

int merge_end(struct merging *m)
{
    return script(m, "PRAGMA synchronous = FULL; PRAGMA user_version = 1");
}
