/* SPDX-License-Identifier: MIT */
/* read: millions of rows → a callback each.
 * In: a SELECT of one aggregate, each_row(…). Out: calls in the order of the scan. An aggregate is
 * called from within SQLite's loop; leaving and entering that loop for each row costs more than
 * the row does. Called by series.c and series_load.c. The function is there during the call only:
 * a host's SQL cannot call it. */
#include "read/query.h"

struct each {
    mt_read_row_fn row;
    void *user;
};

static void take_row(sqlite3_context *context, int n, sqlite3_value **columns)
{
    const struct each *e = sqlite3_user_data(context);

    (void)n;
    e->row(e->user, columns);
}

static void end_rows(sqlite3_context *context)
{
    sqlite3_result_null(context);
}

int mt_read_each(tracer_reader *r, const char *sql, const int64_t *params, int n_params,
                 mt_read_row_fn row, void *user)
{
    struct each e = {row, user};
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_create_function_v2(r->handle, "each_row", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                        &e, NULL, take_row, end_rows, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(r->handle, sql, -1, &q, NULL);
    for (int i = 0; i < n_params && rc == SQLITE_OK; i++)
        rc = sqlite3_bind_int64(q, i + 1, params[i]);
    if (rc == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW)
        rc = SQLITE_OK;
    rc = mt_read_error(r, rc); /* quotes SQLite before the statement is gone */
    sqlite3_finalize(q);
    sqlite3_create_function_v2(r->handle, "each_row", -1, SQLITE_UTF8, NULL, NULL, NULL, NULL,
                               NULL);
    return rc;
}
