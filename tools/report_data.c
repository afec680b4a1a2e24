/* SPDX-License-Identifier: MIT */
/* tools: a run → what the script of the page works on.
 * In: a recording. Out: one JSON text in a script element that is not run; `<` is escaped in it.
 * Called by cmd_report.c. A moment is [sample, t_ns, [type, column …] …]: numbers as differences to
 * the moment before, and of a type only what changed; null = unknown, columns at the end that did
 * not change are left out. */
#include <stdlib.h>

#include "memtracer/memtracer.h"
#include "one_run.h"
#include "options.h"
#include "report.h"

struct data {
    struct report *r;
    struct json j;
    unsigned char *keep;
    int64_t n;
    int64_t sample, t_ns; /* of the moment written last */
    bool dirty[WALK_TYPES];
    int64_t value[WALK_TYPES][WALK_COLUMNS]; /* as written last … */
    bool known[WALK_TYPES][WALK_COLUMNS];
};

static bool same(const struct data *d, const struct walk_type *t, size_t k, int c)
{
    return t->known[c] == d->known[k][c] && t->value[c] == d->value[k][c];
}

static void put_type(struct data *d, const struct walk_type *t, size_t k)
{
    int n = WALK_COLUMNS;

    while (n > 0 && same(d, t, k, n - 1))
        n--;
    json_open(&d->j, NULL, '[');
    json_integer(&d->j, NULL, (int64_t)k);
    for (int c = 0; c < n; c++) {
        if (t->known[c])
            json_integer(&d->j, NULL, t->value[c] - d->value[k][c]);
        else
            json_null(&d->j, NULL);
        d->known[k][c] = t->known[c];
        d->value[k][c] = t->known[c] ? t->value[c] : 0;
    }
    json_close(&d->j, ']');
}

static void put_moment(void *user, struct walk *w)
{
    struct data *d = user;

    for (size_t k = 0; k < w->n_types; k++)
        d->dirty[k] = d->dirty[k] || w->types[k].changed;
    if (w->ordinal >= d->n || !d->keep[w->ordinal])
        return;
    json_open(&d->j, NULL, '[');
    json_integer(&d->j, NULL, w->sample - d->sample);
    json_integer(&d->j, NULL, w->t_ns - d->t_ns);
    for (size_t k = 0; k < w->n_types; k++)
        if (d->dirty[k]) {
            put_type(d, &w->types[k], k);
            d->dirty[k] = false;
        }
    json_close(&d->j, ']');
    d->sample = w->sample;
    d->t_ns = w->t_ns;
}

static int put_row(void *user, uint32_t n_columns, const char *const *names,
                   const tracer_value *values)
{
    struct data *d = user;

    json_open(&d->j, NULL, '{');
    for (uint32_t i = 0; i < n_columns; i++)
        json_value(&d->j, names[i], &values[i]);
    json_close(&d->j, '}');
    return !work_step(d->r->work);
}

static int put_rows(struct data *d, const char *key, const char *sql)
{
    char *of_run = one_run_sql(sql);
    int code;

    json_open(&d->j, key, '[');
    answer_bind(d->r->answer, d->r->answer->run);
    code = answer_ask(d->r->answer, of_run, put_row, d);
    free(of_run);
    json_close(&d->j, ']');
    return code;
}

static int put_lists(struct data *d)
{
    static const struct {
        const char *key, *sql;
    } lists[] = {
        {"run",
         "SELECT id, label, pid, start_wall_ns / 1000000 AS start_ms, (SELECT max(until_ns)"
         " FROM sample WHERE run = ?1) AS end_ns, (SELECT count(*) FROM sample WHERE run = ?1)"
         " AS samples FROM run WHERE id = ?1"},
        {"marks", "SELECT t_ns, label FROM mark WHERE run = ?1 ORDER BY t_ns, id LIMIT 20000"},
        {"steps",
         "SELECT g.type, s.t_ns, g.sample, g.bytes, g.mark, g.site FROM punctuated_growth g"
         " JOIN sample s ON s.id = g.sample WHERE g.run = ?1 ORDER BY s.t_ns"},
        {"regions", "SELECT first_sample, last_sample, base_address, bytes, type, protection,"
                    " file_name, owner, confidence FROM region_row WHERE run = ?1"
                    " ORDER BY last_sample IS NULL DESC, bytes DESC LIMIT 5000"},
    };
    int code = TOOL_OK;

    for (size_t i = 0; i < COUNT_OF(lists) && !code; i++)
        code = put_rows(d, lists[i].key, lists[i].sql);
    return code;
}

/* Steps of types that grow, for those in which no view finds any. */
static void put_judged(struct data *d)
{
    const tracer_verdict *v = d->r->verdict;

    json_open(&d->j, "judged", '[');
    for (uint32_t k = 0; k < v->n_types; k++)
        for (uint32_t i = 0; v->types[k]->growing && i < v->types[k]->n_steps; i++) {
            json_open(&d->j, NULL, '{');
            json_string(&d->j, "type", v->types[k]->type);
            json_integer(&d->j, "t_ns", v->types[k]->steps[i].t_ns);
            json_integer(&d->j, "bytes", v->types[k]->steps[i].bytes);
            json_close(&d->j, '}');
        }
    json_close(&d->j, ']');
}

static int put_moments(struct data *d)
{
    int code;

    json_open(&d->j, "types", '[');
    for (size_t k = 0; k < d->r->walk->n_types; k++)
        json_string(&d->j, NULL, d->r->walk->types[k].name);
    json_close(&d->j, ']');
    json_open(&d->j, "columns", '[');
    for (int c = 0; c < WALK_COLUMNS; c++)
        json_string(&d->j, NULL, walk_column_names[c]);
    json_close(&d->j, ']');
    json_open(&d->j, "moments", '[');
    code = walk_run(d->r->walk, put_moment, d);
    json_close(&d->j, ']');
    return code;
}

int report_data(struct report *r)
{
    static struct data d;
    int code = report_thin(r, &d.keep, &d.n);

    d.r = r;
    d.j = (struct json){.file = r->out, .compact = true, .inside_html = true};
    if (code) {
        free(d.keep);
        d.keep = NULL;
        return code;
    }
    fputs("<script type=\"application/json\" id=\"data\">", r->out);
    json_open(&d.j, NULL, '{');
    code = put_lists(&d);
    put_judged(&d);
    if (!code)
        code = put_moments(&d);
    json_close(&d.j, '}');
    fputs("</script>\n", r->out);
    free(d.keep);
    d.keep = NULL;
    return code;
}
