/* SPDX-License-Identifier: MIT */
/* tools: recording → trace events in JSON, for ui.perfetto.dev and other viewers of traces.
 * In: a recording. Out: a counter track a type and column, marks as instants, steps as slices from
 * the last sample without to the first with it. Called by cmd_export.c.
 * JSON and not Perfetto's protobuf: the trace event format has been stable for a decade, every
 * viewer of traces reads it, no library writes it for us, and a person can look at it. */
#include <inttypes.h>

#include "export.h"

struct events {
    struct exporting *e;
    struct json j;
    int64_t origin_ns; /* the first run's start: small numbers stay exact */
};

/* Microseconds with three decimals. */
static void put_time(struct json *j, const char *key, int64_t ns)
{
    json_real(j, key, (double)ns / 1e3);
}

static void event_open(struct events *v, const char *phase, const char *category,
                       const tracer_value *values, int64_t tid)
{
    json_open(&v->j, NULL, '{');
    json_string(&v->j, "ph", phase);
    json_string(&v->j, "cat", category);
    json_integer(&v->j, "pid", values[0].integer);
    json_integer(&v->j, "tid", tid);
    put_time(&v->j, "ts", values[1].integer - v->origin_ns);
}

/* Perfetto wants threads by numbers that fit in 32 bits, are not negative, and name one thread in
 * all processes: so steps get numbers that no system gives. */
static int64_t step_track(int64_t run, int64_t type)
{
    return (INT64_C(1) << 30 | run * TRACER_TYPE_CAPACITY | type) & UINT32_MAX;
}

/* run, t, type's number, "steps of TYPE" */
static int put_track(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *values)
{
    struct events *v = user;

    (void)n_columns, (void)names;
    event_open(v, "M", "__metadata", values, step_track(values[0].integer, values[2].integer));
    json_string(&v->j, "name", "thread_name");
    json_open(&v->j, "args", '{');
    json_text(&v->j, "name", values[3].bytes, values[3].n_bytes);
    json_close(&v->j, '}');
    json_close(&v->j, '}');
    return !work_step(v->e->work);
}

/* run, t, label, pid, host */
static int put_process(void *user, uint32_t n_columns, const char *const *names,
                       const tracer_value *values)
{
    struct events *v = user;

    (void)n_columns, (void)names;
    if (!v->origin_ns)
        v->origin_ns = values[1].integer;
    event_open(v, "M", "__metadata", values, values[0].integer);
    json_string(&v->j, "name", "process_name");
    json_open(&v->j, "args", '{');
    json_text(&v->j, "name", values[2].bytes, values[2].n_bytes);
    json_close(&v->j, '}');
    json_close(&v->j, '}');
    return !work_step(v->e->work);
}

/* run, t, type, then the columns by their names */
static int put_counter(void *user, uint32_t n_columns, const char *const *names,
                       const tracer_value *values)
{
    struct events *v = user;

    event_open(v, "C", "memory", values, values[0].integer);
    json_text(&v->j, "name", values[2].bytes, values[2].n_bytes);
    json_open(&v->j, "args", '{');
    for (uint32_t i = 3; i < n_columns; i++)
        if (EXPORT_KNOWN(values[i]))
            json_integer(&v->j, names[i], values[i].integer);
    json_close(&v->j, '}');
    json_close(&v->j, '}');
    return !work_step(v->e->work);
}

/* run, t, label, tid */
static int put_mark(void *user, uint32_t n_columns, const char *const *names,
                    const tracer_value *values)
{
    struct events *v = user;

    (void)n_columns, (void)names;
    event_open(v, "i", "mark", values, values[3].integer);
    json_string(&v->j, "s", "p");
    json_text(&v->j, "name", values[2].bytes, values[2].n_bytes);
    json_close(&v->j, '}');
    return !work_step(v->e->work);
}

/* run, t of the sample before, type, duration, bytes, mark; a track a type */
static int put_step(void *user, uint32_t n_columns, const char *const *names,
                    const tracer_value *values)
{
    struct events *v = user;

    (void)n_columns, (void)names;
    event_open(v, "X", "step", values, step_track(values[0].integer, values[6].integer));
    put_time(&v->j, "dur", values[3].integer);
    json_text(&v->j, "name", values[2].bytes, values[2].n_bytes);
    json_open(&v->j, "args", '{');
    json_integer(&v->j, "bytes", values[4].integer);
    json_value(&v->j, "mark", &values[5]);
    json_close(&v->j, '}');
    json_close(&v->j, '}');
    return !work_step(v->e->work);
}

int export_perfetto(struct exporting *e)
{
    static const struct {
        const char *sql;
        tracer_row_fn row;
    } parts[] = {
        {"SELECT id, start_wall_ns, 'run ' || id || ': ' || label || ' (' || pid || ')' FROM run"
         " WHERE ?1 IN (0, id) ORDER BY start_wall_ns, id",
         put_process},
        {"SELECT r.id, r.start_wall_ns + s.t_ns, t.name, l.ws, l.committed, l.private, l.swap,"
         " l.size FROM run r CROSS JOIN sample s ON s.run = r.id CROSS JOIN type t"
         " CROSS JOIN level l ON l.run = r.id AND l.type = t.id AND l.sample = s.id"
         " WHERE ?1 IN (0, r.id) AND t.name <> 'free' ORDER BY r.id, s.t_ns, s.id, t.id",
         put_counter},
        {"SELECT r.id, r.start_wall_ns + m.t_ns, m.label, m.tid FROM mark m JOIN run r"
         " ON r.id = m.run WHERE ?1 IN (0, r.id) ORDER BY r.id, m.t_ns, m.id",
         put_mark},
        {"SELECT DISTINCT r.id, r.start_wall_ns, t.id, 'steps of ' || t.name"
         " FROM punctuated_growth g JOIN run r ON r.id = g.run JOIN type t ON t.name = g.type"
         " WHERE ?1 IN (0, r.id) ORDER BY r.id, t.id",
         put_track},
        {"SELECT r.id, r.start_wall_ns + b.t_ns, g.type || ' +' || (g.bytes / 1024) || ' KiB',"
         " s.t_ns - b.t_ns, g.bytes, g.mark, (SELECT t.id FROM type t WHERE t.name = g.type)"
         " FROM punctuated_growth g JOIN run r ON r.id = g.run JOIN sample s ON s.id = g.sample"
         " JOIN sample b ON b.id = (SELECT p.id FROM sample p WHERE p.run = s.run AND p.t_ns < "
         "s.t_ns"
         " ORDER BY p.t_ns DESC LIMIT 1) WHERE ?1 IN (0, r.id)",
         put_step},
    };
    struct events v = {.e = e, .j = {.file = e->out, .compact = true}};
    int code = TOOL_OK;

    json_open(&v.j, NULL, '{');
    json_open(&v.j, "traceEvents", '[');
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !code; i++)
        code = export_ask(e, parts[i].sql, parts[i].row, &v);
    json_close(&v.j, ']');
    json_close(&v.j, '}');
    return code;
}
