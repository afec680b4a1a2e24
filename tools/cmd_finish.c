/* SPDX-License-Identifier: MIT */
/* tools: memtracer finish: one plain file of a recording that was cut off.
 * In: a file whose process is gone. Out: the same file without -wal and -shm. The only command
 * that changes a file. */
#include <stdio.h>

#include "memtracer/reader.h"
#include "options.h"
#include "out_json.h"

static const char help[] =
    "usage: memtracer finish FILE\n"
    "\n"
    "Makes one plain file of a recording whose process was killed, crashed or powered off: what\n"
    "is in FILE-wal is taken over, and runs still called recording become interrupted. A file of\n"
    "a process that is alive is left alone. Finishing a finished file is fine.\n"
    "\n"
    "  --json    as {\"file\": …, \"finished\": true}\n"
    "\n"
    "Example: after kill -9\n"
    "  memtracer finish app.db && cp app.db /somewhere/else/\n"
    "\n"
    "Exit: 0 done, 1 usage, 2 not a memtracer file, or its process is alive.\n";

static int run(const struct command *self, int argc, char **argv)
{
    bool as_json = false;
    struct json j = JSON_STDOUT;
    const struct option_spec specs[] = {{"json", 0, OPTION_FLAG, &as_json}, {0}};
    int first,
        code = options_parse(self, argc, argv, specs, (struct operand_range){1, 1, false}, &first);
    int error;

    if (code != OPTIONS_GO_ON)
        return code;
    if (options_file(argv[first]))
        return TOOL_USAGE;
    error = tracer_file_finish(argv[first]);
    if (error)
        return complain_file(argv[first], error);
    if (as_json) {
        json_open(&j, NULL, '{');
        json_string(&j, "file", argv[first]);
        json_bool(&j, "finished", true);
        json_close(&j, '}');
    }
    return TOOL_OK;
}

const struct command command_finish = {"finish", "one plain file of a recording cut off", help,
                                       run};
