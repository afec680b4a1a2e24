/* SPDX-License-Identifier: MIT */
/* tools: memtracer import: a series of memory as CSV → a memtracer file.
 * In: a CSV file, optional files of marks and of process starts. Out: a file that every other
 * command answers about. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "csv.h"
#include "import_foreign.h"
#include "import_series.h"
#include "memtracer/import.h"
#include "options.h"
#include "out_file.h"
#include "platform.h"
#include "written.h"

static const char help[] =
    "usage: memtracer import --csv|--psrecord|--prmon|--mprof FILE -o FILE.db [options]\n"
    "\n"
    "Makes a memtracer file of a series that was measured elsewhere. The first line of the CSV\n"
    "names its columns: t_ns (nanoseconds since 1970 or since any other moment, rising), then a\n"
    "memory type each (heap, stack …; other names become types of their own), in whole bytes;\n"
    "an empty field is unknown.\n"
    "  TYPE          resident bytes, or what --measure says\n"
    "  TYPE.COLUMN   one column of the type: heap.swap, private.size, stack.blocks\n"
    "  regions       the number of mappings\n"
    "  =COUNTER      a counter: =heap_in_use, =heap_free, =threads\n"
    "\n"
    "What psrecord, prmon and mprof have written is taken as it is: the whole process is type\n"
    "process, a child that mprof has seen is child_N, calls that it timed become marks.\n"
    "\n"
    "  --csv FILE          the series\n"
    "  --psrecord FILE     a log of psrecord --log\n"
    "  --prmon FILE        prmon.txt\n"
    "  --mprof FILE        mprofile_….dat of mprof run\n"
    "  -o, --output FILE   the file to write; a memtracer file gets further runs, a new one is\n"
    "                      written beside it and renamed when whole\n"
    "  --measure M         resident (default) or committed: what the types' values are\n"
    "  --markers FILE      lines t_ns,label: what the program did when\n"
    "  --sessions FILE     lines t_ns: a new life of the process began there\n"
    "                      (a first line of both may be the header t_ns,…)\n"
    "  --limit BYTES       what all types together must not pass\n"
    "  --max-regions N     the most mappings there may be\n"
    "  --label LABEL       names the runs; default \"import\"\n"
    "  --json              on stdout: {\"file\": …, \"files\": …, \"runs\": …, \"samples\": …,\n"
    "                      \"ticks\": …, \"marks\": …, \"bytes\": …}: so many files were read, so "
    "much\n"
    "                      was added, and the file has so many bytes\n"
    "\n"
    "Example:\n"
    "  memtracer import --csv series.csv --markers reloads.csv -o series.db\n"
    "  memtracer verdict series.db\n"
    "\n"
    "Exit: 0 written, 1 usage, 2 a file cannot be read or written.\n";

struct wish {
    const char *csv, *psrecord, *prmon, *mprof; /* one of them */
    const char *output, *measure;
    struct series series;
    tracer_import_options options;
    bool as_json;
};

static int read_wish(tracer_import *to, struct csv *csv, const struct wish *w)
{
    int code;

    if (w->mprof)
        return import_mprof(to, csv);
    if (w->psrecord)
        code = import_psrecord(to, csv);
    else if (w->prmon)
        code = import_prmon(to, csv);
    else
        code = import_series(to, csv, &w->series);
    if (!code && csv->n_full < 2)
        return csv_wrong(csv, "nothing follows the header");
    return code;
}

/* Of the file `from` into `to`; what is said names the file that was asked for. `work` may be NULL.
 */
static int import_to(const char *to, const char *from, const struct wish *w, struct work *work)
{
    static struct csv csv;
    tracer_import *import = NULL;
    int error, code = csv_open(&csv, from);

    if (code)
        return code;
    csv.work = work;
    error = tracer_import_open(to, &w->options, &import);
    if (!error) {
        code = read_wish(import, &csv, w);
        error = tracer_import_close(import);
    }
    csv_close(&csv);
    return error && !code ? complain_file(w->output, error) : code;
}

/* The file that is there has runs that must stay: an interrupt ends this one where it is. */
static int import_more(const char *from, const struct wish *w, struct written *out)
{
    int64_t before = w->as_json ? written_last_run(w->output) : 0;
    int code = import_to(w->output, from, w, NULL);

    return w->as_json && !code ? written_look(w->output, before, out) : code;
}

/* A new file is whole or not there; one that is there gets runs more. */
static int import_file(const char *from, const struct wish *w, struct written *out)
{
    static struct out_file o;
    struct work work;
    int code;

    if (platform_is_there(w->output))
        return import_more(from, w, out);
    code = out_file_begin(&o, w->output);
    if (code)
        return code;
    work_begin(&work, "import");
    code = import_to(o.temporary, from, w, &work);
    if (work_end(&work))
        code = TOOL_ENVIRONMENT;
    if (w->as_json && !code)
        code = written_look(o.temporary, 0, out);
    return out_file_close(&o, 1, code);
}

static int import_and_tell(const char *from, const struct wish *w)
{
    struct written written;
    int code = import_file(from, w, &written);

    if (w->as_json && !code)
        written_tell(w->output, 1 + (w->series.marks != NULL) + (w->series.lives != NULL),
                     &written);
    return code;
}

/* NULL: none, or more than one. */
static const char *one_path(const struct wish *w)
{
    const char *const paths[] = {w->csv, w->psrecord, w->prmon, w->mprof};
    const char *path = NULL;
    int n = 0;

    for (size_t i = 0; i < COUNT_OF(paths); i++)
        if (paths[i]) {
            path = paths[i];
            n++;
        }
    return n == 1 ? path : NULL;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct wish w = {.measure = "resident", .options = {.size = sizeof(w.options)}};
    const struct option_spec specs[] = {
        {"csv", 0, OPTION_FILE, &w.csv},
        {"psrecord", 0, OPTION_FILE, &w.psrecord},
        {"prmon", 0, OPTION_FILE, &w.prmon},
        {"mprof", 0, OPTION_FILE, &w.mprof},
        {"output", 'o', OPTION_FILE, &w.output},
        {"measure", 0, OPTION_TEXT, &w.measure},
        {"markers", 0, OPTION_FILE, &w.series.marks},
        {"sessions", 0, OPTION_FILE, &w.series.lives},
        {"limit", 0, OPTION_BYTES, &w.options.limit_bytes},
        {"max-regions", 0, OPTION_NUMBER, &w.options.max_regions},
        {"label", 0, OPTION_TEXT, &w.options.label},
        {"json", 0, OPTION_FLAG, &w.as_json},
        {0},
    };
    const char *path;
    int first,
        code = options_parse(self, argc, argv, specs, (struct operand_range){0, 0, false}, &first);

    if (code != OPTIONS_GO_ON)
        return code;
    path = one_path(&w);
    if (!path || !w.output) {
        complain("import: one of --csv, --psrecord, --prmon, --mprof FILE and -o FILE are needed");
        return TOOL_USAGE;
    }
    if (!w.csv && (w.series.marks || w.series.lives)) {
        complain("import: --markers and --sessions go with --csv");
        return TOOL_USAGE;
    }
    if (strcmp(w.measure, "resident") != 0 && strcmp(w.measure, "committed") != 0) {
        complain("import: --measure is resident or committed");
        return TOOL_USAGE;
    }
    w.series.committed = w.measure[0] == 'c';
    return import_and_tell(path, &w);
}

const struct command command_import = {"import", "a series measured elsewhere into a file", help,
                                       run};
