/* SPDX-License-Identifier: MIT */
/* tools: memtracer timeline: a line a type, time from left to right.
 * In: the levels of a run in order of type and time. Out: a picture of block characters (ASCII
 * where the locale has none), or all points as JSON. A cell shows the largest value of its
 * stretch of time, so that no peak is lost. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "human.h"
#include "moment.h"
#include "options.h"
#include "terminal.h"
#include "utf8.h"

static const char help[] =
    "usage: memtracer timeline FILE [--column COLUMN] [--run N]\n"
    "\n"
    "A line a memory type: how much of it there was, from the run's start to its end. Each line\n"
    "has its own scale, from the least to the largest value printed beside it. Below them, ^\n"
    "where marks are.\n"
    "\n"
    "  --column COLUMN  held (default: resident + swapped), or a column of the table: size,\n"
    "                   committed, charged, private, ws, ws_private, ws_shareable, ws_shared,\n"
    "                   pss, swap, locked, huge, lazy_free, blocks, largest\n"
    "  --run N          the N-th run of the file; default the newest\n"
    "  --bytes          exact bytes instead of KiB, MiB\n"
    "  --json           all points of every type, not only the picture's\n"
    "\n"
    "Example: did address space grow, or only what is resident?\n"
    "  memtracer timeline app.db --column size\n"
    "  memtracer timeline app.db --column ws\n"
    "\n"
    "Exit: 0 shown, 1 usage, 2 the file or the run is not there.\n";

static const char sql_points[] =
    "SELECT t.name, s.t_ns, CASE ?2 WHEN 'held' THEN coalesce(l.ws + ifnull(l.swap, 0),"
    " l.committed) WHEN 'size' THEN l.size WHEN 'committed' THEN l.committed"
    " WHEN 'charged' THEN l.charged WHEN 'private' THEN l.private WHEN 'ws' THEN l.ws"
    " WHEN 'ws_private' THEN l.ws_private WHEN 'ws_shareable' THEN l.ws_shareable"
    " WHEN 'ws_shared' THEN l.ws_shared WHEN 'pss' THEN l.pss WHEN 'swap' THEN l.swap"
    " WHEN 'locked' THEN l.locked WHEN 'huge' THEN l.huge WHEN 'lazy_free' THEN l.lazy_free"
    " WHEN 'blocks' THEN l.blocks WHEN 'largest' THEN l.largest END AS value"
    " FROM level l JOIN sample s ON s.id = l.sample JOIN type t ON t.id = l.type"
    " WHERE l.run = ?1 AND (t.name <> 'free' OR ?2 IN ('size', 'blocks', 'largest'))"
    " ORDER BY t.id, s.t_ns, s.id";

static const char *const columns[] = {
    "held",       "size",         "committed", "charged", "private", "ws",
    "ws_private", "ws_shareable", "ws_shared", "pss",     "swap",    "locked",
    "huge",       "lazy_free",    "blocks",    "largest",
};

#define PICTURE_MAX 1000
#define LABEL_WIDTH 12
#define UNKNOWN INT64_MIN

struct picture {
    struct answer *answer;
    int64_t end_ns;
    size_t width;
    bool blocks, counts;
    char *type; /* whose line is being filled, NULL = none yet */
    size_t filled;
    int64_t value, least, most; /* value: since the newest point */
    int64_t cells[PICTURE_MAX];
};

static size_t cell_of(const struct picture *p, int64_t t_ns)
{
    double place = p->end_ns > 0 ? (double)t_ns / (double)p->end_ns * (double)p->width : 0;

    return place < 0 ? 0 : place >= (double)p->width ? p->width - 1 : (size_t)place;
}

/* Carries the value on up to `cell`, exclusive. */
static void carry_to(struct picture *p, size_t cell)
{
    for (; p->filled < cell; p->filled++)
        if (p->value > p->cells[p->filled])
            p->cells[p->filled] = p->value;
}

static void put_cell(const struct picture *p, int64_t value)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {".", ":", "-", "=", "+", "*", "%", "@"};
    double share =
        p->most > p->least ? (double)(value - p->least) / (double)(p->most - p->least) : 0;
    size_t step = (size_t)(share * 7.0 + 0.5);

    if (value == UNKNOWN)
        putchar(' ');
    else
        fputs((p->blocks ? blocks : ascii)[step > 7 ? 7 : step], stdout);
}

static void put_label(const char *text)
{
    char *harmless = text_harmless(text, strlen(text));
    size_t width = text_width(harmless);

    printf("%s%*s ", harmless, width < LABEL_WIDTH ? (int)(LABEL_WIDTH - width) : 0, "");
    free(harmless);
}

static void number(const struct picture *p, char *out, int64_t value)
{
    human_bytes(out, value, p->answer->exact || p->counts);
}

static void finish_line(struct picture *p)
{
    char least[HUMAN_BYTES], most[HUMAN_BYTES];

    if (!p->type)
        return;
    carry_to(p, p->width);
    if (p->most > 0) {
        put_label(p->type);
        for (size_t i = 0; i < p->width; i++)
            put_cell(p, p->cells[i]);
        number(p, least, p->least);
        number(p, most, p->most);
        printf(p->most > p->least ? " %s .. %s\n" : " %s\n", least, most);
    }
    free(p->type);
    p->type = NULL;
}

static void begin_line(struct picture *p, const char *type)
{
    size_t n = strlen(type) + 1;

    finish_line(p);
    p->type = memcpy(need(malloc(n)), type, n);
    p->filled = 0;
    p->value = p->most = UNKNOWN;
    p->least = INT64_MAX;
    for (size_t i = 0; i < p->width; i++)
        p->cells[i] = UNKNOWN;
}

static int draw_point(void *user, uint32_t n_columns, const char *const *names,
                      const tracer_value *v)
{
    struct picture *p = user;
    size_t cell = cell_of(p, v[1].integer);

    (void)n_columns;
    (void)names;
    if (!p->type || strcmp(p->type, v[0].bytes) != 0)
        begin_line(p, v[0].bytes);
    carry_to(p, cell);
    p->value = v[2].kind == TRACER_VALUE_NULL ? UNKNOWN : v[2].integer;
    if (p->value > p->cells[cell])
        p->cells[cell] = p->value;
    if (p->value == UNKNOWN)
        return 0;
    p->least = p->value < p->least ? p->value : p->least;
    p->most = p->value > p->most ? p->value : p->most;
    return 0;
}

static int draw_mark(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *v)
{
    struct picture *p = user;
    size_t cell = cell_of(p, v[0].integer);

    (void)n_columns;
    (void)names;
    p->cells[cell] = 1;
    p->most = 1;
    return 0;
}

static int draw_marks(struct picture *p, int64_t run)
{
    char to[HUMAN_BYTES];
    int code;

    memset(p->cells, 0, sizeof(p->cells));
    p->most = 0;
    answer_bind(p->answer, run);
    code = answer_ask(p->answer, "SELECT t_ns FROM mark WHERE run = ?1", draw_mark, p);
    if (!code && p->most) {
        size_t end = p->width;

        while (!p->cells[end - 1])
            end--;
        put_label("marks");
        for (size_t i = 0; i < end; i++)
            putchar(p->cells[i] ? '^' : ' ');
        putchar('\n');
    }
    human_duration(to, p->end_ns);
    printf("%*s 0%*s\n", LABEL_WIDTH, "", (int)p->width - 1, to);
    return code;
}

static int point_to_json(void *user, uint32_t n_columns, const char *const *names,
                         const tracer_value *v)
{
    struct picture *p = user;
    struct json *j = &p->answer->out;

    (void)n_columns;
    if (!p->type || strcmp(p->type, v[0].bytes) != 0) {
        if (p->type)
            json_close(j, ']');
        free(p->type);
        p->type = memcpy(need(malloc(v[0].n_bytes + 1u)), v[0].bytes, v[0].n_bytes + 1u);
        json_open(j, p->type, '[');
    }
    json_open(j, NULL, '{');
    json_value(j, names[1], &v[1]);
    json_value(j, names[2], &v[2]);
    json_close(j, '}');
    return 0;
}

static int all_points(struct picture *p, int64_t run, const char *column)
{
    struct json *j = &p->answer->out;
    int code;

    json_open(j, NULL, '{');
    json_integer(j, "run", run);
    json_string(j, "column", column);
    json_integer(j, "end_ns", p->end_ns);
    json_open(j, "types", '{');
    answer_bind(p->answer, run);
    answer_bind_text(p->answer, column);
    code = answer_ask(p->answer, sql_points, point_to_json, p);
    if (p->type)
        json_close(j, ']');
    free(p->type);
    p->type = NULL;
    json_close(j, '}');
    json_close(j, '}');
    return code;
}

static int take(void *user, char **operands, int n)
{
    const char *column = *(const char **)user;

    (void)operands, (void)n;
    for (size_t c = 0; c < COUNT_OF(columns); c++)
        if (!strcmp(columns[c], column))
            return TOOL_OK;
    complain("timeline: there is no column \"%s\"; memtracer timeline --help lists them", column);
    return TOOL_USAGE;
}

static int timeline(struct answer *a, void *user)
{
    static struct picture p;
    const char *column = *(const char **)user;
    int64_t run = 0;
    bool found;
    int code = moment_run(a, a->run, &run);

    p = (struct picture){.answer = a};
    p.width = terminal_columns() - LABEL_WIDTH - 25;
    p.blocks = terminal_has_blocks();
    p.counts = !strcmp(column, "blocks");
    answer_bind(a, run);
    if (!code)
        code = answer_integers(a, "SELECT max(until_ns) FROM sample WHERE run = ?1", &p.end_ns, 1,
                               &found);
    if (code)
        return code;
    if (a->json)
        return all_points(&p, run, column);
    answer_bind(a, run);
    answer_bind_text(a, column);
    code = answer_ask(a, sql_points, draw_point, &p);
    finish_line(&p);
    return code ? code : draw_marks(&p, run);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    const char *column = "held";
    const struct option_spec specs[] = {
        {"column", 'c', OPTION_TEXT, &column},
        ANSWER_OPTIONS(a),
        {0},
    };

    return answer_question(&(struct question){self, &a, specs, timeline, &column, .take = take},
                           argc, argv);
}

const struct command command_timeline = {"timeline", "a line a type, over time", help, run};
