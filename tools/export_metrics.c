/* SPDX-License-Identifier: MIT */
/* tools: recording → OpenMetrics text, one file for Prometheus' backfill and for VictoriaMetrics.
 * In: a recording. Out: series after series, each in order of time, `# EOF` at the end.
 * Called by cmd_export.c. Few series: no labels of regions, files or threads. Times are the run's
 * start plus its monotonic clock, so that a wall clock set back cannot put samples out of order. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "options.h"
#include "utf8.h"

/* Prometheus forgets a series five minutes after its last sample: a value that does not change is
 * said again. */
#define AGAIN_MS 60000
#define MARKS_MOST 64 /* different labels; the rest counts as "other" */

struct series {
    struct exporting *e;
    char labels[2048];
    const char *metric;
    bool waits; /* a value waits: later ones in the same millisecond replace it */
    int64_t at_ms, until_ms;
    int64_t value;
};

static void put_sample(struct series *s, int64_t ms)
{
    fprintf(s->e->out, "%s{%s} %" PRId64 " %" PRId64 ".%03d\n", s->metric, s->labels, s->value,
            ms / 1000, (int)(ms % 1000));
}

/* Says the value that waits, and again until `end_ms`. */
static void put_waiting(struct series *s, int64_t end_ms)
{
    if (!s->waits)
        return;
    put_sample(s, s->at_ms);
    for (int64_t ms = s->at_ms + AGAIN_MS; ms < end_ms; ms += AGAIN_MS)
        put_sample(s, ms);
    s->waits = false;
}

/* wall ns, value, end of the run in wall ns */
static int take_value(void *user, uint32_t n_columns, const char *const *names,
                      const tracer_value *values)
{
    struct series *s = user;
    int64_t ms = values[0].integer / 1000000;

    (void)n_columns, (void)names;
    if (s->waits && ms > s->at_ms)
        put_waiting(s, ms);
    s->until_ms = values[2].integer / 1000000;
    s->waits = EXPORT_KNOWN(values[1]) && ms >= 0;
    s->at_ms = ms;
    s->value = values[1].integer;
    return !work_step(s->e->work);
}

static int put_series(struct series *s, const char *sql)
{
    int code = answer_ask(s->e->answer, sql, take_value, s);

    if (s->waits && s->until_ms > s->at_ms) {
        put_waiting(s, s->until_ms);
        put_sample(s, s->until_ms);
    } else
        put_waiting(s, s->at_ms);
    return code;
}

/* Adds name="value" as OpenMetrics writes it. */
static void add_label(char *labels, size_t bytes, const char *name, const char *value)
{
    char *clean = text_harmless(value, strlen(value));
    size_t n = strlen(labels);

    n += (size_t)snprintf(labels + n, bytes - n, "%s%s=\"", n ? "," : "", name);
    for (const char *c = clean; *c && n + 4 < bytes; c++) {
        if (*c == '"' || *c == '\\')
            labels[n++] = '\\';
        labels[n++] = *c;
    }
    snprintf(labels + n, bytes - n, "\"");
    free(clean);
}

/* ---- which series there are ---- */

struct run_row {
    int64_t id;
    char labels[1024];
    char info[512];
    int64_t start_ns;
};

struct list {
    struct exporting *e;
    struct run_row *runs;
    size_t n_runs;
    struct {
        int64_t id;
        char name[128];
    } types[TRACER_TYPE_CAPACITY];
    size_t n_types;
};

static int take_run(void *user, uint32_t n_columns, const char *const *names,
                    const tracer_value *values)
{
    struct list *l = user;
    struct run_row *r;
    char pid[24];

    (void)n_columns, (void)names;
    l->runs = need(realloc(l->runs, (l->n_runs + 1) * sizeof(*l->runs)));
    r = &l->runs[l->n_runs++];
    *r = (struct run_row){.id = values[0].integer, .start_ns = values[4].integer};
    snprintf(pid, sizeof(pid), "%" PRId64, values[3].integer);
    add_label(r->labels, 512, "run", values[1].bytes);
    add_label(r->labels, sizeof(r->labels), "program", values[2].bytes);
    add_label(r->info, 64, "pid", pid);
    add_label(r->info, sizeof(r->info), "host", values[5].bytes);
    return 0;
}

static int take_type(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *values)
{
    struct list *l = user;

    (void)n_columns, (void)names;
    if (l->n_types == COUNT_OF(l->types))
        return 1;
    l->types[l->n_types].id = values[0].integer;
    snprintf(l->types[l->n_types++].name, sizeof(l->types[0].name), "%s", values[1].bytes);
    return 0;
}

static void begin_metric(struct exporting *e, const char *name, const char *type, const char *unit,
                         const char *text)
{
    fprintf(e->out, "# TYPE %s %s\n", name, type);
    if (unit)
        fprintf(e->out, "# UNIT %s %s\n", name, unit);
    fprintf(e->out, "# HELP %s %s\n", name, text);
}

#define LEVEL_SQL(column)                                                                          \
    {                                                                                              \
#column, "SELECT r.start_wall_ns + s.t_ns, l." #column ", r.start_wall_ns +"               \
                 " (SELECT max(n.until_ns) FROM sample n WHERE n.run = ?1)"                        \
                 " FROM run r CROSS JOIN level l ON l.run = r.id JOIN sample s ON s.id = l.sample" \
                 " WHERE r.id = ?1 AND l.type = ?2 ORDER BY l.sample"                              \
    }

static int put_types(struct list *l, const struct run_row *r)
{
    static const struct {
        const char *name, *sql;
    } stats[] = {LEVEL_SQL(size), LEVEL_SQL(committed), LEVEL_SQL(private),
                 LEVEL_SQL(ws),   LEVEL_SQL(pss),       LEVEL_SQL(swap)};
    int code = TOOL_OK;

    for (size_t t = 0; t < l->n_types && !code; t++)
        for (size_t k = 0; k < COUNT_OF(stats) && !code; k++) {
            struct series s = {.e = l->e, .metric = "memtracer_type_bytes"};

            snprintf(s.labels, sizeof(s.labels), "%s", r->labels);
            add_label(s.labels, sizeof(s.labels), "type", l->types[t].name);
            add_label(s.labels, sizeof(s.labels), "stat", stats[k].name);
            answer_bind(l->e->answer, r->id);
            answer_bind(l->e->answer, l->types[t].id);
            code = put_series(&s, stats[k].sql);
        }
    return code;
}

static int put_ticks(struct list *l, const struct run_row *r)
{
    struct series s = {.e = l->e, .metric = "memtracer_ticks_total"};

    snprintf(s.labels, sizeof(s.labels), "%s", r->labels);
    answer_bind(l->e->answer, r->id);
    return put_series(&s,
                      "SELECT r.start_wall_ns + s.t_ns, sum(s.ticks) OVER (ORDER BY s.t_ns, s.id),"
                      " r.start_wall_ns + s.until_ns"
                      " FROM run r JOIN sample s ON s.run = r.id WHERE r.id = ?1"
                      " ORDER BY s.t_ns, s.id");
}

struct marks {
    struct list *l;
    char (*labels)[256];
    size_t n;
};

static int take_mark(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *values)
{
    struct marks *m = user;

    (void)n_columns, (void)names;
    snprintf(m->labels[m->n++], sizeof(m->labels[0]), "%s", values[0].bytes);
    return m->n == MARKS_MOST;
}

static int put_marks(struct list *l, const struct run_row *r)
{
    static char labels[MARKS_MOST][256];
    struct marks m = {l, labels, 0};
    int code;

    answer_bind(l->e->answer, r->id);
    code = answer_ask(l->e->answer,
                      "SELECT label FROM mark WHERE run = ?1 GROUP BY label"
                      " ORDER BY count(*) DESC, label",
                      take_mark, &m);
    for (size_t i = 0; i < m.n && !code; i++) {
        struct series s = {.e = l->e, .metric = "memtracer_marks_total"};

        snprintf(s.labels, sizeof(s.labels), "%s", r->labels);
        add_label(s.labels, sizeof(s.labels), "mark", labels[i]);
        answer_bind(l->e->answer, r->id);
        answer_bind_text(l->e->answer, labels[i]);
        code = put_series(&s, "SELECT r.start_wall_ns + m.t_ns, row_number() OVER (ORDER BY m.t_ns,"
                              " m.id), r.start_wall_ns + (SELECT max(n.until_ns) FROM sample n"
                              " WHERE n.run = ?1) FROM run r JOIN mark m ON m.run = r.id"
                              " WHERE r.id = ?1 AND m.label = ?2 ORDER BY m.t_ns, m.id");
    }
    return code;
}

static void put_info(struct list *l)
{
    begin_metric(l->e, "memtracer_run", "info", NULL, "A run of a program.");
    for (size_t i = 0; i < l->n_runs; i++)
        fprintf(l->e->out, "memtracer_run_info{%s,%s} 1 %" PRId64 ".%03d\n", l->runs[i].labels,
                l->runs[i].info, l->runs[i].start_ns / 1000000000,
                (int)(l->runs[i].start_ns / 1000000 % 1000));
}

int export_openmetrics(struct exporting *e)
{
    static const struct {
        const char *name, *type, *unit, *text;
        int (*put)(struct list *, const struct run_row *);
    } metrics[] = {
        {"memtracer_type_bytes", "gauge", "bytes", "Memory by type and state.", put_types},
        {"memtracer_ticks", "counter", NULL, "Looks at the process.", put_ticks},
        {"memtracer_marks", "counter", NULL, "What the program said it did.", put_marks},
    };
    static struct list l;
    int code;

    l.e = e;
    code = export_ask(e,
                      "SELECT id, uuid, label, pid, start_wall_ns, host FROM run"
                      " WHERE ?1 IN (0, id) ORDER BY id",
                      take_run, &l);
    if (!code)
        code = answer_ask(e->answer, "SELECT id, name FROM type ORDER BY id", take_type, &l);
    if (!code)
        put_info(&l);
    for (size_t k = 0; k < COUNT_OF(metrics) && !code; k++) {
        begin_metric(e, metrics[k].name, metrics[k].type, metrics[k].unit, metrics[k].text);
        for (size_t i = 0; i < l.n_runs && !code && !e->work->interrupted; i++)
            code = metrics[k].put(&l, &l.runs[i]);
    }
    fputs("# EOF\n", e->out);
    free(l.runs);
    return code;
}
