/* SPDX-License-Identifier: MIT */
/* record: bounds exact events: the oldest go. In: table event. Out: fewer of its rows; event_loss
 * says how many a run lacks. Called by retention.c, inside its transaction, and when an event was
 * written. Rows of event are numbered as they come, so that the oldest are a range. */
#include "base/error.h"
#include "record/recorder_private.h"

#define EVENTS_A_STEP 4096

static int read_ends(struct mt_recorder *r)
{
    struct mt_retention *t = &r->retention;
    int error;

    t->event_first = t->event_last = 0;
    error =
        mt_db_run_number(&r->db, r->sql[MT_SQL_EVENT_FIRST], "look at its events", &t->event_first);
    if (error)
        return error;
    return mt_db_run_number(&r->db, r->sql[MT_SQL_EVENT_LAST], "look at its events",
                            &t->event_last);
}

int mt_events_open(struct mt_recorder *r)
{
    int error = mt_db_number(&r->db, "SELECT value FROM setting WHERE name = 'keep_events'",
                             INT64_MAX, &r->retention.keep_events);

    return error ? error : read_ends(r);
}

int64_t mt_events_kept(const struct mt_retention *t)
{
    return t->event_last ? t->event_last - t->event_first + 1 : 0;
}

void mt_events_added(struct mt_recorder *r, int64_t row)
{
    struct mt_retention *t = &r->retention;

    if (!t->event_last)
        t->event_first = row;
    t->event_last = row;
    t->added_events++;
}

/* The same for all of these: ?1 is the first event that stays. */
static int run_upto(struct mt_recorder *r, enum mt_statement id, int64_t stays, int64_t loss)
{
    mt_db_bind(r->sql[id], 1, stays);
    if (loss >= 0)
        mt_db_bind(r->sql[id], 2, loss);
    return mt_recorder_run(r, id, "remove the oldest events");
}

int mt_thin_events(struct mt_recorder *r)
{
    struct mt_retention *t = &r->retention;
    int64_t stays = t->event_first + EVENTS_A_STEP, loss = 0;
    int error;

    if (stays > t->event_last)
        stays = t->event_last;
    error = mt_db_run_number(&r->db, r->sql[MT_SQL_LOSS_LAST], "remove the oldest events", &loss);
    if (!error)
        error = run_upto(r, MT_SQL_LOSS_SUM, stays, -1);
    if (!error)
        error = run_upto(r, MT_SQL_LOSS_SUMMED, stays, loss);
    if (!error)
        error = run_upto(r, MT_SQL_EVENTS_GONE, stays, -1);
    if (error)
        return error;
    t->n_events_gone += stays - t->event_first;
    return read_ends(r);
}
