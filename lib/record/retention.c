/* SPDX-License-Identifier: MIT */
/* record: keeps a long recording small. In: how many samples and bytes there are. Out: older
 * samples thinned, bucket after bucket of 64, round and round: the older, the thinner.
 * Called by recorder.c after a commit, one bucket at a time, so that a tick stays short. What
 * stays is exact, for levels are absolute; of each type a bucket keeps first, last, least, most
 * and the largest rise. Must not touch the newest samples: the sampler goes on from there. */
#include "base/error.h"
#include "record/recorder_private.h"

struct bucket {
    int64_t run, first, last;
    int64_t n; /* samples in it */
};

bool mt_retention_due(const struct mt_recorder *r)
{
    if (r->max_file_bytes && r->file_bytes > r->max_file_bytes / 4 * 3)
        return true;
    return r->n_samples > r->keep;
}

/* The next bucket of samples that are old enough; n is 0 at the end. */
static int next_bucket(struct mt_recorder *r, struct bucket *out)
{
    sqlite3_stmt *q = r->sql[MT_SQL_THIN_BUCKET];
    int rc;

    mt_db_bind(q, 1, r->thin_after);
    rc = sqlite3_step(q);
    out->n = 0;
    if (rc == SQLITE_ROW) {
        out->run = sqlite3_column_int64(q, 0);
        out->first = sqlite3_column_int64(q, 1);
        out->last = sqlite3_column_int64(q, 2);
        out->n = sqlite3_column_int64(q, 3);
    }
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return mt_db_error(&r->db, rc, "thin older samples");
}

static int thin(struct mt_recorder *r, const struct bucket *b)
{
    static const enum mt_statement steps[] = {
        MT_SQL_THIN_LEVELS, MT_SQL_THIN_COUNTERS, MT_SQL_THIN_REGIONS, MT_SQL_THIN_PICK,
        MT_SQL_THIN_OWNERS, MT_SQL_THIN_FOLD,     MT_SQL_THIN_SAMPLES, MT_SQL_THIN_CLEAR,
    };
    int64_t removed = 0;
    int error = TRACER_OK;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !error; i++) {
        sqlite3_stmt *q = r->sql[steps[i]];
        int n = sqlite3_bind_parameter_count(q);

        if (n >= 1)
            mt_db_bind(q, 1, b->run);
        if (n >= 2)
            mt_db_bind(q, 2, b->first);
        if (n >= 3)
            mt_db_bind(q, 3, b->last);
        error = mt_recorder_run(r, steps[i], "thin older samples");
        if (steps[i] == MT_SQL_THIN_SAMPLES)
            removed = sqlite3_changes(r->db.handle);
    }
    if (!error)
        r->n_samples -= removed;
    return error;
}

/* A quarter of what there is, the newest, is left alone. */
static bool too_new(const struct mt_recorder *r, const struct bucket *b)
{
    int64_t protect = (r->n_samples < r->keep ? r->n_samples : r->keep) / 4;

    return b->n == 0 || b->last > r->committed.sample - protect;
}

static int in_transaction(struct mt_recorder *r, const struct bucket *b)
{
    int error = mt_recorder_run(r, MT_SQL_BEGIN, "thin older samples");

    if (error)
        return error;
    error = thin(r, b);
    if (!error)
        error = mt_recorder_run(r, MT_SQL_COMMIT, "thin older samples");
    if (error && !sqlite3_get_autocommit(r->db.handle))
        mt_db_script(&r->db, "ROLLBACK", "give up thinning");
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

int mt_retention_step(struct mt_recorder *r)
{
    struct bucket b;
    int error = next_bucket(r, &b);

    if (!error && too_new(r, &b)) {
        r->thin_after = 0;
        return TRACER_OK;
    }
    if (!error && b.n < 3) { /* the rest of a run: nothing between first and last */
        r->thin_after = b.last;
        return TRACER_OK;
    }
    if (!error)
        error = in_transaction(r, &b);
    if (!error)
        error = vacuum(r);
    if (!error && r->wal) /* what thinning wrote must not count against the cap */
        sqlite3_wal_checkpoint_v2(r->db.handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (error)
        return mt_error_set(TRACER_EDB, "%s", mt_error_detail());
    r->thin_after = b.last;
    mt_recorder_measure(r);
    return TRACER_OK;
}
