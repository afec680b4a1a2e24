/* SPDX-License-Identifier: MIT */
/* tools: a series as CSV, its marks and its lives → samples, marks and runs.
 * In: text files. Out: calls of import.h. Called by cmd_import.c. Must not take what it does not
 * understand for unknown: it is told with its line and column. */
#include "import_series.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "import_side.h"
#include "options.h"

#define MOST_COLUMNS 256
#define NAME_BYTES 128
#define SENTENCE_BYTES 512
#define SECOND INT64_C(1000000000)

enum { COLUMN_NONE = -3, COLUMN_REGIONS = -2, COLUMN_COUNTER = -1 };

struct field {
    int column;            /* TRACER_COLUMN_…, or COLUMN_… */
    uint32_t place;        /* in `types` */
    char name[NAME_BYTES]; /* as in the header */
};

struct importing {
    tracer_import *to;
    struct csv *csv;
    struct side marks, lives;
    bool has_samples, has_marks;
    int64_t first_ns, last_ns;           /* of the samples */
    int64_t first_mark_ns, last_mark_ns; /* they need not come in order */
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

/* Complains about a column of the newest line. */
static int wrong(const struct importing *im, const struct field *f, const char *what)
{
    char sentence[2 * SENTENCE_BYTES];

    snprintf(sentence, sizeof(sentence), "column %s: %s", f->name, what);
    return csv_wrong(im->csv, sentence);
}

/* "heap", "heap.swap" → a place among the types and a column. */
static int name_type(struct importing *im, struct field *f)
{
    const char *dot = strchr(f->name, '.');
    char type[NAME_BYTES];
    uint32_t id;

    f->column = dot ? COLUMN_NONE : im->plain;
    for (size_t c = 0; dot && c < COUNT_OF(column_names); c++)
        if (!strcmp(dot + 1, column_names[c]))
            f->column = (int)c;
    if (f->column == COLUMN_NONE)
        return wrong(im, f, "a type has no such column");
    snprintf(type, sizeof(type), "%.*s", dot ? (int)(dot - f->name) : NAME_BYTES - 1, f->name);
    if (tracer_import_type(im->to, type, &id))
        return csv_wrong(im->csv, tracer_last_error());
    for (f->place = 0; f->place < im->n_types; f->place++)
        if (im->types[f->place].type == id)
            return TOOL_OK;
    im->types[im->n_types++].type = id;
    return TOOL_OK;
}

static const char *counter_of(const struct field *f)
{
    return f->name + (f->name[0] == '=');
}

/* A counter that is unknown so far; the name is known, or told. */
static int name_counter(struct importing *im, struct field *f)
{
    f->column = f->name[0] == '=' ? COLUMN_COUNTER : COLUMN_REGIONS;
    if (tracer_import_counter(im->to, counter_of(f), UINT64_MAX))
        return csv_wrong(im->csv, tracer_last_error());
    return TOOL_OK;
}

static bool is_same(const struct field *a, const struct field *b)
{
    if (a->column < 0 || b->column < 0)
        return a->column < 0 && b->column < 0 && !strcmp(counter_of(a), counter_of(b));
    return a->column == b->column && a->place == b->place;
}

/* heap and heap.ws are one column by two names. */
static int check_once(const struct importing *im, const struct field *f)
{
    char sentence[SENTENCE_BYTES];

    for (const struct field *other = im->fields; other < f; other++) {
        if (!is_same(other, f))
            continue;
        if (!strcmp(other->name, f->name))
            return wrong(im, f, "it is there twice");
        snprintf(sentence, sizeof(sentence), "it is the same as column %s", other->name);
        return wrong(im, f, sentence);
    }
    return TOOL_OK;
}

static int read_header(struct importing *im)
{
    char *line = csv_line(im->csv);
    const char *rest = line;
    char name[NAME_BYTES];
    int code = line ? TOOL_OK : csv_end(im->csv);

    if (code)
        return code;
    if (!line || !csv_text(&rest, name, sizeof(name)) || strcmp(name, "t_ns") != 0)
        return csv_wrong(im->csv, "the first column must be t_ns");
    while (!code && csv_text(&rest, name, sizeof(name))) {
        struct field *f = &im->fields[im->n_fields];

        if (im->n_fields == MOST_COLUMNS)
            return csv_wrong(im->csv, "too many columns");
        snprintf(f->name, sizeof(f->name), "%s", name);
        code = !strcmp(name, "regions") || name[0] == '=' ? name_counter(im, f) : name_type(im, f);
        if (!code)
            code = check_once(im, f);
        im->n_fields++;
    }
    return code;
}

static int take_field(struct importing *im, const struct field *f, bool known, int64_t value)
{
    tracer_type_bytes *t = &im->types[f->place];

    if (f->column < 0) {
        if (tracer_import_counter(im->to, counter_of(f), known ? (uint64_t)value : UINT64_MAX))
            return csv_wrong(im->csv, tracer_last_error());
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

static int take_mark(struct importing *im, const struct side *mark)
{
    int error = tracer_import_mark(im->to, mark->t_ns, mark->text);

    if (error)
        return error;
    if (!im->has_marks || mark->t_ns < im->first_mark_ns)
        im->first_mark_ns = mark->t_ns;
    if (!im->has_marks || mark->t_ns > im->last_mark_ns)
        im->last_mark_ns = mark->t_ns;
    im->has_marks = true;
    return TRACER_OK;
}

/* Marks of another clock or unit would stand beside the series without a word. */
static void tell_far_mark(const struct importing *im)
{
    int64_t far_ns = im->last_ns - im->first_ns;
    bool before, after;

    if (far_ns < SECOND)
        far_ns = SECOND;
    before = im->first_ns - im->first_mark_ns > far_ns;
    after = im->last_mark_ns - im->last_ns > far_ns;
    if (im->has_marks && (before || after))
        complain("%s: a mark at %" PRId64 " ns is far from the samples, which are from %" PRId64
                 " to %" PRId64 " ns; it was taken",
                 im->marks.csv.path, before ? im->first_mark_ns : im->last_mark_ns, im->first_ns,
                 im->last_ns);
}

/* Marks and lives that come before the sample at `t_ns`. */
static int catch_up(struct importing *im, int64_t t_ns)
{
    struct side *s;
    int error, code = TOOL_OK;

    while (!code && (s = earlier(im, t_ns)) != NULL) {
        error = s == &im->lives ? tracer_import_life(im->to, s->t_ns) : take_mark(im, s);
        code = error ? csv_wrong(&s->csv, tracer_last_error()) : side_next(s);
    }
    return code;
}

/* A number at *p, which moves behind it and a comma, or nothing: unknown. */
static int read_field(struct importing *im, const struct field *f, const char **p)
{
    int64_t value = 0;
    bool known = **p && **p != ',';
    const char *begin = *p;

    if (known && (!csv_integer(p, &value) || (**p && **p != ',')))
        return wrong(im, f, "no whole number, or too large a one");
    if (value < 0) {
        char sentence[SENTENCE_BYTES];

        snprintf(sentence, sizeof(sentence), "%.*s is negative", (int)(*p - begin), begin);
        return wrong(im, f, sentence);
    }
    return take_field(im, f, known, value);
}

static int read_row(struct importing *im, const char *line)
{
    int64_t t_ns;
    int code, error;

    if (!csv_integer(&line, &t_ns))
        return csv_wrong(im->csv, "the time is no whole number");
    code = catch_up(im, t_ns);
    for (unsigned k = 0; k < im->n_fields && !code; k++) {
        if (*line != ',')
            return csv_wrong(im->csv, "a field is missing");
        line++;
        code = read_field(im, &im->fields[k], &line);
    }
    if (code)
        return code;
    if (*line)
        return csv_wrong(im->csv, "a field too many");
    error = tracer_import_sample(im->to, t_ns, im->types, im->n_types);
    if (!im->has_samples)
        im->first_ns = t_ns;
    im->last_ns = t_ns;
    im->has_samples = true;
    return error ? csv_wrong(im->csv, tracer_last_error()) : TOOL_OK;
}

int import_series(tracer_import *to, struct csv *csv, const struct series *s)
{
    static struct importing im;
    char *line;
    int code;

    memset(&im, 0, sizeof(im));
    im.to = to;
    im.csv = csv;
    im.plain = s->committed ? TRACER_COLUMN_COMMITTED : TRACER_COLUMN_WS;
    code = side_open(&im.marks, s->marks);
    if (!code)
        code = side_open(&im.lives, s->lives);
    if (!code)
        code = read_header(&im);
    while (!code && (line = csv_line(csv)))
        code = read_row(&im, line);
    if (!code)
        code = csv_end(csv);
    if (!code)
        code = catch_up(&im, INT64_MAX);
    if (!code)
        tell_far_mark(&im);
    csv_close(&im.marks.csv);
    csv_close(&im.lives.csv);
    return code;
}
