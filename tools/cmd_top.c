/* SPDX-License-Identifier: MIT */
/* tools: memtracer top: what each type holds, renewed while one looks.
 * In: a file that is being recorded or is done, or a process, which is recorded into a file of its
 * own until the end. Out: a picture on the terminal; one frame where stdout is none. Ends with q,
 * an interrupt or SIGTERM, and gives the terminal back. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "platform.h"
#include "screen.h"
#include "terminal.h"
#include "top_frame.h"

static const char help[] =
    "usage: memtracer top FILE|PID [--window TIME] [--interval TIME] [--run N] [--ascii]\n"
    "\n"
    "What each memory type holds (resident + swapped), the largest first, its change a minute\n"
    "over the window, a line of its course, and the last marks; renewed until q is pressed.\n"
    "A number that is no file is a process: it is looked at from outside and nothing is kept.\n"
    "Where stdout is no terminal, or TERM is dumb, one frame is printed.\n"
    "\n"
    "  --window TIME    how much of the past is shown; default 10m\n"
    "  --interval TIME  between two frames, and two looks at a process; default 1s\n"
    "  --run N          the N-th run of the file; default the newest\n"
    "  --ascii          no block characters; also where the locale is not UTF-8\n"
    "  --bytes          exact bytes instead of KiB, MiB\n"
    "  --json           one frame, machine-readable\n"
    "\n"
    "Example: what grows in process 4242?\n"
    "  memtracer top 4242\n"
    "\n"
    "Exit: 0 shown, 1 usage, 2 the file or the process is not there.\n";

#define SLICE_NS 50000000 /* how soon a key is noticed */

struct top {
    struct answer answer;
    struct top_view view;
    int64_t interval_ns;
    bool ascii;
    bool left;      /* an interrupt came before there was anything to show */
    tracer *tracer; /* of a process that is looked at */
    char *file;     /* of it */
};

/* The process that the operand names, 0 = it is a file. */
static uint32_t as_process(const char *operand)
{
    char *end;
    unsigned long pid = strtoul(operand, &end, 10);

    if (!isdigit((unsigned char)*operand) || *end || pid == 0 || pid > INT32_MAX)
        return 0;
    return platform_is_there(operand) ? 0 : (uint32_t)pid;
}

static struct top *with_process;

/* Also where there is no memory to go on. */
static void leave_process(void)
{
    tracer_stop(with_process->tracer);
    screen_drop_file(with_process->file);
    with_process->tracer = NULL;
    with_process->file = NULL;
}

/* Two looks, so that there is a change to show. */
static int begin_process(struct top *t, uint32_t pid)
{
    tracer_options options = TRACER_OPTIONS_INIT;
    int error;

    t->file = screen_new_file();
    if (!t->file) {
        complain("top: there is no place for a file that is dropped afterwards");
        return TOOL_ENVIRONMENT;
    }
    with_process = t;
    atexit(leave_process);
    options.pid = pid;
    options.interval_ms = (uint32_t)(t->interval_ns / 1000000);
    options.commit_ms = options.interval_ms;
    options.flags = TRACER_F_NO_REGIONS;
    error = tracer_start(t->file, &options, &t->tracer);
    if (!error)
        error = tracer_sample(t->tracer);
    if (!error && platform_wait(t->interval_ns))
        t->left = true;
    else if (!error)
        error = tracer_sample(t->tracer);
    return error ? complain_library("top", error) : TOOL_OK;
}

/* True when the user wants to leave. */
static bool rest(int64_t ns)
{
    int64_t begin = platform_monotonic_ns();
    int key;

    do {
        if (platform_wait(SLICE_NS))
            return true;
        key = screen_key();
        if (key == 'q' || key == 'Q' || key == 3 || key == 4)
            return true;
    } while (platform_monotonic_ns() - begin < ns);
    return false;
}

static int show(struct top *t)
{
    int code;

    t->view.columns = terminal_columns();
    t->view.blocks = terminal_has_blocks() && !t->ascii;
    t->view.colour = terminal_has_colour();
    t->view.live = !t->answer.json && screen_begin();
    do {
        t->view.columns = terminal_columns();
        t->view.lines = t->view.live ? screen_lines() : 0;
        code = top_frame(&t->view);
        fflush(stdout);
    } while (!code && t->view.live && !rest(t->interval_ns));
    screen_end();
    return code;
}

static int top(struct top *t, const char *operand)
{
    uint32_t pid = as_process(operand);
    int code;

    platform_hold_interrupts();
    code = pid ? begin_process(t, pid) : TOOL_OK;
    if (!code && !t->left)
        code = answer_open(&t->answer, pid ? t->file : operand);
    if (!code && !t->left)
        code = show(t);
    answer_close(&t->answer);
    if (with_process)
        leave_process();
    return code;
}

static int run(const struct command *self, int argc, char **argv)
{
    static struct top t;
    const struct option_spec specs[] = {
        {"window", 'w', OPTION_SECONDS, &t.view.window_ns},
        {"interval", 'i', OPTION_SECONDS, &t.interval_ns},
        {"ascii", 0, OPTION_FLAG, &t.ascii},
        ANSWER_OPTIONS(t.answer),
        {0},
    };
    int first, code;

    t.view.window_ns = (int64_t)600 * 1000000000;
    t.interval_ns = 1000000000;
    t.view.answer = &t.answer;
    code = options_parse(self, argc, argv, specs, (struct operand_range){1, 1, false}, &first);
    if (code != OPTIONS_GO_ON)
        return code;
    if (t.interval_ns < SLICE_NS || t.interval_ns > (int64_t)3600 * 1000000000) {
        complain("top: the interval is between 50ms and 1h");
        return TOOL_USAGE;
    }
    return top(&t, argv[first]);
}

const struct command command_top = {"top", "what each type holds, while one looks", help, run};
