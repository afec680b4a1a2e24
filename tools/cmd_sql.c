/* SPDX-License-Identifier: MIT */
/* tools: memtracer sql: any SELECT, or a query memtracer brings, read-only.
 * In: SQL text or a query's name, and values for its ?1 …. Out: a table or JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "options.h"

static const char help[] =
    "usage: memtracer sql FILE QUERY [VALUE...]\n"
    "       memtracer sql FILE --list\n"
    "\n"
    "Runs one SELECT and prints its rows. QUERY is SQL, or the name of a query that memtracer\n"
    "brings. VALUEs are bound to ?1, ?2 …: whole numbers as integers, others as text. The file\n"
    "cannot be changed.\n"
    "\n"
    "  --list    the names of views in the file and of queries memtracer brings\n"
    "  --json    an array of objects, one a row\n"
    "\n"
    "Example: the same answers plain sqlite3 gives\n"
    "  memtracer sql app.db 'SELECT type, ws FROM vmmap ORDER BY ws DESC LIMIT 3'\n"
    "  memtracer sql app.db 'SELECT t_s, ws FROM memory WHERE type = ?1' heap\n"
    "\n"
    "Exit: 0 done, 1 usage, or SQL that is wrong or writes, 2 the file cannot be read.\n";

struct wish {
    bool only_list;
    char **words; /* a query and its values */
    int n;
};

/* Its first line, a comment, names each "?N", and "?N (… NULL …)" where it may be left out. */
static bool is_needed(const char *sql, int number)
{
    char name[16];
    size_t line = strcspn(sql, "\n");
    const char *at, *end, *null;

    snprintf(name, sizeof(name), "?%d", number);
    at = strstr(sql, name);
    if (!at || (size_t)(at - sql) >= line)
        return false;
    at += strlen(name);
    end = at + (strncmp(at, " (", 2) ? 0 : strcspn(at, ")"));
    null = strstr(at, "NULL");
    return !null || null > end;
}

/* A value that was forgotten would be NULL, and the answer nothing. */
static int check_values(const struct wish *w)
{
    const char *sql = w->n ? tracer_query_sql(w->words[0]) : NULL;

    for (int number = w->n; sql && number <= ANSWER_PARAMS_MAX; number++)
        if (is_needed(sql, number)) {
            complain("sql: %s needs a VALUE for ?%d: %.*s", w->words[0], number,
                     (int)strcspn(sql, "\n") - 3, sql + 3);
            return TOOL_USAGE;
        }
    return TOOL_OK;
}

static int take(void *user, char **operands, int n)
{
    struct wish *w = user;

    w->words = operands;
    w->n = n;
    if (w->only_list == (n == 0))
        return check_values(w);
    complain("sql: give a file and a query, or a file and --list");
    return TOOL_USAGE;
}

static int list(struct answer *a)
{
    static const struct table_column columns[] = {{"Kind", CELL_TEXT}, {"Name", CELL_TEXT}};
    static const char sql[] = "SELECT 'view' AS kind, name FROM sqlite_schema WHERE type = 'view'"
                              " ORDER BY name";
    int code;

    if (a->json)
        json_open(&a->out, NULL, '{');
    code = answer_rows(a, "views", sql, columns, NULL);
    if (a->json)
        json_open(&a->out, "queries", '[');
    for (uint32_t i = 0; tracer_query_name(i); i++)
        if (a->json)
            json_string(&a->out, NULL, tracer_query_name(i));
        else
            printf("query %s\n", tracer_query_name(i));
    if (a->json) {
        json_close(&a->out, ']');
        json_close(&a->out, '}');
    }
    return code;
}

static void bind_word(struct answer *a, const char *word)
{
    char *end;
    int64_t value = strtoll(word, &end, 10);

    if (*word && !*end)
        answer_bind(a, value);
    else
        answer_bind_text(a, word);
}

static int query(struct answer *a, const struct wish *w)
{
    int code;

    for (int i = 1; i < w->n; i++)
        bind_word(a, w->words[i]);
    a->path = "sql";
    code = answer_rows(a, NULL, w->words[0], NULL, NULL);
    return a->error == TRACER_EINVAL || a->error == TRACER_EDENIED ? TOOL_USAGE : code;
}

static int answer(struct answer *a, void *user)
{
    const struct wish *w = user;

    return w->only_list ? list(a) : query(a, w);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    struct wish w = {0};
    const struct option_spec specs[] = {
        {"list", 0, OPTION_FLAG, &w.only_list},
        {"json", 0, OPTION_FLAG, &a.json},
        {0},
    };

    return answer_question(
        &(struct question){self, &a, specs, answer, &w, 0, 1 + ANSWER_PARAMS_MAX, take}, argc,
        argv);
}

const struct command command_sql = {"sql", "any SELECT, read-only", help, run};
