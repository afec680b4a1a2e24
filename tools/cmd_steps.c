/* SPDX-License-Identifier: MIT */
/* tools: memtracer steps: memory that grew in discrete steps and was kept; suspects beside it.
 * In: the views punctuated_growth and leak_suspects. Out: two tables. The judgement is the
 * views' alone, so that plain sqlite3 says the same. */
#include <stdlib.h>

#include "answer.h"
#include "one_run.h"
#include "options.h"
#include "symbols.h"

static const char help[] =
    "usage: memtracer steps FILE [--run N]\n"
    "\n"
    "Punctuated growth: a type of memory that grows in few large steps, keeps them, and does\n"
    "little in between; each step with the mark before it. Then all types that look like a leak,\n"
    "be it in steps or steadily.\n"
    "Of a run with --stacks, each step with the call site that explains it best, and its share.\n"
    "\n"
    "  --run N    this run only; default all runs of the file\n"
    "  --bytes    exact bytes instead of KiB, MiB\n"
    "  --json     machine-readable: {\"steps\": […], \"suspects\": […]}\n"
    "\n"
    "Example: does each command leave something behind?\n"
    "  memtracer steps app.db\n"
    "\n"
    "What counts as a step is in table setting of the file and may be changed there.\n"
    "Memory the allocator keeps for later looks like growth: growth is a question, not a proof.\n"
    "Exit: 0 something grew so, 1 usage, 2 the file cannot be read, 3 nothing grew so.\n";

static const char sql_steps[] =
    "SELECT g.run, g.type, g.step, g.t_s, g.bytes, g.held_after, g.mark, g.time, g.mark_t_s,"
    " g.sample, g.site_percent, g.site, p.text AS site_path, c.build_id AS site_build_id,"
    " f.offset AS site_offset FROM punctuated_growth g LEFT JOIN frame f ON f.id = g.site_frame"
    " LEFT JOIN code c ON c.id = f.code LEFT JOIN string p ON p.id = c.path"
    " WHERE ?1 IN (0, g.run) ORDER BY g.run, g.type, g.step";

static const struct table_column step_columns[] = {
    {"Run", CELL_NUMBER},      {"Type", CELL_TEXT},   {"Step", CELL_NUMBER},
    {"At s", CELL_SECONDS},    {"Grew", CELL_CHANGE}, {"Held then", CELL_BYTES},
    {"After mark", CELL_TEXT}, {NULL, CELL_TEXT},     {NULL, CELL_SECONDS},
    {NULL, CELL_NUMBER},       {NULL, CELL_PERCENT},  {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},         {NULL, CELL_TEXT},     {NULL, CELL_NUMBER},
};

/* The same where calls were recorded. */
static const struct table_column site_columns[] = {
    {"Run", CELL_NUMBER},      {"Type", CELL_TEXT},   {"Step", CELL_NUMBER},
    {"At s", CELL_SECONDS},    {"Grew", CELL_CHANGE}, {"Held then", CELL_BYTES},
    {"After mark", CELL_TEXT}, {NULL, CELL_TEXT},     {NULL, CELL_SECONDS},
    {NULL, CELL_NUMBER},       {"%", CELL_PERCENT},   {"By", CELL_TEXT},
    {NULL, CELL_TEXT},         {NULL, CELL_TEXT},     {NULL, CELL_NUMBER},
};

static const char sql_has_events[] = "SELECT 1 FROM event LIMIT 1";

static const char sql_suspects[] =
    "SELECT run, type, shape, grew, bytes_per_hour, steps, since_s, rising_stretches"
    " FROM leak_suspects WHERE ?1 IN (0, run)";

static const struct table_column suspect_columns[] = {
    {"Run", CELL_NUMBER},     {"Suspect", CELL_TEXT}, {"Shape", CELL_TEXT}, {"Grew", CELL_CHANGE},
    {"Per hour", CELL_BYTES}, {"Steps", CELL_NUMBER}, {NULL, CELL_SECONDS}, {NULL, CELL_NUMBER},
};

static int rows(struct answer *a, const char *key, const char *sql,
                const struct table_column *columns, size_t *n)
{
    char *of_run = a->run ? one_run_sql(sql) : NULL;
    int code;

    answer_bind(a, a->run);
    code = answer_rows(a, key, of_run ? of_run : sql, columns, n);
    free(of_run);
    return code;
}

static int steps(struct answer *a, void *unused)
{
    struct symbols_editor editor = {symbols_new(), true, ""};
    size_t n_steps = 0, n_suspects = 0;
    int64_t one;
    bool exact;
    int code = answer_integers(a, sql_has_events, &one, 1, &exact);

    (void)unused;
    if (a->json)
        json_open(&a->out, NULL, '{');
    a->edit = symbols_edit;
    a->edit_user = &editor;
    if (!code)
        code = rows(a, "steps", sql_steps, exact ? site_columns : step_columns, &n_steps);
    a->edit = NULL;
    symbols_free(editor.symbols);
    if (!code && !a->json && n_steps)
        putchar('\n');
    if (!code)
        code = rows(a, "suspects", sql_suspects, suspect_columns, &n_suspects);
    if (a->json)
        json_close(&a->out, '}');
    if (code || n_steps || n_suspects)
        return code;
    if (!a->json)
        puts("nothing grew in steps, and nothing grew steadily");
    return TOOL_NOTHING;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    const struct option_spec specs[] = {ANSWER_OPTIONS(a), {0}};

    return answer_question(&(struct question){self, &a, specs, .ask = steps}, argc, argv);
}

const struct command command_steps = {"steps", "memory that grew in steps and was kept", help, run};
