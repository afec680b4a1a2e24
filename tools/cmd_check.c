/* SPDX-License-Identifier: MIT */
/* tools: memtracer check: a verdict with limits, for a build that shall fail when memory leaks.
 * In: tracer_reader_verdict() and rules such as heap<1MiB/h. Out: a line a finding. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "judgement.h"
#include "options.h"

static const char help[] =
    "usage: memtracer check FILE [--allow RULE]... [--since MOMENT] [--until MOMENT]\n"
    "\n"
    "For a build or a nightly test: says nothing and exits 0 unless a type leaks more than it "
    "may.\n"
    "\n"
    "  --allow RULE    TYPE<BYTES/TIME, a rate: heap<1MiB/h, *<64KiB/min (s, min, h, day), or\n"
    "                  TYPE<BYTES, all that was kept: stack<512KiB. * is every type without a\n"
    "                  rule of its own. May be given several times\n"
    "  --json          machine-readable: {\"findings\": […], …}\n"
    "\n"
    "Runs of one label that overlap in time ran side by side: each is judged apart, and a finding\n"
    "names its run.\n"
    "\n"
    "Example:\n"
    "  memtracer run -o test.db -- ./soak-test && memtracer check test.db --allow 'heap<1MiB/h'\n"
    "\n"
    "What counts as a leak is what memtracer verdict says, --measure and --run as there.\n"
    "Exit: 0 nothing leaks more than it may, 1 usage, 2 the file cannot be read, 3 a type leaks\n"
    "more, 4 too short to say.\n";

struct rule {
    char type[32];
    double bytes;
    double per_s; /* seconds the bytes are for; 0 = in all */
};

struct limits {
    struct judgement_question q;
    struct text_list allow;
    struct rule rules[OPTIONS_LIST_MAX]; /* allow.n of them */
};

static bool parse_time(const char *text, double *out_s)
{
    static const struct {
        const char *name;
        double s;
    } units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"day", 86400}};

    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (!strcmp(units[i].name, text)) {
            *out_s = units[i].s;
            return true;
        }
    return false;
}

/* Says which part of the rule is wrong, and what belongs there. */
static int wrong_rule(const char *text, const char *part, int n, const char *what)
{
    complain("check: --allow \"%s\": \"%.*s\" %s; a rule is TYPE<BYTES/TIME or TYPE<BYTES, such as "
             "heap<1MiB/h or stack<512KiB",
             text, n, part, what);
    return TOOL_USAGE;
}

static int parse_amount(const char *text, const char *amount, struct rule *out)
{
    const char *slash = strchr(amount, '/');
    size_t n = slash ? (size_t)(slash - amount) : strlen(amount);
    char bytes[64];
    int64_t value;

    snprintf(bytes, sizeof(bytes), "%.*s", n < sizeof(bytes) ? (int)n : 0, amount);
    out->per_s = 0;
    if (!human_parse_bytes(bytes, &value))
        return wrong_rule(text, amount, (int)n, "is no number of bytes (65536, 64KiB, 1MiB, 2GiB)");
    if (slash && !parse_time(slash + 1, &out->per_s))
        return wrong_rule(text, slash + 1, (int)strlen(slash + 1),
                          "is no unit of time (s, min, h or day)");
    out->bytes = (double)value;
    return TOOL_OK;
}

static int parse_rule(const char *text, struct rule *out)
{
    const char *less = strchr(text, '<');
    size_t n = less ? (size_t)(less - text) : 0;

    if (!less)
        return wrong_rule(text, text, (int)strlen(text), "has no \"<\"");
    if (n == 0 || n >= sizeof(out->type))
        return wrong_rule(text, text, (int)n, "before the \"<\" is no name of a type, nor *");
    snprintf(out->type, sizeof(out->type), "%.*s", (int)n, text);
    return parse_amount(text, less + 1, out);
}

static const struct rule *rule_for(const struct limits *l, const char *type)
{
    const struct rule *any = NULL;

    for (int i = 0; i < l->allow.n; i++) {
        if (!strcmp(l->rules[i].type, type))
            return &l->rules[i];
        if (!strcmp(l->rules[i].type, "*"))
            any = &l->rules[i];
    }
    return any;
}

static bool allowed(const struct rule *rule, const tracer_type_verdict *t)
{
    if (!rule)
        return false;
    return rule->per_s > 0 ? t->bytes_per_s * rule->per_s < rule->bytes
                           : (double)t->kept_bytes < rule->bytes;
}

/* A misspelt type would allow nothing, silently. */
static int know_types(struct answer *a, const struct limits *l)
{
    for (int i = 0; i < l->allow.n; i++) {
        const char *type = l->rules[i].type;
        int64_t count = 0;
        bool found;
        int code;

        if (!strcmp(type, "*"))
            continue;
        answer_bind_text(a, type);
        code = answer_integers(a, "SELECT count(*) FROM type WHERE name = ?1", &count, 1, &found);
        if (code)
            return code;
        if (count == 0) {
            complain("check: --allow %s: %s knows no type of that name; memtracer types lists them",
                     type, a->path);
            return TOOL_USAGE;
        }
    }
    return TOOL_OK;
}

struct checking {
    const struct limits *limits;
    int n_verdicts, n_findings, n_short;
};

static void print_finding(struct answer *a, const tracer_verdict *v, uint32_t k,
                          const struct judged_run *run)
{
    char text[SENTENCE_BYTES];

    sentence_type(v, k, text);
    if (!a->json) {
        char *name = run ? judgement_name(run) : NULL;

        printf("%s%s%s\n", name ? name : "", name ? ": " : "", text);
        free(name);
        return;
    }
    json_open(&a->out, NULL, '{');
    json_string(&a->out, "type", v->types[k]->type);
    json_integer(&a->out, "run", v->run);
    json_string(&a->out, "sentence", text);
    json_real(&a->out, "bytes_per_s", v->types[k]->bytes_per_s);
    json_integer(&a->out, "kept_bytes", v->types[k]->kept_bytes);
    json_close(&a->out, '}');
}

static void begin_findings(struct answer *a)
{
    if (!a->json)
        return;
    json_open(&a->out, NULL, '{');
    json_open(&a->out, "findings", '[');
}

static void tell(struct answer *a, const tracer_verdict *v, const struct judged_run *run,
                 void *user)
{
    struct checking *c = user;

    if (c->n_verdicts++ == 0)
        begin_findings(a);
    c->n_short += v->too_short != 0;
    for (uint32_t k = 0; k < v->n_types; k++) {
        if (!v->types[k]->leak || allowed(rule_for(c->limits, v->types[k]->type), v->types[k]))
            continue;
        print_finding(a, v, k, run);
        c->n_findings++;
    }
}

static void end_findings(struct answer *a, const struct checking *c, bool too_short)
{
    if (a->json && c->n_verdicts > 0) {
        json_close(&a->out, ']');
        json_bool(&a->out, "too_short", too_short);
        json_close(&a->out, '}');
    } else if (!c->n_findings && too_short) {
        puts("too short to say; memtracer verdict tells what is missing");
    }
}

static int take(void *user, char **operands, int n)
{
    struct limits *l = user;
    int code = TOOL_OK;

    (void)operands, (void)n;
    for (int i = 0; i < l->allow.n && !code; i++)
        code = parse_rule(l->allow.items[i], &l->rules[i]);
    return code;
}

static int check(struct answer *a, void *user)
{
    struct checking c = {.limits = user};
    int code = know_types(a, c.limits);
    bool too_short;

    if (!code)
        code = judgement_each(a, &c.limits->q, tell, &c);
    too_short = c.n_verdicts > 0 && c.n_short == c.n_verdicts;
    end_findings(a, &c, too_short);
    if (code)
        return code;
    return c.n_findings ? TOOL_LEAK : too_short ? TOOL_TOO_SHORT : TOOL_OK;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    struct limits l = {0};
    const struct option_spec specs[] = {
        {"allow", 0, OPTION_LIST, &l.allow},
        JUDGEMENT_OPTIONS(a, l.q),
        {0},
    };

    return answer_question(&(struct question){self, &a, specs, check, &l, .take = take}, argc,
                           argv);
}

const struct command command_check = {"check", "fail a build when memory leaks", help, run};
