/* SPDX-License-Identifier: MIT */
/* Moments: what a user calls a time, a mark or a sample → a sample of the file.
 *
 *     #12                       sample 12
 *     loaded, loaded#2          the last mark of that label in the run, the second one
 *     start, end                the first and the last sample of the run
 *     12.5, 90s, 1m30s          seconds since the run's start
 *     2026-11-29 12:00:00       the wall clock, UTC
 *
 * tried in this order. */
#ifndef MEMTRACER_TOOLS_MOMENT_H
#define MEMTRACER_TOOLS_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "answer.h"

struct moment {
    int64_t run;
    int64_t sample;
    int64_t t_ns;     /* of the sample, or of the mark when it is one */
    int64_t asked_ns; /* the moment itself, which may lie between two samples */
    int64_t wall_ns;  /* of the sample */
    bool is_mark;
};

/* The run asked for (0 = the newest that has a sample) and the moment in it; text NULL = end.
 * A time is the newest sample at or before it (the first one before all); a mark the newest
 * sample at or before it, or the first one when there was none. */
int moment_resolve(struct answer *a, const char *text, int64_t run, struct moment *out);

/* The run asked for, 0 = the newest that has a sample. */
int moment_run(struct answer *a, int64_t run, int64_t *out_run);

/* Turns a mark into the sample that shows its effect: the first one after it, unless the time
 * between `since_ns` and the mark was looked at in its second half. As growth_between_marks. */
int moment_after_mark(struct answer *a, int64_t since_ns, struct moment *mark);

/* Prints "run 1, sample 12, 12.500 s, 2026-11-29 12:00:00 UTC", or writes the keys run, sample,
 * t_ns, wall_ns. */
void moment_print(struct answer *a, const char *before, const struct moment *m);

#endif
