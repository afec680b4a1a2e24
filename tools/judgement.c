/* SPDX-License-Identifier: MIT */
/* tools: the words of a command line → a question to tracer_reader_verdict().
 * In: moments and names. Out: a verdict. Called by cmd_verdict.c, cmd_check.c. Must not judge. */
#include "judgement.h"

#include <string.h>

#include "moment.h"
#include "options.h"

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

int judgement_ask(struct answer *a, const struct judgement_question *q, const tracer_verdict **out)
{
    tracer_verdict_options o = {
        .size = sizeof(o), .run = a->run, .type = q->type, .limit_bytes = q->limit_bytes};
    int code = find_measure(q->measure, &o.measure), error;

    if (!code)
        code = to_wall(a, q->since, &o.since_wall_ns);
    if (!code)
        code = to_wall(a, q->until, &o.until_wall_ns);
    if (code)
        return code;
    error = tracer_reader_verdict(a->reader, &o, out);
    return error ? complain_file(a->path, error) : TOOL_OK;
}
