/* SPDX-License-Identifier: MIT */
/* tools: the views of growth, asked about one run.
 * In: a question, the schema that the library brings. Out: the question with these views as its
 * common tables, the first of them cut down to one run. Called by steps and report. */
#include "one_run.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "memtracer/reader.h"
#include "options.h"

/* In order: each asks those before it. */
static const char *const views[] = {"series",       "retained_floor", "floor_rise",
                                    "floor_step",   "floor_trend",    "punctuated_growth",
                                    "leak_suspects"};

/* The SELECT of a view, without the ';' behind it. */
static const char *body_of(const char *view, size_t *out_bytes)
{
    char head[64];
    const char *begin;

    snprintf(head, sizeof(head), "\nCREATE VIEW %s AS\n", view);
    begin = strstr(tracer_schema_sql(), head);
    if (!begin)
        return NULL;
    begin += strlen(head);
    *out_bytes = (size_t)(strstr(begin, ";\n") - begin);
    return begin;
}

static char *append(char *to, const char *text, size_t n)
{
    memcpy(to, text, n);
    return to + n;
}

static char *append_text(char *to, const char *text)
{
    return append(to, text, strlen(text));
}

char *one_run_sql(const char *question)
{
    char *sql = need(malloc(strlen(tracer_schema_sql()) + strlen(question) + 1024)), *end = sql;
    bool judges = strstr(question, "punctuated_growth") || strstr(question, "leak_suspects");

    for (size_t i = 0; i < COUNT_OF(views) && judges; i++) {
        size_t n = 0;
        const char *body = body_of(views[i], &n);

        if (!body)
            continue; /* then the file's own view answers */
        end = append_text(end, end == sql ? "WITH " : ", ");
        end = append_text(end, views[i]);
        end = append_text(end, i == 0 ? " AS (SELECT * FROM (" : " AS (");
        end = append(end, body, n);
        end = append_text(end, i == 0 ? ") WHERE run = ?1)\n" : ")\n");
    }
    end = append_text(end, question);
    *end = '\0';
    return sql;
}
