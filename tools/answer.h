/* SPDX-License-Identifier: MIT */
/* An answer: a file opened for reading, questions in SQL, rows out as a table or as JSON. */
#ifndef MEMTRACER_TOOLS_ANSWER_H
#define MEMTRACER_TOOLS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"
#include "memtracer/reader.h"
#include "options.h"
#include "out_json.h"
#include "out_table.h"

#define ANSWER_PARAMS_MAX 8

struct answer {
    tracer_reader *reader;
    const char *path;
    bool json;   /* --json */
    bool exact;  /* --bytes: exact numbers in tables */
    int64_t run; /* --run: the N-th run of the file, 0 = none was named */
    struct json out;
    tracer_value params[ANSWER_PARAMS_MAX]; /* ?1 … of the next question */
    uint32_t n_params;
    /* Changes the values of a row before answer_rows() prints it; NULL = none. What it points
     * values to lives until the next row. */
    void (*edit)(void *user, uint32_t n_columns, const char *const *names, tracer_value *values);
    void *edit_user;
};

/* The options most commands have, for a table of options. */
#define ANSWER_OPTIONS(a)                                                                          \
    {"run", 0, OPTION_NUMBER, &(a).run}, {"bytes", 0, OPTION_FLAG, &(a).exact},                    \
    {                                                                                              \
        "json", 0, OPTION_FLAG, &(a).json                                                          \
    }

/* A command that asks one file, which its first operand names. */
struct question {
    const struct command *self;
    struct answer *answer;
    const struct option_spec *specs;
    int (*ask)(struct answer *a, void *user); /* with the file open; its code is the exit code */
    void *user;
    int least, most; /* operands behind the file */
    /* Takes them, and looks whether the options go together, before the file is opened: TOOL_OK
     * or, with a sentence, another code. NULL = there is nothing to take. */
    int (*take)(void *user, char **operands, int n);
};

/* The whole of such a command: its exit code. */
int answer_question(const struct question *q, int argc, char **argv);

/* TOOL_OK or, with a sentence, another code. */
int answer_open(struct answer *a, const char *path);
void answer_close(struct answer *a);

/* Parameters of the next question, in order; a question forgets them. Text must outlive it. */
void answer_bind(struct answer *a, int64_t value);
void answer_bind_text(struct answer *a, const char *text); /* NULL = SQL's NULL */

/* Asks, calling `row` for each row. */
int answer_ask(struct answer *a, const char *sql, tracer_row_fn row, void *user);

/* Asks for one row of up to n integers; NULL becomes `missing`. *out_found: was there a row? */
int answer_integers(struct answer *a, const char *sql, int64_t *out, size_t n, bool *out_found);
#define ANSWER_MISSING INT64_MIN

/* Asks and prints all rows: a table, or (as `key`, NULL at the top) an array of objects whose
 * keys are the names of the columns. `columns` NULL: as the query names them. */
int answer_rows(struct answer *a, const char *key, const char *sql,
                const struct table_column *columns, size_t *out_rows);

#endif
