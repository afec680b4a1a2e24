/* SPDX-License-Identifier: MIT */
/* tools: questions to a file → tables or JSON.
 * In: a path, SQL with parameters, columns. Out: rows on stdout, sentences on stderr.
 * Called by every command that reads. Uses reader.h only; builds no SQL. */
#include "answer.h"

#include <stdlib.h>
#include <string.h>

int answer_open(struct answer *a, const char *path)
{
    int error;

    a->reader = NULL;
    if (options_file(path))
        return TOOL_USAGE;
    a->path = path;
    a->n_params = 0;
    a->out = (struct json)JSON_STDOUT;
    error = tracer_reader_open(path, &a->reader);
    return error ? complain_file(path, error) : TOOL_OK;
}

void answer_close(struct answer *a)
{
    tracer_reader_close(a->reader);
    a->reader = NULL;
}

int answer_question(const struct question *q, int argc, char **argv)
{
    struct operand_range operands = {1 + q->least, 1 + q->most, false};
    int first, code = options_parse(q->self, argc, argv, q->specs, operands, &first);

    if (code != OPTIONS_GO_ON)
        return code;
    code = q->take ? q->take(q->user, argv + first + 1, argc - first - 1) : TOOL_OK;
    if (code)
        return code;
    code = answer_open(q->answer, argv[first]);
    if (!code)
        code = q->ask(q->answer, q->user);
    answer_close(q->answer);
    return code;
}

void answer_bind(struct answer *a, int64_t value)
{
    a->params[a->n_params++] = (tracer_value){TRACER_VALUE_INTEGER, 0, value, (double)value, NULL};
}

void answer_bind_text(struct answer *a, const char *text)
{
    a->params[a->n_params++] =
        text ? (tracer_value){TRACER_VALUE_TEXT, (uint32_t)strlen(text), 0, 0, text}
             : (tracer_value){TRACER_VALUE_NULL, 0, 0, 0, NULL};
}

#define COLUMNS_MAX 256 /* more the reader refuses */

struct asking {
    tracer_row_fn row;
    void *user;
    tracer_value values[COLUMNS_MAX];
    char *blobs[COLUMNS_MAX];
};

/* With the NUL that SQLite puts behind a text only. */
static char *blob_copy(const tracer_value *v)
{
    char *copy = need(malloc((size_t)v->n_bytes + 1));

    memcpy(copy, v->bytes, v->n_bytes);
    copy[v->n_bytes] = '\0';
    return copy;
}

/* A column that should be a name may hold anything in a file that others made: a number or NULL
 * has the empty one, a blob its bytes, so that no command meets NULL or reads past an end where
 * it wants a name. */
static size_t make_safe(const tracer_value *values, size_t n, tracer_value *copy, char **blobs)
{
    size_t n_blobs = 0;

    for (size_t i = 0; i < n; i++) {
        copy[i] = values[i];
        if (copy[i].kind == TRACER_VALUE_BLOB)
            copy[i].bytes = blobs[n_blobs++] = blob_copy(&values[i]);
        else if (copy[i].kind != TRACER_VALUE_TEXT)
            copy[i].bytes = "";
    }
    return n_blobs;
}

static int hand_on(void *user, uint32_t n_columns, const char *const *names,
                   const tracer_value *values)
{
    struct asking *asking = user;
    size_t n_blobs;
    int end;

    if (n_columns > COLUMNS_MAX)
        return 1;
    n_blobs = make_safe(values, n_columns, asking->values, asking->blobs);
    end = asking->row(asking->user, n_columns, names, asking->values);
    for (size_t i = 0; i < n_blobs; i++)
        free(asking->blobs[i]);
    return end;
}

int answer_ask(struct answer *a, const char *sql, tracer_row_fn row, void *user)
{
    struct asking asking = {.row = row, .user = user};

    a->error = tracer_reader_query(a->reader, sql, a->params, a->n_params, hand_on, &asking);
    a->n_params = 0;
    return a->error ? complain_file(a->path, a->error) : TOOL_OK;
}

struct integers {
    int64_t *out;
    size_t n;
    bool *found;
};

static int keep_integers(void *user, uint32_t n_columns, const char *const *names,
                         const tracer_value *values)
{
    struct integers *want = user;

    (void)names;
    for (uint32_t i = 0; i < n_columns && i < want->n; i++)
        want->out[i] = values[i].kind == TRACER_VALUE_NULL ? ANSWER_MISSING : values[i].integer;
    *want->found = true;
    return 1;
}

int answer_integers(struct answer *a, const char *sql, int64_t *out, size_t n, bool *out_found)
{
    struct integers want = {out, n, out_found};

    *out_found = false;
    return answer_ask(a, sql, keep_integers, &want);
}

/* ---- rows to a table or to JSON ---- */

#define EDIT_COLUMNS_MAX 32

struct printing {
    struct answer *answer;
    const char *key;
    const struct table_column *columns; /* NULL = made from the first row's names */
    struct table_column *made;
    char **made_names;
    uint32_t n_columns;
    struct table *table;
    size_t n_rows;
    bool is_open; /* the JSON array */
};

static void make_columns(struct printing *p, const char *const *names)
{
    p->made = need(calloc(p->n_columns + 1u, sizeof(*p->made)));
    p->made_names = need(calloc(p->n_columns + 1u, sizeof(*p->made_names)));
    for (uint32_t i = 0; i < p->n_columns; i++) {
        size_t n = strlen(names[i]) + 1;

        p->made_names[i] = memcpy(need(malloc(n)), names[i], n);
        p->made[i] = (struct table_column){p->made_names[i], CELL_ANY};
    }
    p->columns = p->made;
}

/* With the first row, or at the end: SQL that is wrong begins no answer. */
static void open_array(struct printing *p)
{
    if (!p->is_open)
        json_open(&p->answer->out, p->key, '[');
    p->is_open = true;
}

static int print_json(struct printing *p, uint32_t n_columns, const char *const *names,
                      const tracer_value *values)
{
    struct json *j = &p->answer->out;

    open_array(p);
    json_open(j, NULL, '{');
    for (uint32_t i = 0; i < n_columns; i++)
        if (p->columns && p->columns[i].format == CELL_ADDRESS &&
            values[i].kind == TRACER_VALUE_INTEGER)
            json_address(j, names[i], values[i].integer);
        else
            json_value(j, names[i], &values[i]);
    json_close(j, '}');
    return 0;
}

static int print_values(struct printing *p, uint32_t n_columns, const char *const *names,
                        const tracer_value *values)
{
    p->n_rows++;
    if (p->answer->json)
        return print_json(p, n_columns, names, values);
    if (!p->table) {
        p->n_columns = n_columns;
        if (!p->columns)
            make_columns(p, names);
        p->table = table_new(p->columns, n_columns, p->answer->exact);
    }
    for (uint32_t i = 0; i < n_columns; i++)
        table_value(p->table, &values[i]);
    return 0;
}

static int print_row(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *values)
{
    struct printing *p = user;
    tracer_value edited[EDIT_COLUMNS_MAX];

    if (!p->answer->edit || n_columns > EDIT_COLUMNS_MAX)
        return print_values(p, n_columns, names, values);
    memcpy(edited, values, n_columns * sizeof(*values));
    p->answer->edit(p->answer->edit_user, n_columns, names, edited);
    return print_values(p, n_columns, names, edited);
}

static void printing_free(struct printing *p)
{
    table_free(p->table);
    for (uint32_t i = 0; p->made_names && i < p->n_columns; i++)
        free(p->made_names[i]);
    free(p->made_names);
    free(p->made);
}

int answer_rows(struct answer *a, const char *key, const char *sql,
                const struct table_column *columns, size_t *out_rows)
{
    struct printing p = {.answer = a, .key = key, .columns = columns};
    int code = answer_ask(a, sql, print_row, &p);

    if (a->json && !code)
        open_array(&p);
    if (p.is_open)
        json_close(&a->out, ']');
    else if (p.table)
        table_print(p.table);
    printing_free(&p);
    if (out_rows)
        *out_rows = p.n_rows;
    return code;
}
