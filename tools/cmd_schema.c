/* SPDX-License-Identifier: MIT */
/* tools: memtracer schema: the SQL that makes a file, with its comments.
 * In: nothing. Out: SQL text. */
#include <stdio.h>

#include "memtracer/reader.h"
#include "options.h"
#include "out_json.h"

static const char help[] =
    "usage: memtracer schema\n"
    "\n"
    "The tables and views of a memtracer file as SQL, with comments that explain each column.\n"
    "\n"
    "  --json    as {\"version\": …, \"sql\": …}\n"
    "\n"
    "Example: an empty database of the same shape\n"
    "  memtracer schema | sqlite3 empty.db\n"
    "\n"
    "Exit: 0 shown, 1 usage.\n";

static int run(const struct command *self, int argc, char **argv)
{
    bool as_json = false;
    struct json j = JSON_STDOUT;
    const struct option_spec specs[] = {{"json", 0, OPTION_FLAG, &as_json}, {0}};
    int first,
        code = options_parse(self, argc, argv, specs, (struct operand_range){0, 0, false}, &first);

    if (code != OPTIONS_GO_ON)
        return code;
    if (!as_json) {
        fputs(tracer_schema_sql(), stdout);
        return TOOL_OK;
    }
    json_open(&j, NULL, '{');
    json_integer(&j, "version", TRACER_SCHEMA_VERSION);
    json_string(&j, "sql", tracer_schema_sql());
    json_close(&j, '}');
    return TOOL_OK;
}

const struct command command_schema = {"schema", "the SQL that makes a file", help, run};
