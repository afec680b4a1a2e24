/* SPDX-License-Identifier: MIT */
/* tools: memtracer record: records another process from outside, by its pid.
 * In: a pid. Out: a file, and one line on stdout at the end. Ends with the process, after a
 * duration, or when interrupted; in each case the file is complete. */
#include <inttypes.h>
#include <stdio.h>

#include "platform.h"
#include "human.h"
#include "memtracer/memtracer.h"
#include "options.h"
#include "out_json.h"

static const char help[] =
    "usage: memtracer record -o FILE --pid PID [--duration TIME] [--interval MS] [--label L]\n"
    "\n"
    "Records a running process from outside; nothing is needed of it. The allocator's own\n"
    "counters and the program's marks are not there, types and regions are. Ends when the\n"
    "process ends, after --duration, or on Ctrl-C or SIGTERM; the file is complete each time.\n"
    "\n"
    "  -o FILE            made, or a memtracer file that gets one more run\n"
    "  -p, --pid PID      the process; it must be yours, or you root\n"
    "  --duration TIME    90, 12.5, 1m30s\n"
    "  --interval MS      milliseconds between two looks; default 1000\n"
    "  --label L          names the run; default the program's name\n"
    "  --json             the last line as JSON\n"
    "\n"
    "Example: five minutes of a server, then what grew\n"
    "  memtracer record -o server.db --pid $(pidof server) --duration 5m\n"
    "  memtracer diff server.db start end\n"
    "\n"
    "Exit: 0 recorded, 1 usage, 2 no such process, no permission, or the file failed.\n";

#define LOOK_NS 100000000 /* how often it is checked whether the process still lives */

struct wish {
    const char *path;
    int64_t pid, duration_ns, interval_ms;
    bool as_json;
};

static const char *wait_for_end(tracer *t, int64_t duration_ns, tracer_stats *stats)
{
    int64_t begin = platform_monotonic_ns(), left;

    for (;;) {
        left = duration_ns ? duration_ns - (platform_monotonic_ns() - begin) : LOOK_NS;
        if (left <= 0)
            return "the time was over";
        if (platform_wait(left < LOOK_NS ? left : LOOK_NS))
            return "interrupted";
        if (tracer_get_stats(t, stats) || stats->state == TRACER_STATE_ENDED)
            return "the process ended";
    }
}

static void tell(const struct wish *w, const tracer_stats *stats, const char *why)
{
    struct json j = JSON_STDOUT;

    if (!w->as_json) {
        printf("%" PRIu64 " looks at process %" PRId64 ", %" PRIu64 " missed; %s\n", stats->n_ticks,
               w->pid, stats->n_missed, why);
        return;
    }
    json_open(&j, NULL, '{');
    json_string(&j, "file", w->path);
    json_integer(&j, "pid", w->pid);
    json_integer(&j, "ticks", (int64_t)stats->n_ticks);
    json_integer(&j, "missed", (int64_t)stats->n_missed);
    json_string(&j, "end", why);
    json_close(&j, '}');
}

static int record(const struct wish *w, const tracer_options *options)
{
    tracer_stats stats = {.size = sizeof(stats)};
    const char *why;
    tracer *t;
    int error;

    platform_hold_interrupts();
    error = tracer_start(w->path, options, &t);
    if (error)
        return complain_library("record", error);
    why = wait_for_end(t, w->duration_ns, &stats);
    tracer_get_stats(t, &stats);
    error = tracer_stop(t);
    if (error)
        return complain_library("record", error);
    tell(w, &stats, why);
    return TOOL_OK;
}

static int run(const struct command *self, int argc, char **argv)
{
    tracer_options options = TRACER_OPTIONS_INIT;
    struct wish w = {0};
    const struct option_spec specs[] = {
        {"output", 'o', OPTION_FILE, &w.path},
        {"pid", 'p', OPTION_NUMBER, &w.pid},
        {"duration", 0, OPTION_SECONDS, &w.duration_ns},
        {"interval", 0, OPTION_NUMBER, &w.interval_ms},
        {"label", 0, OPTION_TEXT, &options.label},
        {"json", 0, OPTION_FLAG, &w.as_json},
        {0},
    };
    int first,
        code = options_parse(self, argc, argv, specs, (struct operand_range){0, 0, false}, &first);

    if (code != OPTIONS_GO_ON)
        return code;
    if (!w.path || !w.pid || w.pid > UINT32_MAX || w.interval_ms > 3600000) {
        complain(!w.path                   ? "record: say with -o where the recording goes"
                 : w.interval_ms > 3600000 ? "record: --interval is at most 3600000"
                                           : "record: say with --pid which process");
        return TOOL_USAGE;
    }
    options.pid = (uint32_t)w.pid;
    options.interval_ms = (uint32_t)w.interval_ms;
    return record(&w, &options);
}

const struct command command_record = {"record", "record a running process from outside", help,
                                       run};
