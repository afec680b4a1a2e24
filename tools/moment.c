/* SPDX-License-Identifier: MIT */
/* tools: the user's word for a moment → run and sample.
 * In: text such as "12.5", "loaded#2", "#12", a wall clock. Out: struct moment, or a sentence
 * that says where moments can be looked up. Called by every command with a moment; the only
 * place that knows these words. */
#include "moment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"

#define SAMPLE "SELECT id, run, t_ns, wall_ns FROM sample s "

/* One sample by a question of the four columns above. */
static int find_sample(struct answer *a, const char *sql, struct moment *out, bool *out_found)
{
    int64_t v[4];
    int code = answer_integers(a, sql, v, 4, out_found);

    if (!code && *out_found)
        *out = (struct moment){v[1], v[0], v[2], v[2], v[3], false};
    return code;
}

int moment_run(struct answer *a, int64_t run, int64_t *out_run)
{
    static const char sql[] =
        "SELECT run FROM sample WHERE ?1 IN (0, run) ORDER BY id DESC LIMIT 1";
    bool found;
    int code;

    answer_bind(a, run);
    code = answer_integers(a, sql, out_run, 1, &found);
    if (code || found)
        return code;
    if (run)
        complain("%s: run %" PRId64 " has no sample; `memtracer info` lists the runs", a->path,
                 run);
    else
        complain("%s: there is no sample yet", a->path);
    return TOOL_ENVIRONMENT;
}

static int try_sample(struct answer *a, const char *text, struct moment *out, bool *out_found)
{
    char *end;
    int64_t id;

    if (text[0] != '#')
        return TOOL_OK;
    id = strtoll(text + 1, &end, 10);
    if (end == text + 1 || *end)
        return TOOL_OK;
    answer_bind(a, id);
    answer_bind(a, out->run);
    return find_sample(a, SAMPLE "WHERE id = ?1 AND ?2 IN (0, run)", out, out_found);
}

/* place 0 = the last mark of that label. */
static int find_mark(struct answer *a, const char *label, int64_t place, struct moment *out,
                     bool *out_found)
{
    int64_t mark_ns;
    int code;

    answer_bind(a, out->run);
    answer_bind_text(a, label);
    answer_bind(a, place);
    code = answer_integers(
        a,
        "SELECT t_ns FROM (SELECT t_ns, row_number() OVER (ORDER BY t_ns, id) AS place,"
        " count(*) OVER () AS n FROM mark WHERE run = ?1 AND label = ?2)"
        " WHERE place = iif(?3 = 0, n, ?3)",
        &mark_ns, 1, out_found);
    if (code || !*out_found)
        return code;
    answer_bind(a, out->run);
    answer_bind(a, mark_ns);
    code = find_sample(a, SAMPLE "WHERE run = ?1 ORDER BY t_ns > ?2, abs(t_ns - ?2) LIMIT 1", out,
                       out_found);
    out->is_mark = true;
    out->t_ns = out->asked_ns = mark_ns;
    return code;
}

static int try_mark(struct answer *a, const char *text, struct moment *out, bool *out_found)
{
    const char *hash = strrchr(text, '#');
    size_t n = hash ? (size_t)(hash - text) : 0;
    int code = find_mark(a, text, 0, out, out_found);
    int64_t place = hash ? strtoll(hash + 1, NULL, 10) : 0;
    char *label;

    if (code || *out_found || !hash || place <= 0)
        return code;
    label = need(malloc(n + 1));
    memcpy(label, text, n);
    label[n] = '\0';
    code = find_mark(a, label, place, out, out_found);
    free(label);
    return code;
}

static int try_word(struct answer *a, const char *text, struct moment *out, bool *out_found)
{
    bool at_start = !strcmp(text, "start");

    if (!at_start && strcmp(text, "end") != 0)
        return TOOL_OK;
    answer_bind(a, out->run);
    answer_bind(a, at_start ? 1 : -1);
    return find_sample(a, SAMPLE "WHERE run = ?1 ORDER BY ?2 * t_ns, ?2 * id LIMIT 1", out,
                       out_found);
}

static int try_time(struct answer *a, const char *text, struct moment *out, bool *out_found)
{
    int64_t ns;
    int code;

    if (!human_parse_seconds(text, &ns))
        return TOOL_OK;
    answer_bind(a, out->run);
    answer_bind(a, ns);
    code = find_sample(a, SAMPLE "WHERE run = ?1 ORDER BY t_ns > ?2, abs(t_ns - ?2) LIMIT 1", out,
                       out_found);
    out->asked_ns = ns;
    return code;
}

static int try_wall(struct answer *a, const char *text, struct moment *out, bool *out_found)
{
    int64_t ns;
    int code;

    if (!human_parse_wall(text, &ns))
        return TOOL_OK;
    answer_bind(a, out->run);
    answer_bind(a, ns);
    code = find_sample(
        a, SAMPLE "WHERE run = ?1 ORDER BY wall_ns > ?2, abs(wall_ns - ?2), id DESC LIMIT 1", out,
        out_found);
    out->asked_ns = out->t_ns + (ns - out->wall_ns);
    return code;
}

/* A wall clock says by itself which run is meant: the last one begun by then. */
static int run_of_wall(struct answer *a, const char *text, int64_t *run)
{
    int64_t ns, found_run;
    bool found;
    int code;

    if (*run || !human_parse_wall(text, &ns))
        return TOOL_OK;
    answer_bind(a, ns);
    code = answer_integers(a, "SELECT run FROM sample WHERE wall_ns <= ?1 ORDER BY id DESC LIMIT 1",
                           &found_run, 1, &found);
    if (!code && found)
        *run = found_run;
    return code;
}

static int no_such_moment(const struct answer *a, const char *text, int64_t run)
{
    complain("%s: \"%s\" is no mark, sample or time of run %" PRId64
             "; `memtracer marks` lists the marks, times look like 12.5 or 1m30s",
             a->path, text, run);
    return TOOL_ENVIRONMENT;
}

int moment_resolve(struct answer *a, const char *text, int64_t run, struct moment *out)
{
    static int (*const tries[])(struct answer *, const char *, struct moment *,
                                bool *) = {try_mark, try_word, try_time, try_wall};
    struct moment m = {.run = run};
    bool found = false;
    int code;

    text = text ? text : "end";
    code = try_sample(a, text, &m, &found);
    if (!code && !found)
        code = run_of_wall(a, text, &run);
    if (!code && !found)
        code = moment_run(a, run, &m.run);
    for (size_t i = 0; !code && !found && i < sizeof(tries) / sizeof(tries[0]); i++)
        code = tries[i](a, text, &m, &found);
    if (!code && !found)
        code = no_such_moment(a, text, m.run);
    if (!code)
        *out = m;
    return code;
}

int moment_after_mark(struct answer *a, int64_t since_ns, struct moment *mark)
{
    struct moment after = *mark;
    bool found;
    int code;

    if (!mark->is_mark)
        return TOOL_OK;
    answer_bind(a, mark->run);
    answer_bind(a, mark->t_ns);
    answer_bind(a, since_ns / 2 + mark->t_ns / 2);
    answer_bind(a, mark->sample);
    code = find_sample(a,
                       SAMPLE "WHERE run = ?1 AND t_ns > ?2 AND (SELECT until_ns FROM sample"
                              " WHERE id = ?4) < ?3 ORDER BY t_ns LIMIT 1",
                       &after, &found);
    if (!code && found) {
        mark->sample = after.sample;
        mark->wall_ns = after.wall_ns;
    }
    return code;
}

void moment_print(struct answer *a, const char *before, const struct moment *m)
{
    char t[HUMAN_BYTES], wall[HUMAN_BYTES];

    if (a->json) {
        json_integer(&a->out, "run", m->run);
        json_integer(&a->out, "sample", m->sample);
        json_integer(&a->out, "t_ns", m->t_ns);
        json_integer(&a->out, "wall_ns", m->wall_ns);
        return;
    }
    human_seconds(t, m->t_ns);
    human_wall(wall, m->wall_ns);
    printf("%srun %" PRId64 ", sample %" PRId64 ", %s s, %s UTC\n", before, m->run, m->sample, t,
           wall);
}
