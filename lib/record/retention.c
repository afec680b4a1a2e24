/* SPDX-License-Identifier: MIT */
/* record: keeps a long recording small. In: how many samples, marks and bytes there are. Out: small
 * steps that thin the oldest bucket of the first tier that is full; pages given back.
 * Called by recorder.c after a commit and when the file is full. Must not touch the newest samples:
 * the sampler goes on from there. The rules stand at table tier in schema/tables.sql. */
#include "base/compiler.h"
#include "base/error.h"
#include "record/recorder_private.h"

#define PAGE_BYTES 4096
#define LEAST_KEPT 64 /* newest samples, whatever the cap */
#define LEAST_TIER 32
#define TIER_SHARE 8 /* an older tier has this part of the newest */
#define SWEEP_AFTER 4096
#define STEP_SAMPLES 64
#define STEPS_WHEN_PRESSED 8
#define SLICES_A_STEP 16
#define LAST_TIER (MT_TIERS - 1)
#define LEAST_EVENTS 1024
#define STEP_EVENTS 2048 /* half of what a step removes */

static int64_t n_samples(const struct mt_retention *t)
{
    int64_t n = 0;

    for (int i = 0; i < MT_TIERS; i++)
        n += t->n_tier[i];
    return n;
}

/* The cap as a share: pages in use may be 5/8 of it; the rest is for the -wal and free pages. */
static bool pressed(const struct mt_recorder *r, int64_t *out_used, int64_t *out_limit)
{
    *out_limit = (int64_t)(r->max_file_bytes / PAGE_BYTES) / 8 * 5;
    *out_used = r->retention.pages - r->retention.free_pages;
    return r->max_file_bytes && *out_used > *out_limit;
}

/* Under the cap the oldest events go before any sample does. */
static bool events_go(const struct mt_recorder *r)
{
    int64_t used, limit, kept = mt_events_kept(&r->retention);

    return kept > r->retention.keep_events || (kept > LEAST_EVENTS && pressed(r, &used, &limit));
}

/* How many samples the newest tier may have. */
static int64_t room_of_newest(const struct mt_recorder *r)
{
    const struct mt_retention *t = &r->retention;
    int64_t used, limit, room;

    if (!pressed(r, &used, &limit) || events_go(r))
        return t->keep;
    room = n_samples(t) * limit / used * TIER_SHARE / (TIER_SHARE + MT_TIERS - 1);
    if (room > t->keep)
        return t->keep;
    return room < LEAST_KEPT ? LEAST_KEPT : room;
}

static int64_t room_of(int64_t newest, int tier)
{
    int64_t room = newest / TIER_SHARE;

    if (tier == 0)
        return newest;
    return room < LEAST_TIER ? LEAST_TIER : room;
}

static int bucket_samples(int64_t room)
{
    if (room / 2 > MT_BUCKET_SAMPLES)
        return MT_BUCKET_SAMPLES;
    return room / 2 < LEAST_TIER ? LEAST_TIER : (int)(room / 2);
}

/* The first tier that is full; MT_TIERS = none. */
static int full_tier(const struct mt_recorder *r, int *out_bucket)
{
    const struct mt_retention *t = &r->retention;
    int64_t newest = room_of_newest(r);

    for (int i = 0; i < MT_TIERS; i++) {
        int64_t room = room_of(newest, i);

        *out_bucket = bucket_samples(room);
        if (i == LAST_TIER && room < t->last_full)
            room = t->last_full;
        if (t->n_tier[i] >= room + *out_bucket)
            return i;
    }
    return MT_TIERS;
}

/* Marks may be thinned up to here: so many of the newest row numbers are left alone. -1 = none. */
static int64_t marks_protected(const struct mt_recorder *r)
{
    const struct mt_retention *t = &r->retention;
    int64_t used, limit;

    if (t->n_marks > t->keep_marks || (pressed(r, &used, &limit) && t->n_marks > n_samples(t)))
        return t->n_marks / 4;
    return -1;
}

/* Where pages are free they are used again; many are given back, and all of them under the cap. */
static bool shrinks(const struct mt_recorder *r)
{
    const struct mt_retention *t = &r->retention;
    bool tight = r->max_file_bytes && r->file_bytes > r->max_file_bytes / 4 * 3;

    return t->free_pages > t->pages / 8 + 64 || (tight && t->free_pages > 0);
}

static bool names_due(const struct mt_recorder *r)
{
    int64_t used, limit, many = SWEEP_AFTER;

    if (!pressed(r, &used, &limit))
        many += (r->at.region_max + r->at.thread_max) / 4;
    return r->retention.n_ended > many;
}

/* Each event is read as often as one is removed, and no oftener. */
static bool stacks_due(const struct mt_retention *t)
{
    return t->n_events_gone > SWEEP_AFTER && t->n_events_gone > mt_events_kept(t);
}

static bool sweep_due(const struct mt_recorder *r)
{
    const struct mt_retention *t = &r->retention;

    for (int i = 0; i < MT_SWEEPS; i++)
        if (t->wanted[i])
            return true;
    return t->sweep.active || names_due(r) || stacks_due(t);
}

/* Samples are as few as they may be, and yet it is too much: then the lists of what ended go. */
static bool ended_go(const struct mt_recorder *r)
{
    int64_t used, limit;
    int n;

    return pressed(r, &used, &limit) && !events_go(r) && !r->retention.bucket.n &&
           full_tier(r, &n) == MT_TIERS;
}

bool mt_retention_due(const struct mt_recorder *r)
{
    int n;

    return r->retention.bucket.n || full_tier(r, &n) < MT_TIERS || marks_protected(r) >= 0 ||
           sweep_due(r) || shrinks(r) || ended_go(r) || events_go(r);
}

static int count_tier(struct mt_recorder *r, int64_t after, int64_t upto, int64_t *out)
{
    sqlite3_stmt *q = r->sql[MT_SQL_TIER_COUNT];

    mt_db_bind(q, 1, after);
    mt_db_bind(q, 2, upto);
    return mt_db_run_number(&r->db, q, "look at its tiers", out);
}

static int open_tiers(struct mt_recorder *r)
{
    struct mt_retention *t = &r->retention;
    int64_t upto = INT64_MAX;
    int error = TRACER_OK;

    for (int i = 1; i < MT_TIERS && !error; i++) {
        mt_db_bind(r->sql[MT_SQL_TIER_UPTO], 1, i);
        error =
            mt_db_run_number(&r->db, r->sql[MT_SQL_TIER_UPTO], "look at its tiers", &t->upto[i]);
    }
    for (int i = 0; i < MT_TIERS && !error; i++) {
        error = count_tier(r, i + 1 < MT_TIERS ? t->upto[i + 1] : 0, upto, &t->n_tier[i]);
        upto = i + 1 < MT_TIERS ? t->upto[i + 1] : 0;
    }
    return error;
}

int mt_retention_open(struct mt_recorder *r)
{
    struct mt_retention *t = &r->retention;
    int error = mt_db_number(&r->db, "SELECT value FROM setting WHERE name = 'thin_after_samples'",
                             INT64_MAX, &t->keep);

    if (!error)
        error = mt_db_number(&r->db, "SELECT value FROM setting WHERE name = 'keep_marks'",
                             INT64_MAX, &t->keep_marks);
    if (!error)
        error = mt_db_run_number(&r->db, r->sql[MT_SQL_MARK_COUNT], "look at it", &t->n_marks);
    if (t->keep < LEAST_KEPT)
        t->keep = LEAST_KEPT;
    if (!error)
        error = mt_events_open(r);
    return error ? error : open_tiers(r);
}

static int move_bucket(struct mt_recorder *r, int64_t upto, int tier)
{
    sqlite3_stmt *q = r->sql[MT_SQL_TIER];

    mt_db_bind(q, 1, tier);
    mt_db_bind(q, 2, upto);
    return mt_recorder_run(r, MT_SQL_TIER, "thin older samples");
}

/* Some gaps of the bucket at work; at its end it belongs to the next tier. */
static int thin_step(struct mt_recorder *r)
{
    struct mt_bucket *b = &r->retention.bucket;
    int next = b->tier < LAST_TIER ? b->tier + 1 : b->tier;
    int error = mt_thin_some(r);

    if (!error && b->at >= b->n - 1 && next > b->tier)
        error = move_bucket(r, b->ids[b->n - 1], next);
    return error;
}

/* What a step changed in numbers, once it is committed. */
static void thin_done(struct mt_recorder *r)
{
    struct mt_retention *t = &r->retention;
    struct mt_bucket *b = &t->bucket;
    int next = b->tier < LAST_TIER ? b->tier + 1 : b->tier;

    if (!b->n || b->at < b->n - 1)
        return;
    t->n_tier[b->tier] -= b->n;
    t->n_tier[next] += b->n - b->removed;
    if (next > b->tier)
        t->upto[next] = b->ids[b->n - 1];
    else
        t->last_after = b->removed ? 0 : b->ids[b->n - 1];
    b->n = 0;
}

/* The last tier is gone through from its oldest sample on as long as that helps; short runs stay.
 */
static void judge_last(struct mt_retention *t)
{
    struct mt_bucket *b = &t->bucket;

    if (b->n && b->ids[b->n - 1] <= t->upto[LAST_TIER])
        return;
    b->n = 0;
    t->last_after = 0;
    t->last_full = t->n_tier[LAST_TIER];
}

/* The sampler's newest sample is never part of a bucket. */
static int begin_bucket(struct mt_recorder *r)
{
    struct mt_retention *t = &r->retention;
    struct mt_bucket *b = &t->bucket;
    int n, tier = full_tier(r, &n), error;

    if (tier == MT_TIERS)
        return TRACER_OK;
    error = mt_thin_load(r, tier < LAST_TIER ? t->upto[tier + 1] : t->last_after, n);
    b->tier = tier;
    if (!error && tier == LAST_TIER)
        judge_last(t);
    if (!error && b->n && b->ids[b->n - 1] >= r->committed.sample)
        b->n = 0;
    return error;
}

/* When events have gone, all that they used is looked through, one after another. */
static int sweep(struct mt_recorder *r)
{
    struct mt_retention *t = &r->retention;
    int error = TRACER_OK;

    for (int i = 0; i < SLICES_A_STEP && !error && sweep_due(r); i++) {
        if (stacks_due(t)) {
            for (int what = 0; what < MT_SWEEPS; what++)
                t->wanted[what] = true;
            t->n_events_gone = 0;
        }
        error = mt_sweep_some(r);
    }
    return error;
}

static int work(struct mt_recorder *r)
{
    int64_t protect = marks_protected(r);
    int error = TRACER_OK;

    if (r->retention.bucket.n)
        error = thin_step(r);
    if (!error && protect >= 0)
        error = mt_thin_marks(r, protect);
    if (!error && ended_go(r))
        error = mt_thin_ended(r);
    if (!error && events_go(r))
        error = mt_thin_events(r);
    return error ? error : sweep(r);
}

static int in_transaction(struct mt_recorder *r)
{
    int error = mt_recorder_run(r, MT_SQL_BEGIN, "thin older samples");

    if (error)
        return error;
    error = work(r);
    if (!error)
        error = mt_recorder_run(r, MT_SQL_COMMIT, "thin older samples");
    if (!error) {
        thin_done(r);
        return TRACER_OK;
    }
    if (!sqlite3_get_autocommit(r->db.handle))
        mt_db_script(&r->db, "ROLLBACK", "give up thinning");
    r->retention.bucket.n = 0; /* it is read anew */
    r->retention.sweep.active = false;
    open_tiers(r);
    mt_events_open(r);
    return error;
}

/* Gives free pages back to the file system; the rows of the pragma are its way to go on. */
static int vacuum(struct mt_recorder *r)
{
    sqlite3_stmt *q = r->sql[MT_SQL_VACUUM];
    int rc;

    do
        rc = sqlite3_step(q);
    while (rc == SQLITE_ROW);
    sqlite3_reset(q);
    return mt_db_error(&r->db, rc, "shrink it");
}

/* What a step can make less; a bucket that was begun counts, too. */
static int64_t amount(const struct mt_retention *t)
{
    return n_samples(t) + t->n_marks + t->free_pages + t->n_ended + mt_events_kept(t);
}

int mt_retention_step(struct mt_recorder *r, bool *out_progress)
{
    struct mt_retention *t = &r->retention;
    int64_t before = amount(t);
    bool begun = t->bucket.n > 0;
    int error = TRACER_OK;

    if (!begun)
        error = begin_bucket(r);
    if (!error &&
        (t->bucket.n || marks_protected(r) >= 0 || sweep_due(r) || ended_go(r) || events_go(r)))
        error = in_transaction(r);
    mt_recorder_measure(r);
    if (!error && shrinks(r))
        error = vacuum(r);
    mt_recorder_checkpoint(r);
    mt_recorder_measure(r);
    *out_progress = begun || t->bucket.n || t->sweep.active || amount(t) != before;
    return error ? mt_error_set(TRACER_EDB, "%s", mt_error_detail()) : TRACER_OK;
}

int mt_retention_after_commit(struct mt_recorder *r)
{
    int64_t steps = 1 + (r->retention.added + r->retention.added_marks) * 2 / STEP_SAMPLES;
    int64_t used, limit;
    bool progress = true;
    int error = TRACER_OK;

    steps += r->retention.added_events / STEP_EVENTS;
    if (pressed(r, &used, &limit))
        steps += STEPS_WHEN_PRESSED;
    r->retention.added = r->retention.added_marks = r->retention.added_events = 0;
    while (steps-- > 0 && progress && !error && mt_retention_due(r))
        error = mt_retention_step(r, &progress);
    return error;
}

void mt_retention_rolled_back(struct mt_recorder *r)
{
    struct mt_retention *t = &r->retention;

    t->n_tier[0] -= t->added;
    t->n_marks -= t->added_marks;
    t->added = t->added_marks = 0;
    if (t->added_events)
        mt_events_open(r);
    t->added_events = 0;
}
