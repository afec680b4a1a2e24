/* SPDX-License-Identifier: MIT */
/* tools: a run of any length → the moments a chart shows.
 * In: a walk. Out: a mark a moment. Called by report_data.c. Peaks and floors survive: a moment
 * goes only when others of its stretch of time have less and more in every column one can look at.
 */
#include <stdlib.h>
#include <string.h>

#include "one_run.h"
#include "options.h"
#include "report.h"

#define STRETCHES 1000 /* a chart has about as many pixels */
#define STEPS_MOST 1024

static const int looked_at[] = {WALK_WS, WALK_PRIVATE, WALK_COMMITTED, WALK_SIZE};
#define LOOKED_AT 4

struct extreme {
    bool any;
    int64_t least, most;
    int64_t at_least, at_most;
};

struct thinning {
    unsigned char *keep;
    int64_t n;
    int64_t from_ns, span_ns;
    int64_t stretches, stretch;
    struct extreme extremes[WALK_TYPES + 1][LOOKED_AT]; /* the last: the total */
    int64_t steps[STEPS_MOST];
    size_t n_steps;
};

static void take(struct extreme *e, int64_t value, int64_t ordinal)
{
    if (!e->any || value < e->least) {
        e->least = value;
        e->at_least = ordinal;
    }
    if (!e->any || value > e->most) {
        e->most = value;
        e->at_most = ordinal;
    }
    e->any = true;
}

static void close_stretch(struct thinning *t)
{
    for (size_t k = 0; k < COUNT_OF(t->extremes); k++)
        for (int c = 0; c < LOOKED_AT; c++) {
            struct extreme *e = &t->extremes[k][c];

            if (e->any && e->least != e->most)
                t->keep[e->at_least] = t->keep[e->at_most] = 1;
            e->any = false;
        }
}

static bool is_step(const struct thinning *t, int64_t sample)
{
    for (size_t i = 0; i < t->n_steps; i++)
        if (t->steps[i] == sample)
            return true;
    return false;
}

static void look(void *user, struct walk *w)
{
    struct thinning *t = user;
    int64_t stretch =
        (int64_t)((double)(w->t_ns - t->from_ns) * (double)t->stretches / (double)t->span_ns);

    if (w->ordinal >= t->n)
        return;
    if (stretch != t->stretch || w->ordinal == 0) {
        close_stretch(t);
        t->stretch = stretch;
        t->keep[w->ordinal] = 1;
    }
    if (is_step(t, w->sample)) {
        t->keep[w->ordinal] = 1;
        t->keep[w->ordinal - (w->ordinal > 0)] = 1;
    }
    for (int c = 0; c < LOOKED_AT; c++) {
        int64_t total = 0;

        for (size_t k = 0; k < w->n_types; k++) {
            if (!w->types[k].counts)
                continue;
            take(&t->extremes[k][c], w->types[k].value[looked_at[c]], w->ordinal);
            total += w->types[k].value[looked_at[c]];
        }
        take(&t->extremes[WALK_TYPES][c], total, w->ordinal);
    }
    t->keep[w->ordinal] |= w->ordinal == t->n - 1;
}

static int take_step(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *values)
{
    struct thinning *t = user;

    (void)n_columns, (void)names;
    t->steps[t->n_steps++] = values[0].integer;
    return t->n_steps == STEPS_MOST;
}

static int64_t count(const struct thinning *t)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < t->n; i++)
        kept += t->keep[i];
    return kept;
}

static int choose(struct report *r, struct thinning *t)
{
    int code = TOOL_OK;

    for (t->stretches = STRETCHES; !code; t->stretches /= 2) {
        memset(t->keep, 0, (size_t)t->n);
        t->stretch = -1;
        code = walk_run(r->walk, look, t);
        close_stretch(t);
        if (r->work->interrupted || count(t) <= REPORT_MOST_MOMENTS || t->stretches == 1)
            return code;
    }
    return code;
}

int report_thin(struct report *r, unsigned char **out, int64_t *n)
{
    static struct thinning t;
    char *sql;
    int64_t span[3] = {0, 0, 0};
    bool found;
    int code;

    answer_bind(r->answer, r->answer->run);
    code = answer_integers(r->answer,
                           "SELECT min(t_ns), max(t_ns), count(*) FROM sample WHERE run = ?1", span,
                           COUNT_OF(span), &found);
    if (code)
        return code;
    t.n = span[2];
    t.from_ns = span[0];
    t.span_ns = span[1] > span[0] ? span[1] - span[0] + 1 : 1;
    t.keep = need(calloc((size_t)t.n + 1, 1));
    answer_bind(r->answer, r->answer->run);
    sql = one_run_sql("SELECT sample FROM punctuated_growth WHERE run = ?1");
    code = answer_ask(r->answer, sql, take_step, &t);
    free(sql);
    if (!code && (r->full || t.n <= REPORT_MOST_MOMENTS))
        memset(t.keep, 1, (size_t)t.n);
    else if (!code)
        code = choose(r, &t);
    *out = t.keep;
    *n = t.n;
    return code;
}
