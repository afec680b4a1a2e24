/* SPDX-License-Identifier: MIT */
/* Description: a damaged recording is answered about or refused with words by every function that
 * reads one. An input is SQLite's own bytes, or a list of changes to a sound recording: place
 * (3 bytes), count (1), bytes; a count of 255 cuts the file there, 254 is SQL run on it. */
#define _GNU_SOURCE
#include "fuzz.h"
#include "read/query.h"
#include "recording.h"

#define ROWS_MOST 2000
/* A fuzzer asks one question in so many of an input, by its bytes; a replay asks all. */
#ifndef QUESTIONS_APART
#define QUESTIONS_APART 1u
#define STEPS_MOST 100000
#else
#define STEPS_MOST 20000 /* SQLite itself is not what is looked at */
#endif

static const char header[] = "SQLite format 3";

static void run_sql(struct fuzz_input *in)
{
    size_t bytes = (size_t)fuzz_take(in, 2);
    sqlite3 *db;
    char *sql;

    bytes = bytes < in->left ? bytes : in->left;
    sql = fuzz_copy(in->at, bytes, 1);
    in->at += bytes;
    in->left -= bytes;
    if (strcasestr(sql, "attach") || strcasestr(sql, "vacuum"))
        sql[0] = '\0';
    if (!sqlite3_open("r.db", &db)) {
        sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
        sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    sqlite3_close(db);
    free(sql);
}

static void change(struct fuzz_input *in)
{
    size_t n = recording_bytes;
    uint8_t *copy = (uint8_t *)fuzz_copy(recording, n, 0);

    while (in->left > 4) {
        size_t at = (size_t)fuzz_take(in, 3), count = (size_t)fuzz_take(in, 1);

        if (count == 254) {
            folder_write("r.db", copy, n);
            run_sql(in);
            free(copy);
            return;
        }
        if (count == 255)
            n = at < n ? at : n;
        for (size_t i = 0; count < 254 && i < count && at + i < n; i++)
            copy[at + i] = (uint8_t)fuzz_take(in, 1);
    }
    folder_write("r.db", copy, n);
    free(copy);
}

static int count_rows(void *user, uint32_t n_columns, const char *const *names,
                      const tracer_value *values)
{
    for (uint32_t i = 0; i < n_columns; i++)
        FUZZ_CHECK(names[i] && values[i].kind <= TRACER_VALUE_BLOB);
    return ++*(int *)user >= ROWS_MOST;
}

static void ask(tracer_reader *r, const char *sql)
{
    static const tracer_value ones[8] = {{.kind = TRACER_VALUE_INTEGER, .integer = 1},
                                         {.kind = TRACER_VALUE_INTEGER, .integer = 2}};
    int rows = 0, error = TRACER_EINVAL;

    for (uint32_t n = 3; error == TRACER_EINVAL && n-- > 0;)
        error = tracer_reader_query(r, sql, ones, n, count_rows, &rows);
    FUZZ_CHECK(!error || tracer_last_error()[0]);
}

/* Whether the next question is asked of this input. */
static int is_due(uint32_t *turn)
{
    return (*turn)++ % QUESTIONS_APART == 0;
}

static void ask_all(tracer_reader *r, uint32_t turn)
{
    static const char *const views[] = {"memory",          "vmmap",
                                        "which_kind_grew", "punctuated_growth",
                                        "leak_suspects",   "memory_event",
                                        "usage_summary",   "type_summary",
                                        "state_summary",   "protect_summary",
                                        "largest_region",  "unloaded_module",
                                        "self_cost",       "delta"};
    const tracer_verdict *verdict = NULL;
    char sql[64];

    for (uint32_t i = 0; tracer_query_name(i); i++)
        if (is_due(&turn))
            ask(r, tracer_query_name(i));
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        if (!is_due(&turn))
            continue;
        snprintf(sql, sizeof(sql), "SELECT * FROM %s", views[i]);
        ask(r, sql);
    }
    if (is_due(&turn) && !tracer_reader_verdict(r, NULL, &verdict))
        FUZZ_CHECK(verdict && verdict->type <= verdict->n_types);
    tracer_verdict_free(verdict);
}

static uint32_t turn_of(const uint8_t *data, size_t n_bytes)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < n_bytes; i++)
        sum = sum * 31 + data[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct fuzz_input in = {data, n_bytes};
    uint32_t turn = turn_of(data, n_bytes);
    tracer_reader *r = NULL;

    folder_enter();
    recording_make();
    if (n_bytes >= sizeof(header) && !memcmp(data, header, sizeof(header)))
        folder_write("r.db", data, n_bytes);
    else
        change(&in);
    if (!tracer_reader_open("r.db", &r)) {
        r->steps_most = STEPS_MOST;
        ask_all(r, turn);
    }
    if (!r)
        FUZZ_CHECK(strstr(tracer_last_error(), "r.db"));
    tracer_reader_close(r);
    if (turn % QUESTIONS_APART == 1 % QUESTIONS_APART && tracer_file_finish("r.db"))
        FUZZ_CHECK(strstr(tracer_last_error(), "r.db"));
    folder_empty();
    return 0;
}
