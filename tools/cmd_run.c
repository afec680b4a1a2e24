/* SPDX-License-Identifier: MIT */
/* tools: memtracer run: records a program from its start to its end.
 * In: a command line. Out: a file, and the program's own exit code. How a program is started
 * with the preload library in it is the system's part, platform.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "platform.h"
#include "memtracer/reader.h"
#include "options.h"
#include "out_json.h"

static const char help[] =
    "usage: memtracer run -o FILE [--interval MS] [--label L] [--stacks[=MIN]] --\n"
    "                     PROGRAM [ARGUMENT...]\n"
    "\n"
    "Runs a program unchanged and records its memory into FILE, from before main() to its end,\n"
    "by way of LD_PRELOAD. Works for dynamically linked programs and for scripts of such\n"
    "interpreters. What the program starts in turn is not recorded; nor is what it becomes by\n"
    "exec: name the real program, not a wrapper.\n"
    "\n"
    "  -o FILE          made, or a memtracer file that gets one more run; %p in it becomes\n"
    "                   the process id, %% a percent sign\n"
    "  --interval MS    milliseconds between two looks; default 1000\n"
    "  --label L        names the run; default the program's name\n"
    "  --stacks[=MIN]   also each call that changes memory, exactly and with its stack: mmap,\n"
    "                   munmap, mremap, mprotect, brk, shmat, shmdt, and malloc, free and their\n"
    "                   like of at least MIN bytes, default 128K; see memtracer sites (Linux)\n"
    "  --json           at the end one JSON object on stderr: file, exit_code, recorded\n"
    "\n"
    "Example: ten looks a second at a sort, then what it held when it held most\n"
    "  memtracer run -o sort.db --interval 100 -- sort -S 200M words.txt -o sorted.txt\n"
    "  memtracer timeline sort.db\n"
    "\n"
    "MEMTRACER_PRELOAD names another place of libmemtracer-preload.so.\n"
    "A program that was killed leaves a readable file all the same.\n"
    "Exit: the program's own code, 128 + N when signal N ended it; 1 usage; 2 the program, the\n"
    "file or the preload library is not as needed (the program was not started).\n";

/* Nothing there counts as empty. A pipe is not opened: that would wait for its other end. */
static int look_whether_empty(const char *path, bool *out)
{
    FILE *file;

    *out = false;
    if (platform_is_irregular(path))
        return TOOL_OK;
    file = fopen(path, "rb");
    if (!file && errno != ENOENT) {
        complain("%s: %s", path, strerror(errno));
        return TOOL_ENVIRONMENT;
    }
    *out = !file || fgetc(file) == EOF;
    if (file)
        fclose(file);
    return TOOL_OK;
}

/* A file that exists must be one that tracer_start() would take: better said before than after. */
static int check_file(const char *path)
{
    tracer_reader *r;
    bool empty;
    int code = look_whether_empty(path, &empty), error;

    if (code || empty)
        return code;
    error = tracer_reader_open(path, &r);
    if (error)
        return complain_file(path, error);
    tracer_reader_close(r);
    return TOOL_OK;
}

static void tell_json(const struct launched *done)
{
    struct json j = {.file = stderr};

    json_open(&j, NULL, '{');
    json_string(&j, "file", done->file);
    json_integer(&j, "exit_code", done->exit_code);
    json_bool(&j, "recorded", done->recorded);
    json_close(&j, '}');
}

static int run(const struct command *self, int argc, char **argv)
{
    struct launch l = {.stack_min = -1};
    struct launched done = {0};
    bool as_json = false;
    const struct option_spec specs[] = {
        {"output", 'o', OPTION_FILE, &l.path}, {"interval", 0, OPTION_NUMBER, &l.interval_ms},
        {"label", 0, OPTION_TEXT, &l.label},   {"stacks", 0, OPTION_MAYBE_BYTES, &l.stack_min},
        {"json", 0, OPTION_FLAG, &as_json},    {0},
    };
    int first,
        code = options_parse(self, argc, argv, specs, (struct operand_range){1, -1, true}, &first);

    if (code != OPTIONS_GO_ON)
        return code;
    if (!l.path || l.interval_ms > 3600000) {
        complain(l.path ? "run: --interval is at most 3600000"
                        : "run: say with -o where the recording goes");
        return TOOL_USAGE;
    }
    l.argv = argv + first;
    code = strchr(l.path, '%') ? TOOL_OK : check_file(l.path);
    if (!code)
        code = launch_program(&l, &done);
    if (code)
        return code;
    if (as_json)
        tell_json(&done);
    return done.exit_code;
}

const struct command command_run = {"run", "record a program from start to end", help, run};
