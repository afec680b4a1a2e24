/* SPDX-License-Identifier: MIT */
/* tools: one frame of memtracer top.
 * In: the levels of a window of time, the last marks. Out: a line a type, the largest first: held
 * now, its change a minute over the window, a sparkline; or JSON. A cell shows the largest value of
 * its stretch. Called by cmd_top.c. Knows nothing of terminals but what the view says. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "moment.h"
#include "options.h"
#include "top_frame.h"
#include "utf8.h"

#define TYPES_MAX 64
#define CELLS_MAX 1000
#define NAME_WIDTH 14
#define LEAD_WIDTH (NAME_WIDTH + 12 + 14) /* before the sparkline */
#define MARKS 3
#define FIXED_LINES (5 + MARKS)
#define UNKNOWN INT64_MIN
#define MINUTE_NS 60e9

struct top_row {
    char *name;
    int64_t first, last, least, most;
    size_t filled;
    int64_t cells[CELLS_MAX];
};

struct frame {
    struct top_view *view;
    int64_t from_ns, until_ns;
    size_t n_rows, width;
    struct top_row rows[TYPES_MAX + 1];
};

/* ?1 run, ?2 the window's begin: each type's level at it, and all later ones. */
static const char sql_points[] =
    "SELECT t.name, max(s.t_ns, ?2), coalesce(l.ws + ifnull(l.swap, 0), l.committed, l.private)"
    " FROM type t JOIN level l ON l.run = ?1 AND l.type = t.id JOIN sample s ON s.id = l.sample"
    " WHERE t.name <> 'free' AND l.sample >= ifnull((SELECT max(k.sample) FROM level k"
    " JOIN sample b ON b.id = k.sample WHERE k.run = ?1 AND k.type = t.id AND b.t_ns <= ?2), 0)"
    " ORDER BY t.id, l.sample";

static const char sql_head[] =
    "SELECT name, pid, state, label, (SELECT max(until_ns) FROM sample WHERE run = ?1),"
    " start_wall_ns FROM run WHERE id = ?1";

static const char sql_marks[] =
    "SELECT * FROM (SELECT id, t_ns, label FROM mark WHERE run = ?1 ORDER BY t_ns DESC, id DESC"
    " LIMIT 3) ORDER BY t_ns, id";

static void end_line(const struct top_view *v)
{
    fputs(v->live ? "\033[K\n" : "\n", stdout);
}

/* Prints what fits into `cells` of a text of any bytes. */
static void put_cut(const char *text, size_t cells)
{
    char *harmless = text_harmless(text, strlen(text));
    size_t n = strlen(harmless);

    while (n && text_width(harmless) > cells) {
        do
            n--;
        while (n && ((unsigned char)harmless[n] & 0xc0) == 0x80);
        harmless[n] = '\0';
    }
    fputs(harmless, stdout);
    free(harmless);
}

static size_t cell_of(const struct frame *f, int64_t t_ns)
{
    double length = (double)(f->until_ns - f->from_ns);
    double place = length > 0 ? (double)(t_ns - f->from_ns) / length * (double)f->width : 0;

    return place >= (double)f->width ? f->width - 1 : place < 0 ? 0 : (size_t)place;
}

static void carry_to(struct top_row *r, size_t cell)
{
    for (; r->filled < cell; r->filled++)
        if (r->last > r->cells[r->filled])
            r->cells[r->filled] = r->last;
}

static struct top_row *row_of(struct frame *f, const char *name)
{
    struct top_row *r = f->n_rows ? &f->rows[f->n_rows - 1] : NULL;
    size_t n = strlen(name) + 1;

    if (r && !strcmp(r->name, name))
        return r;
    if (r)
        carry_to(r, f->width);
    if (f->n_rows == TYPES_MAX)
        return NULL;
    r = &f->rows[f->n_rows++];
    r->name = memcpy(need(malloc(n)), name, n);
    r->filled = 0;
    r->first = r->last = r->most = UNKNOWN;
    r->least = INT64_MAX;
    for (size_t i = 0; i < CELLS_MAX; i++)
        r->cells[i] = UNKNOWN;
    return r;
}

static int take_point(void *user, uint32_t n_columns, const char *const *names,
                      const tracer_value *v)
{
    struct frame *f = user;
    struct top_row *r = row_of(f, v[0].bytes);
    size_t cell = cell_of(f, v[1].integer);

    (void)n_columns;
    (void)names;
    if (!r)
        return 1;
    carry_to(r, cell);
    if (v[2].kind == TRACER_VALUE_NULL) {
        r->last = UNKNOWN;
        return 0;
    }
    r->last = v[2].integer;
    r->first = r->first == UNKNOWN ? r->last : r->first;
    r->least = r->last < r->least ? r->last : r->least;
    r->most = r->last > r->most ? r->last : r->most;
    if (r->last > r->cells[cell])
        r->cells[cell] = r->last;
    return 0;
}

static int by_size(const void *a, const void *b)
{
    const struct top_row *x = a, *y = b;

    return (x->last < y->last) - (x->last > y->last);
}

/* The change a minute over the window; a type that is new came from nothing seen. */
static int64_t a_minute(const struct frame *f, const struct top_row *r)
{
    double minutes = (double)(f->until_ns - f->from_ns) / MINUTE_NS;

    if (r->last == UNKNOWN || minutes <= 0)
        return UNKNOWN;
    return (int64_t)((double)(r->last - r->first) / minutes);
}

static void put_spark(const struct frame *f, const struct top_row *r)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {".", ":", "-", "=", "+", "*", "%", "@"};

    for (size_t i = 0; i < f->width && f->view->columns > LEAD_WIDTH; i++) {
        double share = r->most > r->least
                           ? (double)(r->cells[i] - r->least) / (double)(r->most - r->least)
                           : 0;
        size_t step = share > 0 ? (size_t)(share * 7 + 0.5) : 0;

        if (r->cells[i] == UNKNOWN)
            putchar(' ');
        else
            fputs((f->view->blocks ? blocks : ascii)[step > 7 ? 7 : step], stdout);
    }
}

static void put_row(const struct frame *f, const struct top_row *r)
{
    char held[HUMAN_BYTES] = "-", rate[HUMAN_BYTES] = "-";
    int64_t change = a_minute(f, r);
    size_t width = text_width(r->name);

    if (r->last != UNKNOWN)
        human_bytes(held, r->last, f->view->answer->exact);
    if (change != UNKNOWN)
        human_change(rate, change, f->view->answer->exact);
    put_cut(r->name, NAME_WIDTH - 1);
    printf("%*s%12s%13s ", width < NAME_WIDTH ? (int)(NAME_WIDTH - width) : 1, "", held, rate);
    put_spark(f, r);
    end_line(f->view);
}

/* All types together, of those that are known. */
static void add_total(struct frame *f)
{
    struct top_row *t = &f->rows[f->n_rows];
    static char name[] = "total";

    t->name = name;
    t->first = t->last = 0;
    t->most = UNKNOWN;
    t->least = INT64_MAX;
    for (size_t i = 0; i < f->width; i++) {
        t->cells[i] = UNKNOWN;
        for (size_t k = 0; k < f->n_rows; k++)
            if (f->rows[k].cells[i] != UNKNOWN)
                t->cells[i] = (t->cells[i] == UNKNOWN ? 0 : t->cells[i]) + f->rows[k].cells[i];
        if (t->cells[i] == UNKNOWN)
            continue;
        t->most = t->cells[i] > t->most ? t->cells[i] : t->most;
        t->least = t->cells[i] < t->least ? t->cells[i] : t->least;
    }
    for (size_t k = 0; k < f->n_rows; k++) {
        t->last += f->rows[k].last == UNKNOWN ? 0 : f->rows[k].last;
        t->first += f->rows[k].first == UNKNOWN ? 0 : f->rows[k].first;
    }
}

static void put_table(struct frame *f)
{
    const struct top_view *v = f->view;
    size_t n = f->n_rows;
    char window[HUMAN_BYTES], heading[LEAD_WIDTH + 2 * HUMAN_BYTES];

    if (v->lines && n > (v->lines > FIXED_LINES ? v->lines - FIXED_LINES : 1))
        n = v->lines > FIXED_LINES ? v->lines - FIXED_LINES : 1;
    human_duration(window, f->until_ns - f->from_ns);
    fputs(v->colour ? "\033[1m" : "", stdout);
    snprintf(heading, sizeof(heading), "%-*s%12s%13s last %s", NAME_WIDTH, "type", "held",
             "a minute", window);
    put_cut(heading, v->columns);
    fputs(v->colour ? "\033[0m" : "", stdout);
    end_line(v);
    for (size_t i = 0; i < n; i++)
        if (f->rows[i].most > 0 || f->rows[i].last > 0)
            put_row(f, &f->rows[i]);
    put_row(f, &f->rows[f->n_rows]);
}

static int put_mark(void *user, uint32_t n_columns, const char *const *names, const tracer_value *v)
{
    const struct frame *f = user;
    char seconds[HUMAN_BYTES];
    int n;

    (void)n_columns;
    (void)names;
    human_seconds(seconds, v[1].integer);
    n = printf("%12s s  ", seconds);
    put_cut(v[2].bytes, f->view->columns - (size_t)n);
    end_line(f->view);
    return 0;
}

struct head {
    char text[256];
    int64_t until_ns, wall_ns;
};

static int take_head(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *v)
{
    struct head *h = user;

    (void)n_columns;
    (void)names;
    h->until_ns = v[4].integer;
    h->wall_ns = v[5].integer;
    snprintf(h->text, sizeof(h->text), "%s, process %" PRId64 ", %s", v[0].bytes, v[1].integer,
             v[2].bytes);
    return 0;
}

static void rows_to_json(struct frame *f)
{
    struct json *j = &f->view->answer->out;

    json_open(j, "types", '[');
    for (size_t i = 0; i < f->n_rows; i++) {
        const struct top_row *r = &f->rows[i];
        int64_t numbers[] = {r->last, a_minute(f, r)};
        static const char *const keys[] = {"held", "bytes_per_minute"};

        json_open(j, NULL, '{');
        json_string(j, "type", r->name);
        for (size_t k = 0; k < COUNT_OF(keys); k++) {
            tracer_value v = {.kind = TRACER_VALUE_NULL};

            if (numbers[k] != UNKNOWN)
                v = (tracer_value){.kind = TRACER_VALUE_INTEGER, .integer = numbers[k]};
            json_value(j, keys[k], &v);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}

static int tell_json(struct frame *f, const struct moment *m)
{
    struct answer *a = f->view->answer;
    int code;

    json_open(&a->out, NULL, '{');
    json_integer(&a->out, "run", m->run);
    json_integer(&a->out, "from_ns", f->from_ns);
    json_integer(&a->out, "until_ns", f->until_ns);
    rows_to_json(f);
    answer_bind(a, m->run);
    code = answer_rows(a, "marks", sql_marks, NULL, NULL);
    json_close(&a->out, '}');
    return code;
}

static int draw(struct frame *f, const struct head *h, int64_t run)
{
    char wall[HUMAN_BYTES], at[HUMAN_BYTES], line[512];
    struct answer *a = f->view->answer;
    int code;

    fputs(f->view->live ? "\033[H" : "", stdout);
    human_wall(wall, h->wall_ns + f->until_ns);
    human_duration(at, f->until_ns);
    snprintf(line, sizeof(line), "%s, run %" PRId64 ", %s, %s UTC", h->text, run, at, wall);
    put_cut(line, f->view->columns);
    end_line(f->view);
    put_table(f);
    answer_bind(a, run);
    code = answer_ask(a, sql_marks, put_mark, f);
    fputs(f->view->live ? "q quits\033[K\033[J" : "", stdout);
    return code;
}

int top_frame(struct top_view *v)
{
    static struct frame f;
    struct head h = {0};
    struct moment m = {0};
    int code = moment_run(v->answer, v->answer->run, &m.run);

    f.view = v;
    f.n_rows = 0;
    f.width = v->columns > LEAD_WIDTH + 1 ? v->columns - LEAD_WIDTH - 1 : 1;
    if (f.width > CELLS_MAX)
        f.width = CELLS_MAX;
    answer_bind(v->answer, m.run);
    if (!code)
        code = answer_ask(v->answer, sql_head, take_head, &h);
    f.until_ns = h.until_ns;
    f.from_ns = h.until_ns > v->window_ns ? h.until_ns - v->window_ns : 0;
    answer_bind(v->answer, m.run);
    answer_bind(v->answer, f.from_ns);
    if (!code)
        code = answer_ask(v->answer, sql_points, take_point, &f);
    if (f.n_rows)
        carry_to(&f.rows[f.n_rows - 1], f.width);
    qsort(f.rows, f.n_rows, sizeof(f.rows[0]), by_size);
    add_total(&f);
    if (!code)
        code = v->answer->json ? tell_json(&f, &m) : draw(&f, &h, m.run);
    for (size_t i = 0; i < f.n_rows; i++)
        free(f.rows[i].name);
    return code;
}
