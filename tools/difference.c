/* SPDX-License-Identifier: MIT */
/* tools: two moments compared, with the noise of the runs they lie in.
 * In: levels of a file, or of two. Out: struct difference. Called by cmd_diff.c. Must not print. */
#include "difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "levels.h"
#include "swing.h"

#define LEAST_BYTES 65536
#define LEAST_OF_RUNS_BYTES 262144
#define PART_OF_RUNS 50
#define UNKNOWN DIFFERENCE_UNKNOWN

const char *const difference_columns[DIFFERENCE_COLUMNS] = {
    "size",       "committed",    "charged",   "private", "ws",
    "ws_private", "ws_shareable", "ws_shared", "pss",     "swap",
    "locked",     "huge",         "lazy_free", "blocks",  "largest",
};

static const char sql_levels[] =
    "WITH " SQL_LEVELS_AT " SELECT type, size, committed, charged, private, ws, ws_private,"
    " ws_shareable, ws_shared, pss, swap, locked, huge, lazy_free, blocks, largest,"
    " EXISTS (SELECT 1 FROM level k WHERE k.run = ?1 AND k.type = place AND k.sample <= ?2)"
    " FROM levels_at WHERE type <> 'free' ORDER BY place";

static const char sql_points[] =
    "SELECT t.name, s.t_ns, coalesce(l.ws + ifnull(l.swap, 0), l.committed) AS value"
    " FROM level l JOIN sample s ON s.id = l.sample JOIN type t ON t.id = l.type"
    " WHERE l.run = ?1 AND t.name <> 'free' AND value IS NOT NULL ORDER BY s.t_ns, s.id";

static const char sql_end[] = "SELECT max(until_ns) FROM sample WHERE run = ?1";

/* The levels of one type in a run. */
struct track {
    struct point *points;
    size_t n, capacity;
};

struct reading {
    struct difference *d;
    int side;
    struct track tracks[DIFFERENCE_TYPES], all;
    int64_t sum;
};

static bool is_own(const struct type_difference *y)
{
    return !strcmp(y->name, "tracer");
}

static struct type_difference *find_type(struct difference *d, const tracer_value *name)
{
    struct type_difference *y;

    for (size_t i = 0; i < d->n_types; i++)
        if (!strcmp(d->types[i].name, name->bytes))
            return &d->types[i];
    if (d->n_types == DIFFERENCE_TYPES)
        return NULL;
    y = &d->types[d->n_types++];
    memset(y, 0, sizeof(*y));
    snprintf(y->name, sizeof(y->name), "%s", (const char *)name->bytes);
    for (size_t c = 0; c < DIFFERENCE_COLUMNS; c++)
        y->side[0][c] = y->side[1][c] = UNKNOWN;
    return y;
}

static int keep_level(void *user, uint32_t n_columns, const char *const *names,
                      const tracer_value *v)
{
    struct reading *r = user;
    struct type_difference *y = find_type(r->d, &v[0]);

    (void)names;
    (void)n_columns;
    if (!y)
        return 0;
    for (uint32_t c = 0; c < DIFFERENCE_COLUMNS; c++)
        if (v[1 + c].kind == TRACER_VALUE_INTEGER)
            y->side[r->side][c] = v[1 + c].integer;
    y->there[r->side] = v[1 + DIFFERENCE_COLUMNS].integer != 0;
    return 0;
}

/* Points of one time are one point: the last word of it. */
static void add_point(struct track *t, int64_t t_ns, int64_t value)
{
    if (t->n && t->points[t->n - 1].t_ns == t_ns) {
        t->points[t->n - 1].value = value;
        return;
    }
    if (t->n == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 256;
        t->points = need(realloc(t->points, t->capacity * sizeof(*t->points)));
    }
    t->points[t->n++] = (struct point){t_ns, value};
}

static int keep_point(void *user, uint32_t n_columns, const char *const *names,
                      const tracer_value *v)
{
    struct reading *r = user;
    struct type_difference *y = find_type(r->d, &v[0]);
    struct track *t;

    (void)n_columns;
    (void)names;
    if (!y)
        return 0;
    t = &r->tracks[y - r->d->types];
    if (!is_own(y)) {
        r->sum += v[2].integer - (t->n ? t->points[t->n - 1].value : 0);
        add_point(&r->all, v[1].integer, r->sum);
    }
    add_point(t, v[1].integer, v[2].integer);
    return 0;
}

static int read_swings(struct answer *a, int64_t run, struct reading *r)
{
    int64_t end_ns = 0;
    bool any;
    int code;

    answer_bind(a, run);
    code = answer_integers(a, sql_end, &end_ns, 1, &any);
    answer_bind(a, run);
    if (!code)
        code = answer_ask(a, sql_points, keep_point, r);
    for (size_t i = 0; i < DIFFERENCE_TYPES; i++) {
        r->d->types[i].swing[r->side] = swing_of(r->tracks[i].points, r->tracks[i].n, end_ns);
        free(r->tracks[i].points);
    }
    r->d->all.swing[r->side] = swing_of(r->all.points, r->all.n, end_ns);
    free(r->all.points);
    return code;
}

static int read_side(struct answer *a, const struct moment *m, int side, struct difference *d)
{
    struct reading r = {.d = d, .side = side};
    int code;

    answer_bind(a, m->run);
    answer_bind(a, m->sample);
    code = answer_ask(a, sql_levels, keep_level, &r);
    return code ? code : read_swings(a, m->run, &r);
}

static int64_t change(const struct type_difference *y, int64_t before, int64_t after)
{
    if (before == UNKNOWN && !y->there[0] && after != UNKNOWN)
        before = 0;
    if (after == UNKNOWN && !y->there[1] && before != UNKNOWN)
        after = 0;
    return before == UNKNOWN || after == UNKNOWN ? UNKNOWN : after - before;
}

int64_t difference_change(const struct type_difference *y, int column)
{
    return change(y, y->side[0][column], y->side[1][column]);
}

static int64_t held(const int64_t *v)
{
    if (v[DIFFERENCE_WS] == UNKNOWN)
        return v[DIFFERENCE_COMMITTED];
    return v[DIFFERENCE_WS] + (v[DIFFERENCE_SWAP] == UNKNOWN ? 0 : v[DIFFERENCE_SWAP]);
}

static void judge(struct type_difference *y, bool two_runs)
{
    double both = hypot((double)y->swing[0], (double)y->swing[1]);
    int64_t larger = y->held[0] > y->held[1] ? y->held[0] : y->held[1];
    int64_t least = two_runs ? LEAST_OF_RUNS_BYTES : LEAST_BYTES;

    if (two_runs && larger / PART_OF_RUNS > least)
        least = larger / PART_OF_RUNS;
    y->noise = both > 9e18 ? INT64_MAX : (int64_t)both;
    y->noise = y->noise < least ? least : y->noise;
    y->beyond = y->grew != UNKNOWN && (y->grew > y->noise || y->grew < -y->noise);
}

static void judge_all(struct difference *d, bool two_runs)
{
    for (size_t i = 0; i < d->n_types; i++) {
        struct type_difference *y = &d->types[i];

        y->held[0] = held(y->side[0]);
        y->held[1] = held(y->side[1]);
        y->grew = change(y, y->held[0], y->held[1]);
        judge(y, two_runs);
        if (is_own(y) || y->grew == UNKNOWN)
            continue;
        d->differs = d->differs || y->beyond;
        for (int s = 0; s < 2; s++)
            d->all.held[s] += y->held[s] == UNKNOWN ? 0 : y->held[s];
    }
    d->all.grew = d->all.held[1] - d->all.held[0];
    judge(&d->all, two_runs);
}

static int by_growth(const void *a, const void *b)
{
    const struct type_difference *x = a, *y = b;

    return x->grew < y->grew ? 1 : x->grew > y->grew ? -1 : 0;
}

int difference_read(struct answer *before, const struct moment *from, struct answer *after,
                    const struct moment *to, struct difference *out)
{
    int code;

    memset(out, 0, sizeof(*out));
    code = read_side(before, from, 0, out);
    if (!code)
        code = read_side(after, to, 1, out);
    if (code)
        return code;
    judge_all(out, before != after || from->run != to->run);
    qsort(out->types, out->n_types, sizeof(out->types[0]), by_growth);
    return TOOL_OK;
}
