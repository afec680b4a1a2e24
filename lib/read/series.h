/* SPDX-License-Identifier: MIT */
/* read: the series of a file: one value a point of time for each type, in bounded memory. */
#ifndef MT_READ_SERIES_H
#define MT_READ_SERIES_H

#include <stdbool.h>

#include "read/query.h"
#include "read/verdict/verdict.h"

#define MT_SERIES_POINTS 131072
#define MT_SERIES_LIVES 1024
#define MT_SERIES_MARKS 16384
#define MT_SERIES_MOST (INT64_C(1) << 56) /* bytes: no address space is larger */
#define MT_SERIES_REGIONS_MOST (INT64_C(1) << 32)
#define MT_SERIES_LABEL 64 /* different labels of marks */

/* What a series is of: type and this column, or another number of the process. */
enum mt_series_of {
    MT_SERIES_HELD,
    MT_SERIES_COMMITTED,
    MT_SERIES_SIZE,
    MT_SERIES_HUGE,
    MT_SERIES_LAZY_FREE,
    MT_SERIES_BLOCKS,
    MT_SERIES_WS_SHAREABLE,
    MT_SERIES_COUNTER, /* `type` is the counter's id */
    MT_SERIES_REGIONS
};

/* Some ticks of one run: one row of several ticks, or several rows. */
struct mt_series_slot {
    int64_t first, last; /* ids of samples */
};

struct mt_series_life {
    int64_t run;
    int64_t start_ns; /* wall clock */
    int64_t ticks;
    size_t first_slot, end_slot;
};

struct mt_series_type {
    int64_t id; /* in the file */
    char name[64];
};

struct mt_series {
    size_t n; /* points: per_slot of each slot, in order */
    size_t n_slots;
    unsigned per_slot; /* 1, or 2: the least and the most of the slot, as they came */
    int64_t *t_ns;     /* of each point, wall clock, rising strictly */
    struct mt_series_slot *slots;
    unsigned n_lives;
    struct mt_series_life lives[MT_SERIES_LIVES];
    int64_t starts_ns[MT_SERIES_LIVES];
    unsigned n_types;
    struct mt_series_type types[MT_VERDICT_TYPES];
    size_t n_marks;
    struct mt_verdict_marker marks[MT_SERIES_MARKS];
    unsigned n_labels;
    char labels[MT_SERIES_LABEL][256];
    int64_t since_ns, until_ns, page_bytes;
    int64_t cgroup_bytes, host_bytes, address_bytes, data_bytes, max_regions; /* 0 = unknown */
};

/* Samples, types, marks and limits; EINVAL when run or type are not there. */
int mt_series_open(tracer_reader *r, const tracer_verdict_options *o, struct mt_series **out);
void mt_series_free(struct mt_series *s);

/* Bytes or a count in column `i`, within ±MT_SERIES_MOST whatever the file says. */
int64_t mt_series_bytes(sqlite3_stmt *q, int i);

/* Fills `out`, one value a point, MT_VERDICT_UNKNOWN where it is. */
int mt_series_load(tracer_reader *r, const struct mt_series *s, enum mt_series_of of, int64_t type,
                   int64_t *out);

#endif
