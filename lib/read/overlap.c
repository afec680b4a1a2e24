/* SPDX-License-Identifier: MIT */
/* read: are these runs lives of one program?
 * In: the lives of a series, in order of their start. Out: an error that names two which lie side
 * by side: their values would alternate on one time axis. A restart may begin before its
 * predecessor has ended, but by less than one interval.
 * Called by series.c. Must not choose between the runs. */
#include "base/error.h"
#include "read/series.h"

static int64_t interval_of(const struct mt_series_life *life)
{
    return life->ticks > 1 ? (life->last_ns - life->first_ns) / (life->ticks - 1) : INT64_MAX;
}

static bool are_side_by_side(const struct mt_series_life *a, const struct mt_series_life *b)
{
    const struct mt_series_life *early = a->first_ns <= b->first_ns ? a : b;
    const struct mt_series_life *late = early == a ? b : a;
    int64_t interval = interval_of(a) < interval_of(b) ? interval_of(a) : interval_of(b);

    return early->last_ns - late->first_ns > interval;
}

int mt_series_overlap(const tracer_reader *r, const struct mt_series *s)
{
    unsigned latest = 0; /* the one that ends last of all so far */

    for (unsigned k = 1; k < s->n_lives; k++) {
        const struct mt_series_life *a = &s->lives[latest], *b = &s->lives[k];

        if (are_side_by_side(a, b))
            return mt_error_set(TRACER_EOVERLAP,
                                "runs %lld and %lld of %s overlap in time, they are no lives of "
                                "one program: judge each run by its number",
                                (long long)a->run, (long long)b->run, r->path);
        latest = b->last_ns > a->last_ns ? k : latest;
    }
    return TRACER_OK;
}
