/* SPDX-License-Identifier: MIT */
/* tools: memtracer spikes: when a type or a counter left its usual band.
 * In: levels and counters of a run. Out: intervals, with the mark before each, the marks and the
 * steps in it. The band is robust: what lasts less than half of the run does not move it. */
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "band.h"
#include "human.h"
#include "moment.h"
#include "options.h"

#define FACTOR 6
#define LEAST_BYTES 65536
#define LEAST_COUNT 1

static const char help[] =
    "usage: memtracer spikes FILE [--factor K] [--run N]\n"
    "\n"
    "Intervals in which what a type of memory holds, or a counter, left its usual band:\n"
    "median +- K x 1.4826 x MAD over the run, each value weighted by how long it lasted (MAD: the\n"
    "median distance from the median), and at least 1 % of the median, 64 KiB or 1. A series that\n"
    "never falls, a total or a leak, has no usual level and is left out: see memtracer verdict.\n"
    "\n"
    "  --factor K    width of the band; default 6\n"
    "  --run N       the N-th run of the file; default the newest\n"
    "  --bytes       exact bytes instead of KiB, MiB\n"
    "  --json        machine-readable, with the band, and the marks in each interval\n"
    "\n"
    "Example: what was going on when memory peaked?\n"
    "  memtracer spikes app.db\n"
    "\n"
    "Exit: 0 there were some, 1 usage, 2 the file cannot be read, 3 nothing left its band.\n";

static const char sql_points[] =
    "SELECT 'type' AS what, t.name, 'bytes' AS unit, s.t_ns,"
    " coalesce(l.ws + ifnull(l.swap, 0), l.committed) AS value FROM level l"
    " JOIN sample s ON s.id = l.sample JOIN type t ON t.id = l.type"
    " WHERE l.run = ?1 AND t.name <> 'free' AND value IS NOT NULL UNION ALL "
    "SELECT 'counter', k.name, k.unit, s.t_ns, c.value FROM counter c"
    " JOIN sample s ON s.id = c.sample JOIN counter_kind k ON k.id = c.counter"
    " WHERE c.run = ?1 AND c.value IS NOT NULL ORDER BY 1 DESC, 2, 4";

static const char sql_end[] = "SELECT max(until_ns) FROM sample WHERE run = ?1";

static const char sql_before[] = "SELECT label, t_ns FROM mark WHERE run = ?1 AND t_ns <= ?2"
                                 " ORDER BY t_ns DESC, id DESC LIMIT 1";

static const char sql_inside[] = "SELECT label, t_ns FROM mark WHERE run = ?1 AND t_ns > ?2"
                                 " AND t_ns <= ?3 ORDER BY t_ns, id";

static const char sql_steps[] = "SELECT count(*) FROM floor_step WHERE run = ?1 AND is_step"
                                " AND type = ?4 AND t_ns >= ?2 AND t_ns <= ?3";

static const struct table_column columns[] = {
    {"What", CELL_TEXT},  {"Name", CELL_TEXT}, {"From s", CELL_NS},    {"To s", CELL_NS},
    {"Usual", CELL_TEXT}, {"Then", CELL_TEXT}, {"Steps", CELL_NUMBER}, {"After mark", CELL_TEXT},
};

struct spikes {
    struct answer *answer;
    struct table *table;
    int64_t run, end_ns, factor;
    struct point *points; /* of the series at hand */
    size_t n, capacity, n_found;
    char what[16], name[64], unit[32];
    /* intervals wait until the reader is free for other questions */
    struct found *found;
    size_t found_capacity;
};

struct found {
    char what[16], name[64], unit[32];
    struct band band;
    struct stretch stretch;
};

static void keep_found(struct spikes *s, const struct band *b, const struct stretch *stretch)
{
    struct found *f;

    if (s->n_found == s->found_capacity) {
        s->found_capacity = s->found_capacity ? 2 * s->found_capacity : 32;
        s->found = need(realloc(s->found, s->found_capacity * sizeof(*s->found)));
    }
    f = &s->found[s->n_found++];
    memcpy(f->what, s->what, sizeof(f->what));
    memcpy(f->name, s->name, sizeof(f->name));
    memcpy(f->unit, s->unit, sizeof(f->unit));
    f->band = *b;
    f->stretch = *stretch;
}

static void end_series(struct spikes *s)
{
    int64_t least = strcmp(s->unit, "bytes") ? LEAST_COUNT : LEAST_BYTES;
    struct stretch stretch;
    struct band band;
    size_t at = 0;

    if (band_of(s->points, s->n, s->end_ns, (double)s->factor, least, &band))
        while (band_next(s->points, s->n, s->end_ns, &band, &at, &stretch))
            keep_found(s, &band, &stretch);
    s->n = 0;
}

static void copy_text(char *out, size_t room, const tracer_value *value)
{
    size_t n = value->n_bytes < room ? value->n_bytes : room - 1;

    memcpy(out, value->kind == TRACER_VALUE_TEXT ? value->bytes : "", n);
    out[n] = '\0';
}

static int point_row(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *values)
{
    struct spikes *s = user;
    char what[sizeof(s->what)], name[sizeof(s->name)];

    (void)n_columns;
    (void)names;
    copy_text(what, sizeof(what), &values[0]);
    copy_text(name, sizeof(name), &values[1]);
    if (s->n && (strcmp(what, s->what) != 0 || strcmp(name, s->name) != 0))
        end_series(s);
    memcpy(s->what, what, sizeof(what));
    memcpy(s->name, name, sizeof(name));
    copy_text(s->unit, sizeof(s->unit), &values[2]);
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 1024;
        s->points = need(realloc(s->points, s->capacity * sizeof(*s->points)));
    }
    s->points[s->n++] = (struct point){values[3].integer, values[4].integer};
    return 0;
}

static int label_row(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *values)
{
    (void)n_columns;
    (void)names;
    copy_text(user, 256, &values[0]);
    return 1;
}

static void write_value(char out[HUMAN_BYTES], const struct found *f, int64_t value, bool exact)
{
    if (!strcmp(f->unit, "bytes"))
        human_bytes(out, value, exact);
    else
        snprintf(out, HUMAN_BYTES, "%lld", (long long)value);
}

static int print_json(struct spikes *s, const struct found *f, int64_t steps, const char *mark)
{
    struct json *j = &s->answer->out;
    int code;

    json_open(j, NULL, '{');
    json_string(j, "what", f->what);
    json_string(j, "name", f->name);
    json_string(j, "unit", f->unit);
    json_integer(j, "from_ns", f->stretch.from_ns);
    json_integer(j, "to_ns", f->stretch.to_ns);
    json_integer(j, "median", f->band.median);
    json_integer(j, "low", f->band.low);
    json_integer(j, "high", f->band.high);
    json_integer(j, "extreme", f->stretch.extreme);
    json_integer(j, "steps", steps);
    if (*mark)
        json_string(j, "after_mark", mark);
    else
        json_null(j, "after_mark");
    answer_bind(s->answer, s->run);
    answer_bind(s->answer, f->stretch.from_ns);
    answer_bind(s->answer, f->stretch.to_ns);
    code = answer_rows(s->answer, "marks", sql_inside, NULL, NULL);
    json_close(j, '}');
    return code;
}

static void print_row(struct spikes *s, const struct found *f, int64_t steps, const char *mark)
{
    char usual[HUMAN_BYTES], then[HUMAN_BYTES];

    write_value(usual, f, f->band.median, s->answer->exact);
    write_value(then, f, f->stretch.extreme, s->answer->exact);
    table_text(s->table, f->what);
    table_text(s->table, f->name);
    table_integer(s->table, f->stretch.from_ns);
    table_integer(s->table, f->stretch.to_ns);
    table_text(s->table, usual);
    table_text(s->table, then);
    table_integer(s->table, steps);
    if (*mark)
        table_text(s->table, mark);
    else
        table_unknown(s->table);
}

static int print_found(struct spikes *s, const struct found *f)
{
    char mark[256] = "";
    int64_t steps = 0;
    bool any;
    int code;

    answer_bind(s->answer, s->run);
    answer_bind(s->answer, f->stretch.from_ns);
    code = answer_ask(s->answer, sql_before, label_row, mark);
    answer_bind(s->answer, s->run);
    answer_bind(s->answer, f->stretch.from_ns);
    answer_bind(s->answer, f->stretch.to_ns);
    answer_bind_text(s->answer, f->name);
    if (!code)
        code = answer_integers(s->answer, sql_steps, &steps, 1, &any);
    if (code)
        return code;
    if (s->answer->json)
        return print_json(s, f, steps, mark);
    print_row(s, f, steps, mark);
    return TOOL_OK;
}

static int find(struct spikes *s)
{
    bool any;
    int code = moment_run(s->answer, s->answer->run, &s->run);

    answer_bind(s->answer, s->run);
    if (!code)
        code = answer_integers(s->answer, sql_end, &s->end_ns, 1, &any);
    answer_bind(s->answer, s->run);
    if (!code)
        code = answer_ask(s->answer, sql_points, point_row, s);
    if (!code && s->n)
        end_series(s);
    return code;
}

static int spikes(struct answer *a, void *user)
{
    const int64_t *factor = user;
    struct spikes s = {.answer = a, .factor = *factor};
    int code = find(&s);

    s.table = table_new(columns, COUNT_OF(columns), a->exact);
    if (a->json)
        json_open(&a->out, NULL, '[');
    for (size_t i = 0; i < s.n_found && !code; i++)
        code = print_found(&s, &s.found[i]);
    if (a->json)
        json_close(&a->out, ']');
    else
        table_print(s.table);
    if (!code && !s.n_found && !a->json)
        puts("nothing left its usual band");
    if (!code && !s.n_found)
        code = TOOL_NOTHING;
    table_free(s.table);
    free(s.points);
    free(s.found);
    return code;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    int64_t factor = FACTOR;
    const struct option_spec specs[] = {
        {"factor", 0, OPTION_NUMBER, &factor},
        ANSWER_OPTIONS(a),
        {0},
    };

    return answer_question(&(struct question){self, &a, specs, .ask = spikes, .user = &factor},
                           argc, argv);
}

const struct command command_spikes = {"spikes", "when memory left its usual band", help, run};
