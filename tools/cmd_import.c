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
#include "import_side.h"
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

#define MOST_COLUMNS 256

enum { COLUMN_REGIONS = -2, COLUMN_COUNTER = -1 };

struct field {
    int column;     /* TRACER_COLUMN_…, or COLUMN_… */
    uint32_t place; /* in `types` */
    char name[64];  /* of a counter */
};

struct importing {
    tracer_import *to;
    struct csv csv;
    struct side marks, lives;
    bool has_samples;
    struct field fields[MOST_COLUMNS];
    unsigned n_fields;
    tracer_type_bytes types[TRACER_TYPE_CAPACITY];
    uint32_t n_types;
    int plain; /* the column of a type's name alone */
};

static const char *const column_names[] = {
    "size",       "committed",    "charged",   "private", "ws",
    "ws_private", "ws_shareable", "ws_shared", "pss",     "swap",
    "locked",     "huge",         "lazy_free", "blocks",  "largest",
};

static uint64_t *column_of(tracer_type_bytes *t, int column)
{
    uint64_t *const of[] = {
        &t->size_bytes,      &t->committed_bytes,  &t->charged_bytes,      &t->private_bytes,
        &t->ws_bytes,        &t->ws_private_bytes, &t->ws_shareable_bytes, &t->ws_shared_bytes,
        &t->pss_bytes,       &t->swap_bytes,       &t->locked_bytes,       &t->huge_bytes,
        &t->lazy_free_bytes, &t->n_blocks,         &t->largest_bytes,
    };

    return of[column];
}

/* "heap", "heap.swap" → a place among the types and a column. */
static int name_type(struct importing *im, const char *name, struct field *f)
{
    const char *dot = strchr(name, '.');
    char type[64];
    uint32_t id;

    f->column = dot ? -3 : im->plain;
    for (size_t c = 0; dot && c < COUNT_OF(column_names); c++)
        if (!strcmp(dot + 1, column_names[c]))
            f->column = (int)c;
    if (f->column == -3)
        return csv_wrong(&im->csv, "a type has no such column");
    snprintf(type, sizeof(type), "%.*s", dot ? (int)(dot - name) : 63, name);
    if (tracer_import_type(im->to, type, &id))
        return csv_wrong(&im->csv, tracer_last_error());
    for (f->place = 0; f->place < im->n_types; f->place++)
        if (im->types[f->place].type == id)
            return TOOL_OK;
    im->types[im->n_types++].type = id;
    return TOOL_OK;
}

static int read_header(struct importing *im)
{
    char *line = csv_line(&im->csv);
    const char *rest = line;
    char name[128];
    int code = line ? TOOL_OK : csv_end(&im->csv);

    if (code)
        return code;
    if (!line || !csv_text(&rest, name, sizeof(name)) || strcmp(name, "t_ns") != 0)
        return csv_wrong(&im->csv, "the first column must be t_ns");
    while (csv_text(&rest, name, sizeof(name))) {
        struct field *f = &im->fields[im->n_fields];

        if (im->n_fields == MOST_COLUMNS)
            return csv_wrong(&im->csv, "too many columns");
        snprintf(f->name, sizeof(f->name), "%.63s", name + (name[0] == '='));
        if (!strcmp(name, "regions") || name[0] == '=')
            f->column = name[0] == '=' ? COLUMN_COUNTER : COLUMN_REGIONS;
        else
            code = name_type(im, name, f);
        if (code)
            return code;
        im->n_fields++;
    }
    return TOOL_OK;
}

static int take_field(struct importing *im, const struct field *f, bool known, int64_t value)
{
    tracer_type_bytes *t = &im->types[f->place];

    if (f->column < 0) {
        if (tracer_import_counter(im->to, f->name, known ? (uint64_t)value : UINT64_MAX))
            return csv_wrong(&im->csv, tracer_last_error());
        return TOOL_OK;
    }
    if (known)
        *column_of(t, f->column) = (uint64_t)value;
    t->known &= ~(1u << f->column);
    t->known |= (known ? 1u : 0u) << f->column;
    return TOOL_OK;
}

/* What comes first; a life before what happened at its first moment. A mark belongs to the life
 * that it came in, and before the first sample there is none but the one that begins. */
static struct side *earlier(struct importing *im, int64_t upto_ns)
{
    struct side *lives = &im->lives, *marks = &im->marks;

    if (lives->there && lives->t_ns <= upto_ns &&
        !(im->has_samples && marks->there && marks->t_ns < lives->t_ns))
        return lives;
    return marks->there && marks->t_ns <= upto_ns ? marks : NULL;
}

/* Marks and lives that come before the sample at `t_ns`. */
static int catch_up(struct importing *im, int64_t t_ns)
{
    struct side *s;
    int error, code = TOOL_OK;

    while (!code && (s = earlier(im, t_ns)) != NULL) {
        error = s == &im->lives ? tracer_import_life(im->to, s->t_ns)
                                : tracer_import_mark(im->to, s->t_ns, s->text);
        code = error ? csv_wrong(&s->csv, tracer_last_error()) : side_next(s);
    }
    return code;
}

static int read_row(struct importing *im, const char *line)
{
    int64_t t_ns, value;
    int code, error;

    if (!csv_integer(&line, &t_ns))
        return csv_wrong(&im->csv, "the time is no whole number");
    code = catch_up(im, t_ns);
    for (unsigned k = 0; k < im->n_fields && !code; k++) {
        bool known;

        if (*line != ',')
            return csv_wrong(&im->csv, "a field is missing");
        line++;
        known = csv_integer(&line, &value) && value >= 0;
        code = take_field(im, &im->fields[k], known, known ? value : 0);
    }
    if (!code && *line)
        return csv_wrong(&im->csv, "a field too many, or no whole number of bytes");
    if (code)
        return code;
    error = tracer_import_sample(im->to, t_ns, im->types, im->n_types);
    im->has_samples = true;
    return error ? csv_wrong(&im->csv, tracer_last_error()) : TOOL_OK;
}

static int import(struct importing *im, const char *marks, const char *lives)
{
    char *line;
    int code = side_open(&im->marks, marks);

    if (!code)
        code = side_open(&im->lives, lives);
    if (!code)
        code = read_header(im);
    while (!code && (line = csv_line(&im->csv)))
        code = read_row(im, line);
    if (!code)
        code = csv_end(&im->csv);
    if (!code)
        code = catch_up(im, INT64_MAX);
    csv_close(&im->marks.csv);
    csv_close(&im->lives.csv);
    return code;
}

struct wish {
    const char *csv, *psrecord, *prmon, *mprof; /* one of them */
    const char *output, *measure, *marks, *lives;
    tracer_import_options options;
    bool as_json;
};

static int read_wish(struct importing *im, const struct wish *w)
{
    int code;

    if (w->mprof)
        return import_mprof(im->to, &im->csv);
    if (w->psrecord)
        code = import_psrecord(im->to, &im->csv);
    else if (w->prmon)
        code = import_prmon(im->to, &im->csv);
    else
        code = import(im, w->marks, w->lives);
    if (!code && im->csv.n_full < 2)
        return csv_wrong(&im->csv, "nothing follows the header");
    return code;
}

/* Of the file `from` into `to`; what is said names the file that was asked for. `work` may be NULL.
 */
static int import_to(const char *to, const char *from, const struct wish *w, struct work *work)
{
    static struct importing im;
    int code, error;

    memset(&im, 0, sizeof(im));
    im.plain = w->measure[0] == 'r' ? TRACER_COLUMN_WS : TRACER_COLUMN_COMMITTED;
    code = csv_open(&im.csv, from);
    if (code)
        return code;
    im.csv.work = work;
    error = tracer_import_open(to, &w->options, &im.to);
    if (!error) {
        code = read_wish(&im, w);
        error = tracer_import_close(im.to);
    }
    csv_close(&im.csv);
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
        written_tell(w->output, 1 + (w->marks != NULL) + (w->lives != NULL), &written);
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
        {"markers", 0, OPTION_FILE, &w.marks},
        {"sessions", 0, OPTION_FILE, &w.lives},
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
    if (!w.csv && (w.marks || w.lives)) {
        complain("import: --markers and --sessions go with --csv");
        return TOOL_USAGE;
    }
    if (strcmp(w.measure, "resident") != 0 && strcmp(w.measure, "committed") != 0) {
        complain("import: --measure is resident or committed");
        return TOOL_USAGE;
    }
    return import_and_tell(path, &w);
}

const struct command command_import = {"import", "a series measured elsewhere into a file", help,
                                       run};
