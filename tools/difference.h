/* SPDX-License-Identifier: MIT */
/* What each type of memory holds at two moments, and whether the change is more than noise.
 *
 * Noise of a change: the root of the sum of the squares of both runs' swings (swing.h), over all
 * samples of a run; at least 64 KiB within a run, and between two runs at least 256 KiB and 2 % of
 * the larger level, since pages of files come in 64 KiB at a time as the page cache has them, and
 * addresses, threads and allocators fall out a little differently each time. */
#ifndef MEMTRACER_TOOLS_DIFFERENCE_H
#define MEMTRACER_TOOLS_DIFFERENCE_H

#include "answer.h"
#include "moment.h"

#define DIFFERENCE_COLUMNS 15
#define DIFFERENCE_TYPES 64
#define DIFFERENCE_UNKNOWN INT64_MIN

enum {
    DIFFERENCE_SIZE = 0,
    DIFFERENCE_COMMITTED = 1,
    DIFFERENCE_WS = 4,
    DIFFERENCE_SWAP = 9,
    DIFFERENCE_BLOCKS = 13
};

extern const char *const difference_columns[DIFFERENCE_COLUMNS];

struct type_difference {
    char name[32];
    int64_t side[2][DIFFERENCE_COLUMNS];
    bool there[2]; /* the type was written by then, whatever is known of it */
    int64_t held[2];
    int64_t grew; /* held after − held before */
    int64_t swing[2];
    int64_t noise;
    bool beyond; /* |grew| > noise */
};

struct difference {
    struct type_difference types[DIFFERENCE_TYPES]; /* most growth first */
    size_t n_types;
    struct type_difference all; /* those that can be compared, without the tracer's; no columns */
    bool differs;               /* any type but the tracer's own */
};

/* Reads both moments and both runs' swings, and judges. `after` may be `before` itself. */
int difference_read(struct answer *before, const struct moment *from, struct answer *after,
                    const struct moment *to, struct difference *out);

/* Of a column; a type that one side does not have was nothing there, a column unknown on one side
 * stays so. */
int64_t difference_change(const struct type_difference *y, int column);

/* One sentence without a full stop: what differs beyond noise, and by how much in all. */
#define DIFFERENCE_SENTENCE 1024
void difference_sentence(const struct difference *d, char out[DIFFERENCE_SENTENCE]);

#endif
