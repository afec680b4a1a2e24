/* SPDX-License-Identifier: MIT */
/* read: rows of a file → series at points of time.
 * In: a reader, which runs, which part of them. Out: the points (ticks, or stretches of ticks
 * where there are too many), and the values of one column at a time.
 * Called by reader_verdict.c and cause.c. Must not judge. */
#include "read/series.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static int prepare(tracer_reader *r, const char *sql, sqlite3_stmt **out)
{
    return mt_read_error(r, sqlite3_prepare_v2(r->handle, sql, -1, out, NULL));
}

static int finish(tracer_reader *r, sqlite3_stmt *q, int error)
{
    int rc = sqlite3_finalize(q);

    return error ? error : mt_read_error(r, rc);
}

#define PAGE_BYTES_MOST (INT64_C(1) << 24)

/* ---- which runs ---- */

/* A run's samples have rising ids, none of another run between them. */
static const char sql_runs[] =
    "SELECT r.id, r.start_wall_ns, (SELECT id FROM sample WHERE run = r.id ORDER BY t_ns LIMIT 1),"
    " (SELECT id FROM sample WHERE run = r.id ORDER BY t_ns DESC LIMIT 1), r.page_bytes,"
    " r.cgroup_limit_bytes, r.host_memory_bytes, r.address_limit_bytes, r.data_limit_bytes,"
    " r.max_regions FROM run r"
    " WHERE iif(?1, r.id = ?1, r.label = (SELECT label FROM run WHERE id ="
    " (SELECT run FROM sample ORDER BY id DESC LIMIT 1))) ORDER BY r.start_wall_ns, r.id";
#define SAMPLES_OF_RUN                                                                             \
    " FROM sample NOT INDEXED WHERE id BETWEEN ?4 AND ?5 AND run = ?6"                             \
    " AND (?2 = 0 OR ?1 + until_ns >= ?2) AND (?3 = 0 OR ?1 + t_ns <= ?3)"
static const char sql_ticks[] = "SELECT each_row(ticks, t_ns, until_ns)" SAMPLES_OF_RUN;
static const char sql_samples[] =
    "SELECT each_row(id, t_ns, until_ns, ticks, regions)" SAMPLES_OF_RUN;

#define OF_RUN_PARAMS 6
static void params_of_life(const struct mt_series *s, const struct mt_series_life *life,
                           int64_t *out)
{
    out[0] = life->start_ns;
    out[1] = s->since_ns;
    out[2] = s->until_ns;
    out[3] = life->first;
    out[4] = life->last;
    out[5] = life->run;
}

static int64_t wall_of(int64_t ns)
{
    return mt_series_within(ns, -(INT64_C(1) << 60), INT64_C(1) << 62);
}

static int64_t time_of(int64_t ns)
{
    return mt_series_within(ns, 0, INT64_C(1) << 60);
}

static int64_t ticks_of(int64_t ticks)
{
    return mt_series_within(ticks, 1, INT64_C(1) << 40);
}

static void take_run(struct mt_series *s, sqlite3_stmt *q, struct mt_series_life *out)
{
    out->run = sqlite3_column_int64(q, 0);
    out->start_ns = wall_of(sqlite3_column_int64(q, 1));
    out->first = sqlite3_column_int64(q, 2);
    out->last = sqlite3_column_int64(q, 3);
    out->ticks = 0;
    out->first_ns = INT64_MAX;
    out->last_ns = INT64_MIN;
    s->page_bytes = mt_series_within(sqlite3_column_int64(q, 4), 0, PAGE_BYTES_MOST);
    s->cgroup_bytes = mt_series_bytes(sqlite3_column_int64(q, 5));
    s->host_bytes = mt_series_bytes(sqlite3_column_int64(q, 6));
    s->address_bytes = mt_series_bytes(sqlite3_column_int64(q, 7));
    s->data_bytes = mt_series_bytes(sqlite3_column_int64(q, 8));
    s->max_regions = mt_series_within(sqlite3_column_int64(q, 9), 0, MT_SERIES_REGIONS_MOST);
}

static void take_ticks(void *user, sqlite3_value **columns)
{
    struct mt_series_life *life = user;
    int64_t first = life->start_ns + time_of(sqlite3_value_int64(columns[1]));
    int64_t last = life->start_ns + time_of(sqlite3_value_int64(columns[2]));

    life->ticks += ticks_of(sqlite3_value_int64(columns[0]));
    life->first_ns = first < life->first_ns ? first : life->first_ns;
    life->last_ns = last > life->last_ns ? last : life->last_ns;
}

/* A run that has no ticks in the part that is asked for is none of the lives. */
static int count_ticks(tracer_reader *r, struct mt_series *s)
{
    unsigned n = 0;
    int error = TRACER_OK;

    for (unsigned k = 0; k < s->n_lives && !error; k++) {
        struct mt_series_life life = s->lives[k];
        int64_t params[OF_RUN_PARAMS];

        params_of_life(s, &life, params);
        error = mt_read_each(r, sql_ticks, params, OF_RUN_PARAMS, take_ticks, &life);
        s->lives[n] = life;
        n += life.ticks > 0;
    }
    s->n_lives = n;
    return error;
}

static int find_runs(tracer_reader *r, struct mt_series *s, int64_t run)
{
    sqlite3_stmt *q = NULL;
    int error = prepare(r, sql_runs, &q);

    if (!error)
        sqlite3_bind_int64(q, 1, run);
    while (!error && s->n_lives < MT_SERIES_LIVES && sqlite3_step(q) == SQLITE_ROW)
        take_run(s, q, &s->lives[s->n_lives++]);
    error = finish(r, q, error);
    if (!error)
        error = count_ticks(r, s);
    if (!error && run && !s->n_lives)
        return mt_error_set(TRACER_EINVAL, "%s has no samples of run %lld there", r->path,
                            (long long)run);
    return error;
}

/* ---- which types ---- */

/* CROSS: in this order, else all levels are read. */
static const char sql_types[] =
    "SELECT id, name FROM type t WHERE iif(?1 IS NULL, name NOT IN ('free', 'tracer'), name = ?1)"
    " AND EXISTS (SELECT 1 FROM run r CROSS JOIN level l ON l.run = r.id AND l.type = t.id)"
    " ORDER BY id LIMIT 64";

static int find_types(tracer_reader *r, struct mt_series *s, const char *type)
{
    sqlite3_stmt *q = NULL;
    int error = prepare(r, sql_types, &q);

    if (!error) {
        sqlite3_bind_text(q, 1, type, -1, SQLITE_STATIC);
        while (s->n_types < MT_VERDICT_TYPES && sqlite3_step(q) == SQLITE_ROW) {
            struct mt_series_type *t = &s->types[s->n_types++];

            t->id = sqlite3_column_int64(q, 0);
            snprintf(t->name, sizeof(t->name), "%s", (const char *)sqlite3_column_text(q, 1));
        }
    }
    error = finish(r, q, error);
    if (!error && type && !s->n_types)
        return mt_error_set(TRACER_EINVAL, "%s has no memory of type %s", r->path, type);
    return error;
}

/* ---- marks ---- */

static const char *keep_label(struct mt_series *s, const char *text)
{
    unsigned k = 0;

    while (k < s->n_labels && strncmp(s->labels[k], text, sizeof(s->labels[0]) - 1) != 0)
        k++;
    if (k == MT_SERIES_LABEL)
        return NULL;
    if (k == s->n_labels)
        snprintf(s->labels[s->n_labels++], sizeof(s->labels[0]), "%s", text);
    return s->labels[k];
}

/* Labels that came once lose their number, so that "command 1", "command 2" … are one action. */
static const char sql_marks[] =
    "SELECT t_ns, iif(n = 1 AND stem <> '', stem, label) FROM (SELECT id, t_ns, label,"
    " count(*) OVER (PARTITION BY label) AS n,"
    " rtrim(rtrim(label, '0123456789'), ' #:-_') AS stem FROM mark WHERE run = ?1)"
    " ORDER BY t_ns, id";

static int find_marks(tracer_reader *r, struct mt_series *s)
{
    sqlite3_stmt *q = NULL;
    int error = prepare(r, sql_marks, &q);

    for (unsigned k = 0; k < s->n_lives && !error; k++) {
        sqlite3_bind_int64(q, 1, s->lives[k].run);
        while (s->n_marks < MT_SERIES_MARKS && sqlite3_step(q) == SQLITE_ROW) {
            int64_t t = s->lives[k].start_ns + time_of(sqlite3_column_int64(q, 0));
            const char *text = (const char *)sqlite3_column_text(q, 1);
            const char *label = text ? keep_label(s, text) : NULL;

            if (label && (!s->since_ns || t >= s->since_ns) && (!s->until_ns || t <= s->until_ns))
                s->marks[s->n_marks++] = (struct mt_verdict_marker){t, label};
        }
        error = mt_read_error(r, sqlite3_reset(q));
    }
    return finish(r, q, error);
}

/* ---- points ---- */

struct filling {
    struct mt_series *s;
    int64_t per_slot; /* ticks */
    int64_t left;     /* ticks the newest slot still takes */
    bool begun;       /* the newest slot has ticks */
    size_t room;      /* for slots */
    int64_t start_ns; /* of the life */
    int64_t last_ns;
    struct mt_series_extremes regions; /* of the newest slot */
};

static int64_t later(struct filling *f, int64_t t_ns)
{
    return f->last_ns = t_ns > f->last_ns ? t_ns : f->last_ns + 1;
}

/* Gives ticks from t_ns to end_ns, all of sample `id`, to the newest slot. */
static void extend_slot(struct filling *f, int64_t id, int64_t t_ns, int64_t end_ns)
{
    struct mt_series *s = f->s;
    size_t i = s->n_slots - 1;

    if (!f->begun) {
        s->slots[i].first = id;
        s->t_ns[i * s->per_slot] = later(f, t_ns);
    }
    s->slots[i].last = id;
    if (s->per_slot == 2)
        s->t_ns[2 * i + 1] = f->last_ns = end_ns > s->t_ns[2 * i] ? end_ns : s->t_ns[2 * i] + 1;
}

static void begin_slot(struct filling *f)
{
    f->s->n_slots++;
    f->left = f->per_slot;
    f->begun = false;
    f->regions = MT_SERIES_EXTREMES;
}

struct row {
    int64_t id, t_ns, until_ns, ticks, regions;
};

static void add_row(struct filling *f, const struct row *row)
{
    struct mt_series *s = f->s;
    int64_t step = row->ticks > 1 ? (row->until_ns - row->t_ns) / (row->ticks - 1) : 0, done = 0;

    while (done < row->ticks) {
        int64_t m;

        if (f->left == 0) {
            if (s->n_slots == f->room)
                return;
            begin_slot(f);
        }
        m = row->ticks - done < f->left ? row->ticks - done : f->left;
        extend_slot(f, row->id, row->t_ns + step * done, row->t_ns + step * (done + m - 1));
        mt_series_take(&f->regions, row->regions);
        mt_series_put(&f->regions, s->per_slot, s->regions + (s->n_slots - 1) * s->per_slot);
        f->begun = true;
        f->left -= m;
        done += m;
    }
}

static void take_sample(void *user, sqlite3_value **columns)
{
    struct filling *f = user;
    struct row row = {sqlite3_value_int64(columns[0]),
                      f->start_ns + time_of(sqlite3_value_int64(columns[1])),
                      f->start_ns + time_of(sqlite3_value_int64(columns[2])),
                      ticks_of(sqlite3_value_int64(columns[3])), mt_series_value(columns[4])};

    add_row(f, &row);
}

static int fill_life(tracer_reader *r, struct filling *f, unsigned k)
{
    struct mt_series_life *life = &f->s->lives[k];
    int64_t params[OF_RUN_PARAMS];
    int error;

    params_of_life(f->s, life, params);
    life->first_slot = f->s->n_slots;
    f->left = 0;
    f->start_ns = life->start_ns;
    error = mt_read_each(r, sql_samples, params, OF_RUN_PARAMS, take_sample, f);
    life->end_slot = f->s->n_slots;
    f->s->starts_ns[k] = life->start_ns;
    if (life->end_slot > life->first_slot && k > 0)
        f->s->starts_ns[k] = f->s->t_ns[life->first_slot * f->s->per_slot];
    return error;
}

/* One point a tick; where that were too many, two a stretch of ticks. */
static int make_room(tracer_reader *r, struct filling *f)
{
    struct mt_series *s = f->s;
    int64_t ticks = 0, most = MT_SERIES_POINTS;

    if (s->n_types > MT_SERIES_VALUES / MT_SERIES_POINTS)
        most = MT_SERIES_VALUES / s->n_types;
    for (unsigned k = 0; k < s->n_lives; k++)
        ticks += s->lives[k].ticks;
    s->per_slot = ticks > most ? 2 : 1;
    f->per_slot = ticks > most ? ticks / (most / 2) + 1 : 1;
    f->room = (size_t)(ticks > most ? most / 2 : ticks) + MT_SERIES_LIVES;
    s->t_ns = mt_memory_alloc(f->room * s->per_slot * sizeof(*s->t_ns));
    s->regions = mt_memory_alloc(f->room * s->per_slot * sizeof(*s->regions));
    s->slots = mt_memory_alloc(f->room * sizeof(*s->slots));
    if (!s->t_ns || !s->regions || !s->slots)
        return mt_error_set(TRACER_ENOMEM, "no memory for the series of %s", r->path);
    return TRACER_OK;
}

static int find_points(tracer_reader *r, struct mt_series *s)
{
    struct filling f = {.s = s, .last_ns = INT64_MIN};
    int error = make_room(r, &f);

    for (unsigned k = 0; k < s->n_lives && !error; k++)
        error = fill_life(r, &f, k);
    s->n = s->n_slots * s->per_slot;
    return error;
}

int mt_series_open(tracer_reader *r, const tracer_verdict_options *o, struct mt_series **out)
{
    struct mt_series *s = mt_memory_alloc(sizeof(*s));
    int error;

    if (!s)
        return mt_error_set(TRACER_ENOMEM, "no memory for the series of %s", r->path);
    s->since_ns = o->since_wall_ns;
    s->until_ns = o->until_wall_ns;
    error = find_runs(r, s, o->run);
    if (!error)
        error = find_types(r, s, o->type);
    if (!error)
        error = mt_series_overlap(r, s);
    if (!error)
        error = find_marks(r, s);
    if (!error)
        error = find_points(r, s);
    if (error)
        mt_series_free(s);
    else
        *out = s;
    return error;
}

void mt_series_free(struct mt_series *s)
{
    if (!s)
        return;
    mt_memory_free(s->t_ns);
    mt_memory_free(s->regions);
    mt_memory_free(s->slots);
    mt_memory_free(s);
}
