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

#define PAGE_BYTES_MOST (1 << 24)

static int prepare(tracer_reader *r, const char *sql, sqlite3_stmt **out)
{
    return mt_read_error(r, sqlite3_prepare_v2(r->handle, sql, -1, out, NULL));
}

static int finish(tracer_reader *r, sqlite3_stmt *q, int error)
{
    int rc = sqlite3_finalize(q);

    return error ? error : mt_read_error(r, rc);
}

/* ---- numbers of a file that anyone may have written: sums and differences of them fit ---- */

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static int64_t wall_of(sqlite3_stmt *q, int i)
{
    return within(sqlite3_column_int64(q, i), -(INT64_C(1) << 60), INT64_C(1) << 62);
}

static int64_t time_of(sqlite3_stmt *q, int i)
{
    return within(sqlite3_column_int64(q, i), 0, INT64_C(1) << 60);
}

int64_t mt_series_bytes(sqlite3_stmt *q, int i)
{
    return within(sqlite3_column_int64(q, i), -MT_SERIES_MOST, MT_SERIES_MOST);
}

static int64_t ticks_of(sqlite3_stmt *q, int i)
{
    return within(sqlite3_column_int64(q, i), 1, INT64_C(1) << 40);
}

/* ---- which runs ---- */

static const char sql_runs[] =
    "SELECT r.id, r.start_wall_ns, total(max(s.ticks, 1)), r.page_bytes, r.cgroup_limit_bytes,"
    " r.host_memory_bytes, r.address_limit_bytes, r.data_limit_bytes, r.max_regions"
    " FROM run r JOIN sample s ON s.run = r.id"
    " WHERE iif(?1, r.id = ?1, r.label = (SELECT label FROM run WHERE id ="
    " (SELECT run FROM sample ORDER BY id DESC LIMIT 1)))"
    " AND (?2 = 0 OR r.start_wall_ns + s.until_ns >= ?2)"
    " AND (?3 = 0 OR r.start_wall_ns + s.t_ns <= ?3)"
    " GROUP BY r.id ORDER BY r.start_wall_ns, r.id";

static void take_run(struct mt_series *s, sqlite3_stmt *q)
{
    struct mt_series_life *life = &s->lives[s->n_lives++];

    life->run = sqlite3_column_int64(q, 0);
    life->start_ns = wall_of(q, 1);
    life->ticks = ticks_of(q, 2);
    s->page_bytes = within(sqlite3_column_int64(q, 3), 0, PAGE_BYTES_MOST);
    s->cgroup_bytes = mt_series_bytes(q, 4);
    s->host_bytes = mt_series_bytes(q, 5);
    s->address_bytes = mt_series_bytes(q, 6);
    s->data_bytes = mt_series_bytes(q, 7);
    s->max_regions = within(sqlite3_column_int64(q, 8), 0, MT_SERIES_REGIONS_MOST);
}

static int find_runs(tracer_reader *r, struct mt_series *s, int64_t run)
{
    sqlite3_stmt *q = NULL;
    int error = prepare(r, sql_runs, &q);

    if (!error) {
        sqlite3_bind_int64(q, 1, run);
        sqlite3_bind_int64(q, 2, s->since_ns);
        sqlite3_bind_int64(q, 3, s->until_ns);
        while (s->n_lives < MT_SERIES_LIVES && sqlite3_step(q) == SQLITE_ROW)
            take_run(s, q);
    }
    error = finish(r, q, error);
    if (!error && run && !s->n_lives)
        return mt_error_set(TRACER_EINVAL, "%s has no samples of run %lld there", r->path,
                            (long long)run);
    return error;
}

/* ---- which types ---- */

static const char sql_types[] =
    "SELECT id, name FROM type t WHERE iif(?1 IS NULL, name NOT IN ('free', 'tracer'), name = ?1)"
    " AND EXISTS (SELECT 1 FROM run r JOIN level l ON l.run = r.id AND l.type = t.id)"
    " ORDER BY id LIMIT 64";

static int find_types(tracer_reader *r, struct mt_series *s, const char *type)
{
    sqlite3_stmt *q = NULL;
    int error = prepare(r, sql_types, &q);

    if (!error) {
        sqlite3_bind_text(q, 1, type, -1, SQLITE_STATIC);
        while (s->n_types < MT_VERDICT_TYPES && sqlite3_step(q) == SQLITE_ROW) {
            struct mt_series_type *t = &s->types[s->n_types++];
            const char *name = (const char *)sqlite3_column_text(q, 1);

            t->id = sqlite3_column_int64(q, 0);
            snprintf(t->name, sizeof(t->name), "%s", name ? name : "");
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
            int64_t t = s->lives[k].start_ns + time_of(q, 0);
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
    size_t begun;     /* slots of this life begun */
    int64_t last_ns;
};

static int64_t later(struct filling *f, int64_t t_ns)
{
    return f->last_ns = t_ns > f->last_ns ? t_ns : f->last_ns + 1;
}

/* Gives `m` ticks from t_ns to end_ns, all of sample `id`, to the newest slot. */
static void extend_slot(struct filling *f, int64_t id, int64_t t_ns, int64_t end_ns)
{
    struct mt_series *s = f->s;
    size_t i = s->n_slots - 1;

    if (f->begun == 0) {
        s->slots[i].first = id;
        s->t_ns[i * s->per_slot] = later(f, t_ns);
    }
    s->slots[i].last = id;
    if (s->per_slot == 2)
        s->t_ns[2 * i + 1] = f->last_ns = end_ns > s->t_ns[2 * i] ? end_ns : s->t_ns[2 * i] + 1;
}

static void add_row(struct filling *f, int64_t id, int64_t t_ns, int64_t until_ns, int64_t ticks,
                    size_t room)
{
    int64_t step = ticks > 1 ? (until_ns - t_ns) / (ticks - 1) : 0, done = 0;

    while (done < ticks) {
        int64_t m;

        if (f->left == 0) {
            if (f->s->n_slots == room)
                return;
            f->s->n_slots++;
            f->left = f->per_slot;
            f->begun = 0;
        }
        m = ticks - done < f->left ? ticks - done : f->left;
        extend_slot(f, id, t_ns + step * done, t_ns + step * (done + m - 1));
        f->begun = 1;
        f->left -= m;
        done += m;
    }
}

static const char sql_samples[] = "SELECT id, t_ns, until_ns, max(ticks, 1) FROM sample"
                                  " WHERE run = ?1 AND (?2 = 0 OR ?4 + until_ns >= ?2)"
                                  " AND (?3 = 0 OR ?4 + t_ns <= ?3) ORDER BY t_ns, id";

static int fill_life(tracer_reader *r, sqlite3_stmt *q, struct filling *f, unsigned k, size_t room)
{
    struct mt_series_life *life = &f->s->lives[k];

    sqlite3_bind_int64(q, 1, life->run);
    sqlite3_bind_int64(q, 2, f->s->since_ns);
    sqlite3_bind_int64(q, 3, f->s->until_ns);
    sqlite3_bind_int64(q, 4, life->start_ns);
    life->first_slot = f->s->n_slots;
    f->left = 0;
    while (sqlite3_step(q) == SQLITE_ROW)
        add_row(f, sqlite3_column_int64(q, 0), life->start_ns + time_of(q, 1),
                life->start_ns + time_of(q, 2), ticks_of(q, 3), room);
    life->end_slot = f->s->n_slots;
    f->s->starts_ns[k] = life->start_ns;
    if (life->end_slot > life->first_slot && k > 0)
        f->s->starts_ns[k] = f->s->t_ns[life->first_slot * f->s->per_slot];
    return mt_read_error(r, sqlite3_reset(q));
}

static int find_points(tracer_reader *r, struct mt_series *s)
{
    struct filling f = {.s = s, .per_slot = 1, .last_ns = INT64_MIN};
    size_t room = MT_SERIES_POINTS;
    int64_t ticks = 0;
    sqlite3_stmt *q = NULL;
    int error;

    for (unsigned k = 0; k < s->n_lives; k++)
        ticks += s->lives[k].ticks;
    s->per_slot = ticks > (int64_t)room ? 2 : 1;
    room = room / s->per_slot + MT_SERIES_LIVES;
    if (s->per_slot == 2)
        f.per_slot = ticks / (MT_SERIES_POINTS / 2) + 1;
    s->t_ns = mt_memory_alloc(room * s->per_slot * sizeof(*s->t_ns));
    s->slots = mt_memory_alloc(room * sizeof(*s->slots));
    if (!s->t_ns || !s->slots)
        return mt_error_set(TRACER_ENOMEM, "no memory for the series of %s", r->path);
    error = prepare(r, sql_samples, &q);
    for (unsigned k = 0; k < s->n_lives && !error; k++)
        error = fill_life(r, q, &f, k, room);
    s->n = s->n_slots * s->per_slot;
    return finish(r, q, error);
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
    mt_memory_free(s->slots);
    mt_memory_free(s);
}
