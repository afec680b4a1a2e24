/* SPDX-License-Identifier: MIT */
/* tools: what psrecord, prmon and mprof write → samples and marks.
 * In: their text files. Out: calls of import.h. Called by cmd_import.c.
 * psrecord: lines of elapsed seconds, CPU, resident and virtual MiB, with --uss its private MiB.
 * prmon: a first line of names, then columns between tabs; Time in seconds since 1970, memory in
 * KiB. mprof: MEM MIB SECONDS, CHLD NUMBER MIB SECONDS after it, FUNC NAME MIB SECONDS MIB SECONDS
 * for each call when it has ended. */
#include "import_foreign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"

#define KIB 1024.0
#define MIB 1048576.0
#define SECOND 1e9
#define MOST 9.2e18 /* fits in 63 bits */
#define PRMON_COLUMNS 128
#define LABEL_BYTES 256

struct foreign {
    tracer_import *to;
    struct csv *csv;
    tracer_type_bytes types[TRACER_TYPE_CAPACITY];
    uint32_t n_types;
    int64_t last_ns;
};

static int type_named(struct foreign *f, const char *name, tracer_type_bytes **out)
{
    uint32_t id;

    if (tracer_import_type(f->to, name, &id)) {
        csv_wrong(f->csv, tracer_last_error());
        return TOOL_ENVIRONMENT;
    }
    for (uint32_t i = 0; i < f->n_types; i++)
        if (f->types[i].type == id) {
            *out = &f->types[i];
            return TOOL_OK;
        }
    *out = &f->types[f->n_types++];
    **out = (tracer_type_bytes){.type = id};
    return TOOL_OK;
}

static int begin(struct foreign *f, tracer_import *to, struct csv *csv)
{
    tracer_type_bytes *process;

    *f = (struct foreign){.to = to, .csv = csv, .last_ns = INT64_MIN};
    return type_named(f, "process", &process);
}

/* A number at *p, not negative, times `unit`. */
static bool number(const char **p, double unit, int64_t *out)
{
    char *end;
    double value = strtod(*p, &end) * unit;

    if (end == *p || !(value >= 0 && value < MOST))
        return false;
    *p = end;
    *out = (int64_t)llround(value);
    return true;
}

static void set_ws(tracer_type_bytes *t, int64_t bytes)
{
    t->ws_bytes = (uint64_t)bytes;
    t->known |= 1u << TRACER_COLUMN_WS;
}

static void set_size(tracer_type_bytes *t, int64_t bytes)
{
    t->size_bytes = (uint64_t)bytes;
    t->known |= 1u << TRACER_COLUMN_SIZE;
}

/* Tools round times: two looks may have the same one. */
static int sample(struct foreign *f, int64_t t_ns)
{
    if (t_ns == f->last_ns)
        t_ns++;
    f->last_ns = t_ns;
    if (tracer_import_sample(f->to, t_ns, f->types, f->n_types))
        return csv_wrong(f->csv, tracer_last_error());
    return TOOL_OK;
}

static int psrecord_line(struct foreign *f, const char *line, bool has_private)
{
    tracer_type_bytes *t = &f->types[0];
    int64_t t_ns, cpu, real, virtual, private = 0;

    if (!number(&line, SECOND, &t_ns) || !number(&line, 1, &cpu) || !number(&line, MIB, &real) ||
        !number(&line, MIB, &virtual) || (has_private && !number(&line, MIB, &private)))
        return csv_wrong(f->csv, "no line of psrecord's");
    set_ws(t, real);
    set_size(t, virtual);
    if (has_private) {
        t->private_bytes = (uint64_t) private;
        t->known |= 1u << TRACER_COLUMN_PRIVATE;
    }
    return sample(f, t_ns);
}

int import_psrecord(tracer_import *to, struct csv *csv)
{
    struct foreign f;
    char *line = csv_line(csv);
    bool has_private;
    int code = begin(&f, to, csv);

    if (!line || line[0] != '#' || !strstr(line, "Elapsed time") || !strstr(line, "Virtual (MB)"))
        return csv_wrong(csv, "this is no log of psrecord");
    has_private = strstr(line, "USS (MB)") != NULL;
    while (!code && (line = csv_line(csv)))
        code = psrecord_line(&f, line, has_private);
    return code;
}

enum prmon_column {
    PRMON_OTHER,
    PRMON_TIME,
    PRMON_PSS,
    PRMON_RSS,
    PRMON_SWAP,
    PRMON_VMEM,
    PRMON_THREADS
};

static enum prmon_column prmon_column(const char *name, size_t n)
{
    static const struct {
        const char *name;
        enum prmon_column column;
    } known[] = {{"Time", PRMON_TIME}, {"pss", PRMON_PSS},   {"rss", PRMON_RSS},
                 {"swap", PRMON_SWAP}, {"vmem", PRMON_VMEM}, {"nthreads", PRMON_THREADS}};

    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strlen(known[i].name) == n && !memcmp(known[i].name, name, n))
            return known[i].column;
    return PRMON_OTHER;
}

static int prmon_value(struct foreign *f, enum prmon_column column, int64_t value, int64_t *t_ns)
{
    tracer_type_bytes *t = &f->types[0];

    switch (column) {
    case PRMON_OTHER: break;
    case PRMON_TIME: *t_ns = value; break;
    case PRMON_PSS:
        t->pss_bytes = (uint64_t)value;
        t->known |= 1u << TRACER_COLUMN_PSS;
        break;
    case PRMON_RSS: set_ws(t, value); break;
    case PRMON_SWAP:
        t->swap_bytes = (uint64_t)value;
        t->known |= 1u << TRACER_COLUMN_SWAP;
        break;
    case PRMON_VMEM: set_size(t, value); break;
    case PRMON_THREADS:
        if (tracer_import_counter(f->to, "threads", (uint64_t)value))
            return csv_wrong(f->csv, tracer_last_error());
    }
    return TOOL_OK;
}

static int prmon_line(struct foreign *f, const char *line, const enum prmon_column *columns, int n)
{
    int64_t t_ns = 0, value;
    int code = TOOL_OK;

    for (int i = 0; i < n && !code; i++) {
        double unit = columns[i] == PRMON_TIME                                   ? SECOND
                      : columns[i] == PRMON_OTHER || columns[i] == PRMON_THREADS ? 1
                                                                                 : KIB;

        if (!number(&line, unit, &value))
            return csv_wrong(f->csv, "a column is missing or no number");
        code = prmon_value(f, columns[i], value, &t_ns);
    }
    return code ? code : sample(f, t_ns);
}

int import_prmon(tracer_import *to, struct csv *csv)
{
    enum prmon_column columns[PRMON_COLUMNS];
    struct foreign f;
    int n = 0, found = 0, code = begin(&f, to, csv);
    char *line = csv_line(csv);

    for (const char *p = line; p && *p && n < PRMON_COLUMNS; n++) {
        size_t bytes = strcspn(p, "\t");

        columns[n] = prmon_column(p, bytes);
        found |= 1 << columns[n];
        p += bytes + (p[bytes] == '\t');
    }
    if (!(found & 1 << PRMON_TIME) || !(found & 1 << PRMON_RSS))
        return csv_wrong(csv, "this is no file of prmon: columns Time and rss are missing");
    while (!code && (line = csv_line(csv)))
        code = prmon_line(&f, line, columns, n);
    return code;
}

/* A call that mprof saw begin or end. */
struct call {
    int64_t t_ns;
    char label[LABEL_BYTES];
};

struct calls {
    struct call *call;
    size_t n, capacity, next;
};

static void keep_call(struct calls *c, int64_t t_ns, const char *name, int n, const char *what)
{
    if (c->n == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 64;
        c->call = need(realloc(c->call, c->capacity * sizeof(*c->call)));
    }
    c->call[c->n].t_ns = t_ns;
    snprintf(c->call[c->n++].label, LABEL_BYTES, "%.*s %s", n > 200 ? 200 : n, name, what);
}

/* "FUNC NAME MIB SECONDS MIB SECONDS [DEPTH]"; a name may hold blanks ("<lambda> of x"). */
static int read_call(struct calls *c, const char *line)
{
    const char *name = line + 5, *p = name;
    int64_t start, end, bytes;

    for (int n; *p; p += strspn(p, " ")) {
        n = (int)strcspn(p, " ");
        p += n;
        const char *q = p;

        if (number(&q, MIB, &bytes) && number(&q, SECOND, &start) && number(&q, MIB, &bytes) &&
            number(&q, SECOND, &end)) {
            keep_call(c, start, name, (int)(p - name), "begins");
            keep_call(c, end, name, (int)(p - name), "ends");
            return TOOL_OK;
        }
    }
    return TOOL_ENVIRONMENT;
}

static int by_time(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

/* Calls are written when they have ended, so all are read before the first sample. */
static int read_calls(struct csv *csv, struct calls *c)
{
    char *line;

    while ((line = csv_line(csv)))
        if (!strncmp(line, "FUNC ", 5) && read_call(c, line))
            return csv_wrong(csv, "no line of mprof's");
    rewind(csv->file);
    csv->line = 0;
    if (c->n)
        qsort(c->call, c->n, sizeof(*c->call), by_time);
    return TOOL_OK;
}

static int mprof_sample(struct foreign *f, struct calls *c, int64_t t_ns)
{
    for (; c->next < c->n && c->call[c->next].t_ns <= t_ns; c->next++)
        if (tracer_import_mark(f->to, c->call[c->next].t_ns, c->call[c->next].label))
            return csv_wrong(f->csv, tracer_last_error());
    return t_ns == INT64_MAX ? TOOL_OK : sample(f, t_ns);
}

static int child(struct foreign *f, const char *line)
{
    tracer_type_bytes *t;
    char name[32];
    int64_t index, bytes;

    if (!number(&line, 1, &index) || !number(&line, MIB, &bytes) || index >= MOST / 2)
        return csv_wrong(f->csv, "no line of mprof's");
    snprintf(name, sizeof(name), "child_%lld", (long long)index);
    if (type_named(f, name, &t))
        return TOOL_ENVIRONMENT;
    set_ws(t, bytes);
    return TOOL_OK;
}

static int mprof_lines(struct foreign *f, struct calls *c)
{
    int64_t t_ns = -1, next_ns, bytes; /* t_ns: of the sample whose lines are being read */
    int code = TOOL_OK;
    char *line;

    while (!code && (line = csv_line(f->csv))) {
        const char *p = line + 4;

        if (!strncmp(line, "CHLD ", 5)) {
            code = child(f, p + 1);
        } else if (!strncmp(line, "MEM ", 4)) {
            if (!number(&p, MIB, &bytes) || !number(&p, SECOND, &next_ns))
                return csv_wrong(f->csv, "no line of mprof's");
            code = t_ns < 0 ? TOOL_OK : mprof_sample(f, c, t_ns);
            t_ns = next_ns;
            set_ws(&f->types[0], bytes);
        }
    }
    if (t_ns < 0 && !code)
        return csv_wrong(f->csv, "this is no file of mprof: there is no line MEM");
    if (!code)
        code = mprof_sample(f, c, t_ns);
    return code ? code : mprof_sample(f, c, INT64_MAX);
}

int import_mprof(tracer_import *to, struct csv *csv)
{
    struct foreign f;
    struct calls c = {0};
    int code = begin(&f, to, csv);

    if (!code)
        code = read_calls(csv, &c);
    if (!code)
        code = mprof_lines(&f, &c);
    free(c.call);
    return code;
}
