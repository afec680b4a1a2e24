/* SPDX-License-Identifier: MIT */
/* tools: memtracer verdict: does the program leak, what, since when, why, until when?
 * In: tracer_reader_verdict(). Out: a sentence a type, or JSON with every fact. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judgement.h"
#include "options.h"

static const char help[] =
    "usage: memtracer verdict FILE [--type TYPE] [--since MOMENT] [--until MOMENT]\n"
    "                              [--measure M] [--run N]\n"
    "\n"
    "Says in one sentence a type whether it grows, in which shape, since when, why, and when a\n"
    "limit is reached. Several runs of one label are lives of one program and judged together;\n"
    "those that overlap in time ran side by side, and each is judged apart.\n"
    "\n"
    "  --type TYPE        this type alone\n"
    "  --since, --until   a part of the recording; moments as in memtracer show --help\n"
    "  --measure M        held (default: resident + swapped), committed, size\n"
    "  --limit BYTES      what held memory must not pass; default: the limits the file knows\n"
    "  --run N            the N-th run alone\n"
    "  --all              quiet types too\n"
    "  --json             machine-readable: every fact; of runs side by side {\"runs\": […], …}\n"
    "\n"
    "Example: does it leak, and which command does it?\n"
    "  memtracer verdict app.db\n"
    "\n"
    "Memory that the allocator keeps, file pages and lazily freed memory may grow; they are told,\n"
    "but are no leak of the program's.\n"
    "Exit: 0 nothing leaks, 1 usage, 2 the file cannot be read, 3 a type leaks (of any run), 4 "
    "too\n"
    "short to say (every run); the sentence says how much longer must be recorded.\n";

#define WORTH_A_WORD 65536 /* bytes that a quiet type moved */

static bool worth_a_word(const tracer_verdict *v, uint32_t k)
{
    const tracer_type_verdict *t = v->types[k];

    return t->growing || k == v->type || t->swing_bytes >= WORTH_A_WORD;
}

static void print_types(const tracer_verdict *v, bool growing, bool all)
{
    char text[SENTENCE_BYTES];

    for (uint32_t k = 0; k < v->n_types; k++) {
        if ((v->types[k]->growing != 0) != growing || !(all || worth_a_word(v, k)))
            continue;
        sentence_type(v, k, text);
        puts(text);
    }
}

static void print_text(const tracer_verdict *v, bool all)
{
    char text[SENTENCE_BYTES];

    if (v->n_types == 0)
        puts("too short to say: there is no sample yet");
    else if (v->leak)
        printf("leak: %s\n", v->types[v->type]->type);
    else if (v->too_short)
        puts("too short to say");
    else
        puts("no leak");
    print_types(v, true, all);
    print_types(v, false, all);
    if (v->regions_growing)
        printf("the number of regions grows on: %lld, then %lld\n", (long long)v->regions_first,
               (long long)v->regions_last);
    sentence_restarts(v, text);
    if (text[0])
        puts(text);
    sentence_limit(v, text);
    if (text[0])
        puts(text);
}

static void json_known(struct json *j, const char *key, int64_t value)
{
    if (value == TRACER_UNKNOWN)
        json_null(j, key);
    else
        json_integer(j, key, value);
}

static void json_steps(struct json *j, const tracer_type_verdict *t)
{
    json_open(j, "steps", '[');
    for (uint32_t i = 0; i < t->n_steps; i++) {
        json_open(j, NULL, '{');
        json_integer(j, "t_ns", t->steps[i].t_ns);
        json_integer(j, "wall_ns", t->steps[i].wall_ns);
        json_integer(j, "before_wall_ns", t->steps[i].before_wall_ns);
        json_integer(j, "after_wall_ns", t->steps[i].after_wall_ns);
        json_integer(j, "bytes", t->steps[i].bytes);
        json_integer(j, "kept_bytes", t->steps[i].kept_bytes);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_growth(struct json *j, const tracer_type_verdict *t)
{
    json_integer(j, "onset_t_ns", t->onset_t_ns);
    json_integer(j, "onset_wall_ns", t->onset_wall_ns);
    json_integer(j, "kept_bytes", t->kept_bytes);
    json_real(j, "bytes_per_s", t->bytes_per_s);
    json_known(j, "grew_committed", t->grew_committed);
    json_known(j, "grew_size", t->grew_size);
    json_known(j, "grew_huge", t->grew_huge);
    json_known(j, "grew_lazy_free", t->grew_lazy_free);
    json_known(j, "grew_blocks", t->grew_blocks);
    json_known(j, "grew_in_use", t->grew_in_use);
    json_known(j, "grew_free", t->grew_free);
    json_known(j, "grew_threads", t->grew_threads);
}

static void json_type(struct json *j, const tracer_verdict *v, uint32_t k)
{
    static const char *const measures[] = {"held", "committed", "size"};
    const tracer_type_verdict *t = v->types[k];
    char text[SENTENCE_BYTES];

    sentence_type(v, k, text);
    json_open(j, NULL, '{');
    json_string(j, "type", t->type);
    json_string(j, "sentence", text);
    json_bool(j, "leak", t->leak != 0);
    json_bool(j, "growing", t->growing != 0);
    json_string(j, "shape", tracer_shape_name(t->shape));
    json_string(j, "likely", tracer_shape_name(t->likely));
    json_real(j, "confidence", t->confidence);
    json_string(j, "cause", tracer_cause_name(t->cause));
    json_string(j, "measure", measures[t->measure]);
    if (t->growing)
        json_growth(j, t);
    json_real(j, "late_bytes_per_s", t->late_bytes_per_s);
    json_integer(j, "swing_bytes", t->swing_bytes);
    json_known(j, "first_bytes", t->first_bytes);
    json_known(j, "last_bytes", t->last_bytes);
    json_known(j, "peak_bytes", t->peak_bytes);
    json_known(j, "held_last_bytes", t->held_last_bytes);
    json_known(j, "grew_held", t->grew_held);
    json_integer(j, "needed_ns", t->needed_ns);
    json_integer(j, "typical_step_bytes", t->typical_step_bytes);
    json_integer(j, "typical_interval_ns", t->typical_interval_ns);
    json_steps(j, t);
    json_close(j, '}');
}

static void json_action(struct json *j, const tracer_verdict *v)
{
    if (!v->action) {
        json_null(j, "action");
        return;
    }
    json_open(j, "action", '{');
    json_string(j, "mark", v->action);
    json_integer(j, "times", v->n_actions);
    json_integer(j, "without_step", v->n_actions_stepless);
    json_close(j, '}');
}

static void json_limit(struct json *j, const tracer_verdict *v)
{
    if (v->limit == TRACER_LIMIT_NONE) {
        json_null(j, "limit");
        return;
    }
    json_open(j, "limit", '{');
    json_string(j, "name", tracer_limit_name(v->limit));
    json_integer(j, v->limit == TRACER_LIMIT_REGIONS ? "regions" : "bytes", v->limit_bytes);
    json_integer(j, "wall_ns", v->limit_wall_ns);
    json_integer(j, "left_ns", v->limit_wall_ns - v->last_wall_ns);
    json_close(j, '}');
}

static const char *word_of(bool leak, bool too_short)
{
    return leak ? "leak" : too_short ? "too_short" : "no_leak";
}

static void print_json(struct json *j, const tracer_verdict *v, const struct judged_run *run)
{
    json_open(j, NULL, '{');
    json_string(j, "verdict", word_of(v->leak != 0, v->too_short != 0));
    json_bool(j, "leak", v->leak != 0);
    if (v->n_types)
        json_string(j, "type", v->types[v->type]->type);
    else
        json_null(j, "type");
    json_integer(j, "run", v->run);
    if (run) {
        json_string(j, "label", run->label);
        json_integer(j, "pid", run->pid);
    }
    json_integer(j, "lives", v->n_lives);
    json_bool(j, "hidden_by_restarts", v->hidden_by_restarts != 0);
    json_integer(j, "samples", v->n_samples);
    json_integer(j, "first_wall_ns", v->first_wall_ns);
    json_integer(j, "last_wall_ns", v->last_wall_ns);
    json_action(j, v);
    json_limit(j, v);
    json_known(j, "regions_first", v->regions_first);
    json_known(j, "regions_last", v->regions_last);
    json_bool(j, "regions_growing", v->regions_growing != 0);
    json_open(j, "types", '[');
    for (uint32_t k = 0; k < v->n_types; k++)
        json_type(j, v, k);
    json_close(j, ']');
    json_close(j, '}');
}

struct asked {
    struct judgement_question q;
    bool all;
    int n_verdicts, n_leaks, n_short;
    bool apart;
};

static void begin_apart(struct answer *a)
{
    if (!a->json) {
        puts("runs overlap in time, each is judged apart");
        return;
    }
    json_open(&a->out, NULL, '{');
    json_open(&a->out, "runs", '[');
}

static void end_apart(struct answer *a, bool leak, bool too_short)
{
    json_close(&a->out, ']');
    json_string(&a->out, "verdict", word_of(leak, too_short));
    json_bool(&a->out, "leak", leak);
    json_close(&a->out, '}');
}

static void tell(struct answer *a, const tracer_verdict *v, const struct judged_run *run,
                 void *user)
{
    struct asked *asked = user;

    if (run && !asked->apart)
        begin_apart(a);
    asked->apart = run != NULL;
    asked->n_verdicts++;
    asked->n_leaks += v->leak != 0;
    asked->n_short += v->too_short != 0;
    if (a->json) {
        print_json(&a->out, v, run);
        return;
    }
    if (run) {
        char *name = judgement_name(run);

        printf("\n%s:\n", name);
        free(name);
    }
    print_text(v, asked->all);
}

static int verdict(struct answer *a, void *user)
{
    struct asked *asked = user;
    int code = judgement_each(a, &asked->q, tell, asked);
    bool leak = asked->n_leaks > 0, too_short = asked->n_short == asked->n_verdicts;

    if (asked->apart && a->json)
        end_apart(a, leak, too_short);
    if (code)
        return code;
    return leak ? TOOL_LEAK : too_short ? TOOL_TOO_SHORT : TOOL_OK;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    struct asked asked = {0};
    const struct option_spec specs[] = {
        JUDGEMENT_OPTIONS(a, asked.q),
        {"type", 0, OPTION_TEXT, &asked.q.type},
        {"limit", 0, OPTION_BYTES, &asked.q.limit_bytes},
        {"all", 0, OPTION_FLAG, &asked.all},
        {0},
    };

    return answer_question(&(struct question){self, &a, specs, .ask = verdict, .user = &asked},
                           argc, argv);
}

const struct command command_verdict = {"verdict", "does it leak, what, since when, why", help,
                                        run};
