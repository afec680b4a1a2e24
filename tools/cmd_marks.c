/* SPDX-License-Identifier: MIT */
/* tools: memtracer marks: what the program said, and when.
 * In: table mark. Out: a table in order of time; labels can be given to --at and diff. */
#include "answer.h"
#include "options.h"

static const char help[] =
    "usage: memtracer marks FILE [--run N]\n"
    "\n"
    "The marks of tracer_mark(), in order. The column Name is what show --at and diff take:\n"
    "label, or label#2 for the second of that label.\n"
    "\n"
    "  --run N    this run only; default all runs of the file\n"
    "  --json     machine-readable\n"
    "\n"
    "Example:\n"
    "  memtracer marks app.db\n"
    "  memtracer diff app.db \"command 1\" \"command 2\"\n"
    "\n"
    "Exit: 0 shown, 1 usage, 2 the file cannot be read, 3 there is no mark.\n";

static const char sql_marks[] =
    "SELECT run, t_ns, wall_ns, sample, label, label || iif(n > 1, '#' || place, '') AS name, tid"
    " FROM (SELECT *, count(*) OVER (PARTITION BY run, label) AS n,"
    " row_number() OVER (PARTITION BY run, label ORDER BY t_ns, id) AS place FROM mark)"
    " WHERE ?1 IN (0, run) ORDER BY run, t_ns, id";

static const struct table_column columns[] = {
    {"Run", CELL_NUMBER}, {"At s", CELL_NS},   {"Time (UTC)", CELL_WALL}, {"Sample", CELL_NUMBER},
    {NULL, CELL_TEXT},    {"Name", CELL_TEXT}, {NULL, CELL_NUMBER},
};

static int marks(struct answer *a, void *unused)
{
    size_t n = 0;
    int code;

    (void)unused;
    answer_bind(a, a->run);
    code = answer_rows(a, NULL, sql_marks, columns, &n);
    if (!code && !n && !a->json)
        puts("there is no mark");
    return code || n ? code : TOOL_NOTHING;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    const struct option_spec specs[] = {
        {"run", 0, OPTION_NUMBER, &a.run},
        {"json", 0, OPTION_FLAG, &a.json},
        {0},
    };

    return answer_question(&(struct question){self, &a, specs, .ask = marks}, argc, argv);
}

const struct command command_marks = {"marks", "what the program said, and when", help, run};
