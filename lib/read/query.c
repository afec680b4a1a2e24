/* SPDX-License-Identifier: MIT */
/* read: SQL or the name of a query → rows.
 * In: a reader, SQL, parameters. Out: a callback a row. Called by the host and the CLI.
 * Must not leave a statement or a transaction behind. */
#include "read/query.h"

#include <string.h>

#include "base/error.h"
#include "record/file.h"

const char *tracer_query_name(uint32_t i)
{
    for (uint32_t n = 0; mt_queries[n].name; n++)
        if (n == i)
            return mt_queries[n].name;
    return NULL;
}

const char *tracer_query_sql(const char *name)
{
    for (const struct mt_text *q = mt_queries; name && q->name; q++)
        if (!strcmp(q->name, name))
            return q->text;
    return NULL;
}

const char *tracer_schema_sql(void)
{
    return mt_schema[0].text;
}

/* One statement and nothing behind it. */
static int prepare(tracer_reader *r, const char *sql, sqlite3_stmt **out)
{
    sqlite3_stmt *rest = NULL;
    const char *tail = NULL;
    int rc = sqlite3_prepare_v2(r->handle, sql, -1, out, &tail);

    if (rc)
        return mt_read_error(r, rc);
    if (!*out)
        return mt_error_set(TRACER_EINVAL, "the SQL is empty");
    while (tail && *tail) {
        rc = sqlite3_prepare_v2(r->handle, tail, -1, &rest, &tail);
        sqlite3_finalize(rest);
        if (rc == SQLITE_NOMEM)
            return mt_read_error(r, rc);
        if (rc || rest)
            return mt_error_set(TRACER_EINVAL, "only one SELECT at a time");
    }
    if (!sqlite3_stmt_readonly(*out))
        return mt_error_set(TRACER_EDENIED, "%s: only reading is allowed here", r->path);
    return TRACER_OK;
}

static int bind_one(sqlite3_stmt *s, int i, const tracer_value *v)
{
    switch (v->kind) {
    case TRACER_VALUE_NULL: return sqlite3_bind_null(s, i);
    case TRACER_VALUE_INTEGER: return sqlite3_bind_int64(s, i, v->integer);
    case TRACER_VALUE_REAL: return sqlite3_bind_double(s, i, v->real);
    case TRACER_VALUE_TEXT:
        return sqlite3_bind_text(s, i, v->bytes ? v->bytes : "", v->bytes ? (int)v->n_bytes : 0,
                                 SQLITE_STATIC);
    case TRACER_VALUE_BLOB:
        return sqlite3_bind_blob(s, i, v->bytes ? v->bytes : "", v->bytes ? (int)v->n_bytes : 0,
                                 SQLITE_STATIC);
    }
    return SQLITE_MISMATCH;
}

static int bind(sqlite3_stmt *s, const tracer_value *params, uint32_t n)
{
    if (n > (uint32_t)sqlite3_bind_parameter_count(s))
        return mt_error_set(TRACER_EINVAL, "%u parameters for a query that takes %d", n,
                            sqlite3_bind_parameter_count(s));
    for (uint32_t i = 0; i < n; i++)
        if ((params[i].n_bytes > INT32_MAX) || bind_one(s, (int)i + 1, &params[i]))
            return mt_error_set(TRACER_EINVAL, "parameter %u is wrong", i + 1);
    return TRACER_OK;
}

static void read_column(sqlite3_stmt *s, int i, tracer_value *out)
{
    memset(out, 0, sizeof(*out));
    switch (sqlite3_column_type(s, i)) {
    case SQLITE_INTEGER:
        out->kind = TRACER_VALUE_INTEGER;
        out->integer = sqlite3_column_int64(s, i);
        out->real = (double)out->integer;
        break;
    case SQLITE_FLOAT:
        out->kind = TRACER_VALUE_REAL;
        out->real = sqlite3_column_double(s, i);
        break;
    case SQLITE_TEXT:
        out->kind = TRACER_VALUE_TEXT;
        out->bytes = (const char *)sqlite3_column_text(s, i);
        out->n_bytes = (uint32_t)sqlite3_column_bytes(s, i);
        break;
    case SQLITE_BLOB:
        out->kind = TRACER_VALUE_BLOB;
        out->bytes = sqlite3_column_blob(s, i);
        out->n_bytes = (uint32_t)sqlite3_column_bytes(s, i);
        if (!out->bytes)
            out->bytes = "";
        break;
    }
}

static int each_row(tracer_reader *r, sqlite3_stmt *s, tracer_row_fn row, void *user)
{
    int n = sqlite3_column_count(s), rc = SQLITE_DONE;

    if (n > MT_READ_COLUMNS)
        return mt_error_set(TRACER_ELIMIT, "more than %d columns", MT_READ_COLUMNS);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW && row) {
        for (int i = 0; i < n; i++) {
            r->names[i] = sqlite3_column_name(s, i);
            read_column(s, i, &r->values[i]);
            if (r->values[i].kind == TRACER_VALUE_TEXT && !r->values[i].bytes)
                return mt_error_set(TRACER_ENOMEM, "no memory for a row of %s", r->path);
        }
        if (row(user, (uint32_t)n, r->names, r->values))
            return TRACER_OK;
    }
    return mt_read_error(r, rc);
}

int tracer_reader_query(tracer_reader *r, const char *sql, const tracer_value *params,
                        uint32_t n_params, tracer_row_fn row, void *user)
{
    const char *named = tracer_query_sql(sql);
    sqlite3_stmt *s = NULL;
    int error;

    if (!r || !sql || (n_params && !params))
        return mt_error_set(TRACER_EINVAL, "tracer_reader_query: an argument is missing");
    mt_read_begin(r);
    error = prepare(r, named ? named : sql, &s);
    if (!error)
        error = bind(s, params, n_params);
    if (!error)
        error = each_row(r, s, row, user);
    sqlite3_finalize(s);
    return error;
}
