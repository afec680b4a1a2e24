/* SPDX-License-Identifier: MIT */
/* tools: the words of a command line → a question to tracer_reader_verdict().
 * In: moments and names. Out: a verdict, or one of each run where they ran side by side.
 * Called by cmd_verdict.c, cmd_check.c, report_verdict.c. Must not judge. */
#include "judgement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moment.h"
#include "options.h"
#include "utf8.h"

static int to_wall(struct answer *a, const char *text, int64_t *out_wall)
{
    struct moment m;
    int64_t start;
    bool found;
    int code = text ? moment_resolve(a, text, a->run, &m) : TOOL_OK;

    *out_wall = 0;
    if (code || !text)
        return code;
    answer_bind(a, m.run);
    code = answer_integers(a, "SELECT start_wall_ns FROM run WHERE id = ?1", &start, 1, &found);
    *out_wall = start + m.asked_ns;
    return code;
}

static int find_measure(const char *name, uint32_t *out)
{
    static const char *const names[] = {"held", "committed", "size"};

    *out = 0;
    for (uint32_t i = 0; name && i < COUNT_OF(names); i++)
        if (!strcmp(names[i], name)) {
            *out = i;
            return TOOL_OK;
        }
    if (name)
        complain("--measure is held, committed or size, not \"%s\"", name);
    return name ? TOOL_USAGE : TOOL_OK;
}

static int take_options(struct answer *a, const struct judgement_question *q,
                        tracer_verdict_options *out)
{
    int code = find_measure(q->measure, &out->measure);

    if (!code)
        code = to_wall(a, q->since, &out->since_wall_ns);
    if (!code)
        code = to_wall(a, q->until, &out->until_wall_ns);
    if (!code && q->since && q->until && out->since_wall_ns > out->until_wall_ns) {
        complain("--since %s is after --until %s: nothing lies between", q->since, q->until);
        return TOOL_USAGE;
    }
    out->size = sizeof(*out);
    out->run = a->run;
    out->type = q->type;
    out->limit_bytes = q->limit_bytes;
    return code;
}

/* *out_error is what the library answered; without it TOOL_OK would not mean a verdict. */
static int ask(struct answer *a, const struct judgement_question *q, const tracer_verdict **out,
               int *out_error)
{
    tracer_verdict_options o = {0};
    int code = take_options(a, q, &o);

    *out_error = code ? TRACER_OK : tracer_reader_verdict(a->reader, &o, out);
    return code;
}

int judgement_ask(struct answer *a, const struct judgement_question *q, const tracer_verdict **out)
{
    int error, code = ask(a, q, out, &error);

    return error ? complain_file(a->path, error) : code;
}

/* ---- runs side by side ---- */

struct runs {
    struct judged_run *items;
    size_t n;
};

static int keep_run(void *user, uint32_t n_columns, const char *const *names,
                    const tracer_value *values)
{
    struct runs *runs = user;
    size_t n = strlen(values[2].bytes) + 1;
    char *label = memcpy(need(malloc(n)), values[2].bytes, n);

    (void)n_columns, (void)names;
    runs->items = need(realloc(runs->items, (runs->n + 1) * sizeof(*runs->items)));
    runs->items[runs->n++] = (struct judged_run){values[0].integer, values[1].integer, label};
    return 0;
}

/* A run without a sample in the time that is asked for is left out, as among lives. */
static int judge_run(struct answer *a, const struct judgement_question *q, judgement_fn tell,
                     const struct judged_run *run, void *user)
{
    const tracer_verdict *v = NULL;
    int error, code;

    a->run = run->run;
    code = ask(a, q, &v, &error);
    if (error && error != TRACER_EINVAL)
        code = complain_file(a->path, error);
    if (v)
        tell(a, v, run, user);
    tracer_verdict_free(v);
    return code;
}

static int judge_apart(struct answer *a, const struct judgement_question *q, judgement_fn tell,
                       void *user)
{
    struct runs runs = {0};
    int code = answer_ask(a,
                          "SELECT id, pid, label FROM run r WHERE label = (SELECT label FROM run"
                          " WHERE id = (SELECT run FROM sample ORDER BY id DESC LIMIT 1))"
                          " AND EXISTS (SELECT 1 FROM sample WHERE run = r.id)"
                          " ORDER BY start_wall_ns, id",
                          keep_run, &runs);

    for (size_t i = 0; i < runs.n; i++) {
        if (!code)
            code = judge_run(a, q, tell, &runs.items[i], user);
        free(runs.items[i].label);
    }
    free(runs.items);
    a->run = 0;
    return code;
}

int judgement_each(struct answer *a, const struct judgement_question *q, judgement_fn tell,
                   void *user)
{
    const tracer_verdict *v = NULL;
    int error, code = ask(a, q, &v, &error);

    if (error == TRACER_EOVERLAP && !a->run)
        return judge_apart(a, q, tell, user);
    if (error)
        return complain_file(a->path, error);
    if (!code)
        tell(a, v, NULL, user);
    tracer_verdict_free(v);
    return code;
}

char *judgement_name(const struct judged_run *run)
{
    char *label = text_harmless(run->label, strlen(run->label));
    size_t n = strlen(label) + 64;
    char *out = need(malloc(n));

    if (run->pid > 0)
        snprintf(out, n, "run %" PRId64 " (%s, pid %" PRId64 ")", run->run, label, run->pid);
    else
        snprintf(out, n, "run %" PRId64 " (%s)", run->run, label);
    free(label);
    return out;
}
