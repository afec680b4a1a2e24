/* SPDX-License-Identifier: MIT */
/* record: one bucket of old samples: which stay, and how the others go.
 * In: rows of sample, level, mark. Out: fewer rows; every value at a sample that stays is what it
 * was. Called by retention.c. Each gap between two samples that stay is closed as a whole, so that
 * a bucket may be left half done at any time. Must not touch a row of a run's newest sample. */
#include "base/compiler.h"
#include "base/error.h"
#include "record/recorder_private.h"

#define PICK_TYPES 96
#define SAMPLES_A_STEP 64 /* removed in one transaction */
#define NONE (-1)

/* What a type wants to stay, as places in the bucket, dearest first. */
enum pick { MOST, LEAST, MOST_COMMITTED, RISE, BEFORE_RISE, RISE_2, BEFORE_RISE_2, PICKS };

struct picks {
    int place[PICK_TYPES][PICKS];
    int n;
};

struct series {
    int64_t type;
    int last_place;
    int64_t last, most, least, most_committed, rise, rise_2;
    bool begun;
};

static int place_of(const struct mt_bucket *b, int64_t id)
{
    int low = 0, high = b->n;

    while (low < high) {
        int middle = (low + high) / 2;

        if (b->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->n && b->ids[low] == id ? low : NONE;
}

static void see_rise(struct series *s, int *place, int now, int64_t rise)
{
    if (rise > s->rise) {
        s->rise_2 = s->rise;
        place[RISE_2] = place[RISE];
        place[BEFORE_RISE_2] = place[BEFORE_RISE];
        s->rise = rise;
        place[RISE] = now;
        place[BEFORE_RISE] = now > 0 ? now - 1 : 0;
    } else if (rise > s->rise_2) {
        s->rise_2 = rise;
        place[RISE_2] = now;
        place[BEFORE_RISE_2] = now > 0 ? now - 1 : 0;
    }
}

static void see(struct series *s, int *place, int now, int64_t held, int64_t committed)
{
    if (!s->begun || held > s->most) {
        s->most = held;
        place[MOST] = now;
    }
    if (!s->begun || held < s->least) {
        s->least = held;
        place[LEAST] = now;
    }
    if (!s->begun || committed > s->most_committed) {
        s->most_committed = committed;
        place[MOST_COMMITTED] = now;
    }
    if (s->begun)
        see_rise(s, place, now, held - s->last);
    s->last = held;
    s->begun = true;
}

static void begin_series(struct series *s, struct picks *picks, int64_t type)
{
    *s = (struct series){.type = type};
    for (int i = 0; i < PICKS; i++)
        picks->place[picks->n][i] = NONE;
    picks->n++;
}

static int pick(struct mt_recorder *r, struct picks *picks)
{
    struct mt_bucket *b = &r->retention.bucket;
    sqlite3_stmt *q = r->sql[MT_SQL_THIN_SERIES];
    struct series s = {0};
    int rc;

    picks->n = 0;
    mt_db_bind(q, 1, b->run);
    mt_db_bind(q, 2, b->ids[0]);
    mt_db_bind(q, 3, b->ids[b->n - 1]);
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        int now = place_of(b, sqlite3_column_int64(q, 1));

        if (picks->n == 0 || sqlite3_column_int64(q, 0) != s.type) {
            if (picks->n == PICK_TYPES)
                break;
            begin_series(&s, picks, sqlite3_column_int64(q, 0));
        }
        if (now != NONE && sqlite3_column_type(q, 2) != SQLITE_NULL)
            see(&s, picks->place[picks->n - 1], now, sqlite3_column_int64(q, 2),
                sqlite3_column_int64(q, 3));
    }
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return rc == SQLITE_ROW ? TRACER_OK : mt_db_error(&r->db, rc, "thin older samples");
}

/* Both sides of a mark, for growth between marks is measured there. */
static int pick_marked(struct mt_recorder *r, bool *marked)
{
    struct mt_bucket *b = &r->retention.bucket;
    sqlite3_stmt *q = r->sql[MT_SQL_THIN_MARKED];
    int rc;

    mt_db_bind(q, 1, b->run);
    mt_db_bind(q, 2, b->ids[0]);
    mt_db_bind(q, 3, b->ids[b->n - 1]);
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        int now = place_of(b, sqlite3_column_int64(q, 0));

        if (now != NONE) {
            marked[now] = true;
            marked[now + 1 < b->n ? now + 1 : now] = true;
        }
    }
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return mt_db_error(&r->db, rc, "thin older samples");
}

/* The samples that stay with the first `n_picks` of each type's wishes; how many. */
static int choose(struct mt_bucket *b, const struct picks *picks, int n_picks, const bool *marked)
{
    int n = 0;

    for (int i = 0; i < b->n; i++)
        b->stays[i] = i == 0 || i == b->n - 1 || (marked && (marked[i] || b->asked[i]));
    for (int t = 0; t < picks->n; t++)
        for (int i = 0; i < n_picks; i++)
            if (picks->place[t][i] != NONE)
                b->stays[picks->place[t][i]] = true;
    for (int i = 0; i < b->n; i++)
        n += b->stays[i];
    return n;
}

static int load_samples(struct mt_recorder *r, int64_t after, int n)
{
    struct mt_bucket *b = &r->retention.bucket;
    sqlite3_stmt *q = r->sql[MT_SQL_THIN_BUCKET];
    int rc;

    b->n = 0;
    mt_db_bind(q, 1, after);
    mt_db_bind(q, 2, n);
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        if (b->n && sqlite3_column_int64(q, 1) != b->run)
            break;
        b->run = sqlite3_column_int64(q, 1);
        b->asked[b->n] = (sqlite3_column_int64(q, 2) & MT_SAMPLE_EXPLICIT) != 0;
        b->ids[b->n++] = sqlite3_column_int64(q, 0);
    }
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return mt_db_error(&r->db, rc == SQLITE_ROW ? SQLITE_OK : rc, "thin older samples");
}

/* Half of a bucket goes at least; what the types want less is given up first. */
int mt_thin_load(struct mt_recorder *r, int64_t after, int n)
{
    struct mt_bucket *b = &r->retention.bucket;
    struct picks picks;
    bool marked[MT_BUCKET_SAMPLES] = {false};
    int error = load_samples(r, after, n);
    int n_picks = PICKS;

    b->at = b->removed = 0;
    picks.n = 0;
    if (error || !b->n)
        return error;
    error = pick(r, &picks);
    if (!error)
        error = pick_marked(r, marked);
    if (error) {
        b->n = 0;
        return error;
    }
    if (choose(b, &picks, n_picks, marked) <= b->n / 2)
        return TRACER_OK;
    while (choose(b, &picks, n_picks, NULL) > b->n / 2 && n_picks > 0)
        n_picks--;
    return TRACER_OK;
}

/* In this order: what the later ones look up is still there. */
static int close_gap(struct mt_recorder *r, int64_t from, int64_t to)
{
    static const enum mt_statement steps[] = {
        MT_SQL_THIN_LEVELS,  MT_SQL_MOVE_LEVELS,   MT_SQL_THIN_COUNTERS, MT_SQL_MOVE_COUNTERS,
        MT_SQL_LINK_REGIONS, MT_SQL_PART_REGIONS,  MT_SQL_THIN_REGIONS,  MT_SQL_BEGIN_REGIONS,
        MT_SQL_END_REGIONS,  MT_SQL_THIN_MODULES,  MT_SQL_BEGIN_MODULES, MT_SQL_END_MODULES,
        MT_SQL_THIN_THREADS, MT_SQL_BEGIN_THREADS, MT_SQL_END_THREADS,   MT_SQL_MOVE_MARKS,
        MT_SQL_THIN_FOLD,    MT_SQL_THIN_SAMPLES,
    };
    int error = TRACER_OK;

    for (size_t i = 0; i < MT_COUNT_OF(steps) && !error; i++) {
        sqlite3_stmt *q = r->sql[steps[i]];

        mt_db_bind(q, 1, r->retention.bucket.run);
        mt_db_bind(q, 2, from);
        mt_db_bind(q, 3, to);
        error = mt_recorder_run(r, steps[i], "thin older samples");
        if (steps[i] == MT_SQL_THIN_REGIONS || steps[i] == MT_SQL_THIN_MODULES ||
            steps[i] == MT_SQL_THIN_THREADS)
            r->retention.n_ended += sqlite3_changes(r->db.handle);
    }
    return error;
}

int mt_thin_some(struct mt_recorder *r)
{
    struct mt_bucket *b = &r->retention.bucket;
    int error = TRACER_OK, removed = 0;

    while (b->at < b->n - 1 && removed < SAMPLES_A_STEP && !error) {
        int next = b->at + 1;

        while (!b->stays[next])
            next++;
        if (next > b->at + 1)
            error = close_gap(r, b->ids[b->at], b->ids[next]);
        removed += next - b->at - 1;
        b->at = next;
    }
    b->removed += removed;
    return error;
}
