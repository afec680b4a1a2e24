/* SPDX-License-Identifier: MIT */
/* read: memory that got another name.
 * In: the series of all types. Out: the same series, each piece of memory counted all its life for
 * the type that it was found to be in the end: an allocator's area is told from a mapping of the
 * program's own by what lies in it, which is looked at less often than sizes are. Sums over the
 * types stay as they are.
 * Called by reader_verdict.c, before anything is judged. Must not touch what merely falls. */
#include <math.h>

#include "read/judging.h"

#define LEAST_PAGES 16 /* less is no matter of growth */
#define UNUSUAL 8      /* mean changes: what comes and goes all the time is no move */
#define LOSS 32        /* of what moves at most this part is other growth or fall meanwhile */
#define MOST_PASSES 64 /* over a series: a bound for files in which everything moves always */

struct moves {
    const struct mt_judging *j;
    size_t from, at; /* of the life: its first point; the point where something moved */
    size_t work;     /* points that may still be looked at */
    int64_t least[MT_VERDICT_TYPES]; /* a change that is a move */
};

static bool known(const struct moves *m, unsigned type)
{
    const int64_t *v = m->j->values[type];

    return v[m->at] != MT_VERDICT_UNKNOWN && v[m->at - 1] != MT_VERDICT_UNKNOWN;
}

static int64_t change(const struct moves *m, unsigned type)
{
    const int64_t *v = m->j->values[type];

    return known(m, type) ? v[m->at] - v[m->at - 1] : 0;
}

/* The type that took what `giver` lost, the one that comes nearest; n_types = none did. */
static unsigned find_taker(const struct moves *m, unsigned giver)
{
    int64_t lost = -change(m, giver), nearest = lost / LOSS;
    unsigned best = m->j->s->n_types;

    for (unsigned k = 0; k < m->j->s->n_types; k++) {
        int64_t left = change(m, k) - lost;

        if (left < 0)
            left = -left;
        if (k != giver && left <= nearest && change(m, k) >= m->least[k]) {
            nearest = left;
            best = k;
        }
    }
    return best;
}

/* Backwards from the move: what the giver held without a break until then, and no longer after. */
static void rename_past(struct moves *m, unsigned giver, unsigned taker)
{
    int64_t *from = m->j->values[giver], *to = m->j->values[taker], stays = from[m->at];
    int64_t moved = from[m->at - 1] - stays;

    for (size_t i = m->at; i-- > m->from && m->work > 0; m->work--) {
        if (from[i] == MT_VERDICT_UNKNOWN || to[i] == MT_VERDICT_UNKNOWN)
            continue;
        if (from[i] - stays < moved)
            moved = from[i] - stays;
        if (moved <= 0)
            return;
        from[i] -= moved;
        to[i] += moved;
    }
}

/* Of each type in the life at hand. */
static void find_least(struct moves *m, size_t end)
{
    int64_t page = m->j->s->page_bytes > 0 ? m->j->s->page_bytes : 4096;

    for (unsigned k = 0; k < m->j->s->n_types; k++) {
        double sum = 0;
        size_t n = 0;

        for (m->at = m->from + 1; m->at < end; m->at++) {
            if (!known(m, k))
                continue;
            sum += fabs((double)change(m, k));
            n++;
        }
        m->least[k] = n > 0 ? (int64_t)(UNUSUAL * sum / (double)n) : 0;
        if (m->least[k] < LEAST_PAGES * page)
            m->least[k] = LEAST_PAGES * page;
    }
}

static void join_life(struct moves *m, size_t end)
{
    find_least(m, end);
    for (m->at = m->from + 1; m->at < end; m->at++)
        for (unsigned k = 0; k < m->j->s->n_types; k++) {
            unsigned taker;

            if (change(m, k) > -m->least[k])
                continue;
            taker = find_taker(m, k);
            if (taker < m->j->s->n_types)
                rename_past(m, k, taker);
        }
}

void mt_judging_join_moves(const struct mt_judging *j)
{
    const struct mt_series *s = j->s;

    for (unsigned k = 0; k < s->n_lives; k++) {
        struct moves m = {
            .j = j, .from = s->lives[k].first_slot * s->per_slot, .work = MOST_PASSES * s->n};

        join_life(&m, s->lives[k].end_slot * s->per_slot);
    }
}
