/* SPDX-License-Identifier: MIT */
/* The texts `status` and `stat` of a process → counters. */
#ifndef MT_SOURCE_LINUX_STATUS_H
#define MT_SOURCE_LINUX_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/region.h"

/* A line of status that is of use, by the number that its reader has for it. */
struct mt_status_key {
    const char *name;
    unsigned factor; /* bytes or pieces of one of its units */
    unsigned id;
};

/* Which of `n` keys a line has, with its value; NULL = none, or not understood. */
const struct mt_status_key *mt_status_value(const char *line, size_t n_bytes,
                                            const struct mt_status_key *of, unsigned n,
                                            uint64_t *out);

/* One line of status: adds what it knows. A zombie has no Vm lines: they stay unknown. */
void mt_status_line(const char *line, size_t n_bytes, struct mt_counters *out);

/* The one line of stat: faults and CPU time. False = not understood, `out` untouched. */
bool mt_status_stat(const char *line, size_t n_bytes, uint64_t ticks_per_second,
                    struct mt_counters *out);

/* Whether a counter was read. */
bool mt_status_knows(const struct mt_counters *counters, enum mt_counter counter);

/* Sets a counter and its bit. */
void mt_status_set(struct mt_counters *counters, enum mt_counter counter, uint64_t value);

#endif
