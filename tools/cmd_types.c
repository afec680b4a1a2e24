/* SPDX-License-Identifier: MIT */
/* tools: memtracer types: the memory types of a file, the program's own included.
 * In: table type. Out: a table. */
#include "answer.h"
#include "options.h"

static const char help[] =
    "usage: memtracer types FILE\n"
    "\n"
    "The memory types of the file: the built-in ones, and from 32 on those that the program\n"
    "added with tracer_type_add().\n"
    "\n"
    "  --json    machine-readable\n"
    "\n"
    "Example:\n"
    "  memtracer types app.db\n"
    "\n"
    "Exit: 0 shown, 1 usage, 2 the file cannot be read.\n";

static const struct table_column columns[] = {
    {"Id", CELL_NUMBER}, {"Type", CELL_TEXT}, {"Description", CELL_TEXT}};

static int types(struct answer *a, void *unused)
{
    (void)unused;
    return answer_rows(a, NULL, "SELECT id, name, description FROM type ORDER BY id", columns,
                       NULL);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    const struct option_spec specs[] = {{"json", 0, OPTION_FLAG, &a.json}, {0}};

    return answer_question(&(struct question){self, &a, specs, .ask = types}, argc, argv);
}

const struct command command_types = {"types", "the memory types of a file", help, run};
