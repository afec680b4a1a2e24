/* SPDX-License-Identifier: MIT */
/* read: the series of a file: one value a point of time for each type, in bounded memory. */
#ifndef MT_READ_SERIES_H
#define MT_READ_SERIES_H

#include <stdbool.h>

#include "read/query.h"
#include "read/verdict/verdict.h"

#define MT_SERIES_POINTS 131072  /* of one type at most … */
#define MT_SERIES_VALUES 2097152 /* … and of all types together */
#define MT_SERIES_LIVES 1024
#define MT_SERIES_MARKS 16384
#define MT_SERIES_LABEL 64 /* different labels of marks */

/* Numbers of a file that anyone may have written are brought within bounds in which their sums and
 * differences fit. No address space is larger. */
#define MT_SERIES_BYTES_MOST (INT64_C(1) << 56)
#define MT_SERIES_REGIONS_MOST (INT64_C(1) << 32)

static inline int64_t mt_series_within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static inline int64_t mt_series_bytes(int64_t value)
{
    return mt_series_within(value, -MT_SERIES_BYTES_MOST, MT_SERIES_BYTES_MOST);
}

/* Some ticks of one run: one row of several ticks, or several rows. */
struct mt_series_slot {
    int64_t first, last; /* ids of samples */
};

struct mt_series_life {
    int64_t run;
    int64_t start_ns;    /* wall clock */
    int64_t first, last; /* ids of its samples */
    int64_t ticks;
    int64_t first_ns, last_ns; /* of its ticks, wall clock */
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
    int64_t *regions;  /* number of mappings at each point */
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

/* Samples, types, marks and limits; EINVAL when run or type are not there, EOVERLAP when runs that
 * were to be joined are no lives of one program. */
int mt_series_open(tracer_reader *r, const tracer_verdict_options *o, struct mt_series **out);
void mt_series_free(struct mt_series *s);

/* overlap.c: EOVERLAP with a sentence when two lives lie side by side. */
int mt_series_overlap(const tracer_reader *r, const struct mt_series *s);

/* One pass over a type's rows. Fills `values` with `measure` and, where it is not NULL, `sizes`
 * with its address space: a value a point, MT_VERDICT_UNKNOWN where it is. */
int mt_series_load(tracer_reader *r, const struct mt_series *s, int64_t type, uint32_t measure,
                   int64_t *values, int64_t *sizes);

/* Parts of the newest life, by ids of samples: what was there before the growth is seen from
 * `onset` to `head`, what is left of it from `tail` to `end`. */
struct mt_series_span {
    int64_t run, onset, head, tail, end;
};

/* What each of a few numbers grew by over the span; TRACER_UNKNOWN where it is. Reads a small part
 * of the rows. Of a type: in the order of enum mt_series_column. */
enum mt_series_column {
    MT_SERIES_COMMITTED,
    MT_SERIES_SIZE,
    MT_SERIES_HUGE,
    MT_SERIES_LAZY_FREE,
    MT_SERIES_BLOCKS,
    MT_SERIES_WS_SHAREABLE,
    MT_SERIES_COLUMNS
};
int mt_series_grew(tracer_reader *r, const struct mt_series_span *span, int64_t type, int64_t *out);
/* `most`: by its highest values, as of free memory, which is most when least is in use. */
int mt_series_counter_grew(tracer_reader *r, const struct mt_series_span *span, int64_t counter,
                           bool most, int64_t *out);

/* The least and the most of some ticks, in the order in which they came. */
struct mt_series_extremes {
    int64_t least, most;
    bool most_last;
};
#define MT_SERIES_EXTREMES ((struct mt_series_extremes){INT64_MIN, INT64_MIN, true})

/* A value within what can be judged; MT_VERDICT_UNKNOWN for NULL. */
int64_t mt_series_value(sqlite3_value *column);

void mt_series_take(struct mt_series_extremes *e, int64_t value);
void mt_series_put(const struct mt_series_extremes *e, unsigned per_slot, int64_t *out);

#endif
