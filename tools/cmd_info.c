/* SPDX-License-Identifier: MIT */
/* tools: memtracer info: the runs of a file: whose they are, how they ended, what limited them,
 * what recording cost, and what was wrong with which samples.
 * In: tables run, sample, sample_flag, view self_cost. Out: a block a run. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "human.h"
#include "options.h"
#include "utf8.h"

static const char help[] =
    "usage: memtracer info FILE [--run N]\n"
    "\n"
    "The runs of the file: program, state, times, options, limits, the cost of recording, and in\n"
    "words what was wrong with how many samples.\n"
    "\n"
    "  --run N    this run only\n"
    "  --bytes    exact bytes instead of KiB, MiB\n"
    "  --json     machine-readable\n"
    "\n"
    "Example: did recording go well, and what did it cost?\n"
    "  memtracer info app.db\n"
    "\n"
    "own reserved: the most address space that the tracer had taken, little of it touched; own\n"
    "resident: type tracer at the end, where the program traces itself.\n"
    "States: recording, degraded (goes on with less), suspended (the file cannot be written for\n"
    "now), stopped, ended (the watched process is gone), interrupted (cut off).\n"
    "Exit: 0 shown, 1 usage, 2 the file cannot be read, 3 there is no such run.\n";

enum field_format { TEXT, NUMBER, BYTES, MS, NS, WALL, PERCENT };

/* In the order of the query's columns. */
static const struct {
    const char *word;
    enum field_format format;
} fields[] = {
    {"run", NUMBER},          {"label", TEXT},          {"state", TEXT},
    {"detail", TEXT},         {"program", TEXT},        {"pid", NUMBER},
    {"host", TEXT},           {"system", TEXT},         {"allocator", TEXT},
    {"started", WALL},        {"stopped", WALL},        {"lasted", NS},
    {"interval", MS},         {"commit every", MS},     {"budget a tick", NS},
    {"left out", TEXT},       {"file cap", BYTES},      {"samples", NUMBER},
    {"ticks", NUMBER},        {"missed", NUMBER},       {"marks", NUMBER},
    {"cost, CPU", PERCENT},   {"CPU a tick", NS},       {"own reserved", BYTES},
    {"own resident", BYTES},  {"page", BYTES},          {"host memory", BYTES},
    {"cgroup limit", BYTES},  {"address limit", BYTES}, {"data limit", BYTES},
    {"most regions", NUMBER}, {"memtracer", TEXT},      {"SQLite", TEXT},
    {"flagged", TEXT},
};

static const char sql_info[] =
    "SELECT r.id AS run, r.label, r.state, coalesce(nullif(r.state_detail, ''),"
    " iif(r.state IN ('recording', 'degraded', 'suspended'), 'by process ' || r.recorder_pid"
    " || '; if that is gone, `memtracer finish` ends the run', NULL)) AS state_detail, r.exe,"
    " r.pid, r.host, r.os, nullif(r.allocator, '') AS allocator, r.start_wall_ns, r.stop_wall_ns,"
    " (SELECT max(until_ns) FROM sample WHERE run = r.id) AS lasted_ns, r.interval_ms,"
    " r.commit_ms, r.budget_ns,"
    " nullif(rtrim(iif(r.flags & 1, 'regions, ', '') || iif(r.flags & 2, 'pages, ', '')"
    " || iif(r.flags & 4, 'allocator, ', ''), ', '), '') AS left_out, r.max_file_bytes,"
    " c.samples, c.ticks, c.missed, (SELECT count(*) FROM mark WHERE run = r.id) AS marks,"
    " c.cpu_percent, cast(c.cpu_us_per_tick * 1000 AS INTEGER) AS cpu_ns_per_tick,"
    " nullif(c.own_bytes, 0) AS own_bytes, iif(r.recorder_pid = r.pid, (SELECT l.ws FROM level l "
    "JOIN type t"
    " ON t.id = l.type WHERE l.run = r.id AND t.name = 'tracer' ORDER BY l.sample DESC LIMIT 1),"
    " NULL) AS own_resident_bytes,"
    " r.page_bytes, r.host_memory_bytes, r.cgroup_limit_bytes, r.address_limit_bytes,"
    " r.data_limit_bytes, r.max_regions, r.version, r.sqlite_version,"
    " (SELECT group_concat(n || ' ' || description, '; ') FROM (SELECT f.description,"
    " count(*) AS n FROM sample_flag f JOIN sample s ON s.flags & f.bit WHERE s.run = r.id"
    " GROUP BY f.bit ORDER BY f.bit)) AS flagged"
    " FROM run r JOIN self_cost c ON c.run = r.id WHERE ?1 IN (0, r.id) ORDER BY r.id";

struct block {
    struct answer *answer;
    size_t n;
};

static void put_number(enum field_format format, const tracer_value *v, bool exact)
{
    char text[HUMAN_BYTES];

    switch (format) {
    case TEXT:
    case NUMBER: snprintf(text, sizeof(text), "%" PRId64, v->integer); break;
    case BYTES: human_bytes(text, v->integer, exact); break;
    case MS: human_duration(text, v->integer * 1000000); break;
    case NS: human_duration(text, v->integer); break;
    case WALL: human_wall(text, v->integer); break;
    case PERCENT: snprintf(text, sizeof(text), "%.3f %%", v->real); break;
    }
    printf("%s%s\n", text, format == WALL ? " UTC" : "");
}

static int print_run(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *v)
{
    struct block *b = user;
    char *text;

    (void)names;
    if (b->n++)
        putchar('\n');
    for (uint32_t i = 0; i < n_columns && i < COUNT_OF(fields); i++) {
        if (v[i].kind == TRACER_VALUE_NULL)
            continue;
        printf("%-14s ", fields[i].word);
        if (v[i].kind != TRACER_VALUE_TEXT) {
            put_number(fields[i].format, &v[i], b->answer->exact);
            continue;
        }
        text = text_harmless(v[i].bytes, v[i].n_bytes);
        puts(text);
        free(text);
    }
    return 0;
}

static int info(struct answer *a, void *unused)
{
    struct block b = {a, 0};
    int code;

    (void)unused;
    answer_bind(a, a->run);
    if (a->json)
        code = answer_rows(a, NULL, sql_info, NULL, &b.n);
    else
        code = answer_ask(a, sql_info, print_run, &b);
    if (!code && !b.n && !a->json)
        puts(a->run ? "there is no such run" : "there is no run");
    return code || b.n ? code : TOOL_NOTHING;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    const struct option_spec specs[] = {ANSWER_OPTIONS(a), {0}};

    return answer_question(&(struct question){self, &a, specs, .ask = info}, argc, argv);
}

const struct command command_info = {"info", "the runs: state, limits, cost", help, run};
