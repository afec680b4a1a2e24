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
    char *of_run = e->run ? one_run_sql(sql) : NULL;
    int code;

    answer_bind(e->answer, e->run);
    code = answer_ask(e->answer, of_run ? of_run : sql, row, user);
    free(of_run);
    return code;
}

struct formats {
    bool csv, json, openmetrics, perfetto;
    const char *memorytracer;
};

static int how_many(const struct formats *f)
{
    return f->csv + f->json + f->openmetrics + f->perfetto + (f->memorytracer != NULL);
}

/* The run asked for must be there; a format of one run takes the newest. */
static int choose_run(struct exporting *e, bool one)
{
    if (!one && !e->run)
        return TOOL_OK;
    return moment_run(e->answer, e->run, &e->run);
}

static int write_file(struct exporting *e, const struct formats *f, const char *output)
{
    struct out_file o = {0};
    int code = out_file_open(&o, output);

    if (code)
        return code;
    e->out = o.file;
    if (f->csv)
        code = export_csv(e);
    else if (f->json)
        code = export_lines(e);
    else if (f->openmetrics)
        code = export_openmetrics(e);
    else
        code = export_perfetto(e);
    if (!code)
        code = work_end(e->work);
    return out_file_close(&o, code);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct formats f = {0};
    struct answer a = {0};
    struct work w;
    struct exporting e = {.answer = &a, .work = &w};
    const char *output = NULL;
    const struct option_spec specs[] = {
        {"csv", 0, OPTION_FLAG, &f.csv},
        {"json", 0, OPTION_FLAG, &f.json},
        {"openmetrics", 0, OPTION_FLAG, &f.openmetrics},
        {"perfetto", 0, OPTION_FLAG, &f.perfetto},
        {"memorytracer", 0, OPTION_TEXT, &f.memorytracer},
        {"output", 'o', OPTION_TEXT, &output},
        {"run", 0, OPTION_NUMBER, &e.run},
        {0},
    };
    int first,
        code = options_parse(self, argc, argv, specs, (struct operand_range){1, 1, false}, &first);

    if (code != OPTIONS_GO_ON)
        return code;
    if (how_many(&f) != 1 || (f.memorytracer && output)) {
        complain(f.memorytracer && output ? "export: --memorytracer names its files itself"
                                          : "export: which format? One of --csv, --json, "
                                            "--openmetrics, --perfetto, --memorytracer DIR");
        return TOOL_USAGE;
    }
    work_begin(&w, "export");
    code = answer_open(&a, argv[first]);
    if (!code)
        code = choose_run(&e, f.memorytracer != NULL);
    if (!code)
        code =
            f.memorytracer ? export_memorytracer(&e, f.memorytracer) : write_file(&e, &f, output);
    answer_close(&a);
    return code;
}

const struct command command_export = {"export", "a recording for other programs", help, run};
