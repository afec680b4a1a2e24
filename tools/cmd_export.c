/* SPDX-License-Identifier: MIT */
/* tools: memtracer export: a recording in the formats of other programs.
 * In: a file, a format. Out: that format on stdout or in a file, which is whole or not there.
 * The formats are in export_*.c. */
#include <stdlib.h>

#include "export.h"
#include "moment.h"
#include "one_run.h"
#include "options.h"

static const char help[] =
    "usage: memtracer export FILE --csv | --json | --openmetrics | --perfetto [-o FILE]\n"
    "       memtracer export FILE --memorytracer DIR\n"
    "\n"
    "Writes a recording in a format that other programs read.\n"
    "\n"
    "  --csv               tidy: a row a type and change, which holds from t_s until until_s;\n"
    "                      an empty field is unknown\n"
    "  --json              JSON lines: runs, levels, marks, steps, counters, modules, regions\n"
    "  --openmetrics       for promtool tsdb create-blocks-from openmetrics, and for\n"
    "                      VictoriaMetrics' /api/v1/import/prometheus\n"
    "  --perfetto          trace events in JSON: counter tracks, marks and steps, for\n"
    "                      ui.perfetto.dev\n"
    "  --memorytracer DIR  PID_MemType.csv, PID_MemState.csv, PID_PrivateByte.csv of one run in\n"
    "                      the columns of MemoryTracer, with a column for the time\n"
    "  -o, --output FILE   instead of stdout; written beside it and renamed when whole\n"
    "  --run N             the N-th run alone; default: all, for --memorytracer the newest\n"
    "\n"
    "Example: the heap of last night in Prometheus\n"
    "  memtracer export app.db --openmetrics -o app.om\n"
    "  promtool tsdb create-blocks-from openmetrics app.om data\n"
    "\n"
    "Exit: 0 written, 1 usage, 2 a file cannot be read or written, or an interrupt came: then\n"
    "there is no file.\n";

int export_ask(struct exporting *e, const char *sql, tracer_row_fn row, void *user)
{
    char *of_run = e->answer->run ? one_run_sql(sql) : NULL;
    int code;

    answer_bind(e->answer, e->answer->run);
    code = answer_ask(e->answer, of_run ? of_run : sql, row, user);
    free(of_run);
    return code;
}

struct wish {
    bool csv, json, openmetrics, perfetto;
    const char *memorytracer, *output;
    struct work work;
};

static int how_many(const struct wish *w)
{
    return w->csv + w->json + w->openmetrics + w->perfetto + (w->memorytracer != NULL);
}

/* The run asked for must be there; a format of one run takes the newest. */
static int choose_run(struct answer *a, bool one)
{
    return one || a->run ? moment_run(a, a->run, &a->run) : TOOL_OK;
}

static int write_file(struct exporting *e, const struct wish *w)
{
    struct out_file o = {0};
    int code = out_file_open(&o, w->output);

    if (code)
        return code;
    e->out = o.file;
    if (w->csv)
        code = export_csv(e);
    else if (w->json)
        code = export_lines(e);
    else if (w->openmetrics)
        code = export_openmetrics(e);
    else
        code = export_perfetto(e);
    if (!code)
        code = work_end(e->work);
    return out_file_close(&o, 1, code);
}

static int take(void *user, char **operands, int n)
{
    struct wish *w = user;

    (void)operands, (void)n;
    if (how_many(w) != 1 || (w->memorytracer && w->output)) {
        complain(w->memorytracer && w->output ? "export: --memorytracer names its files itself"
                                              : "export: which format? One of --csv, --json, "
                                                "--openmetrics, --perfetto, --memorytracer DIR");
        return TOOL_USAGE;
    }
    work_begin(&w->work, "export");
    return TOOL_OK;
}

static int export(struct answer *a, void *user)
{
    struct wish *w = user;
    struct exporting e = {.answer = a, .work = &w->work};
    int code = choose_run(a, w->memorytracer != NULL);

    if (code)
        return code;
    return w->memorytracer ? export_memorytracer(&e, w->memorytracer) : write_file(&e, w);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    struct wish w = {0};
    const struct option_spec specs[] = {
        {"csv", 0, OPTION_FLAG, &w.csv},
        {"json", 0, OPTION_FLAG, &w.json},
        {"openmetrics", 0, OPTION_FLAG, &w.openmetrics},
        {"perfetto", 0, OPTION_FLAG, &w.perfetto},
        {"memorytracer", 0, OPTION_FILE, &w.memorytracer},
        {"output", 'o', OPTION_FILE, &w.output},
        {"run", 0, OPTION_NUMBER, &a.run},
        {0},
    };

    return answer_question(&(struct question){self, &a, specs, export, &w, .take = take}, argc,
                           argv);
}

const struct command command_export = {"export", "a recording for other programs", help, run};
