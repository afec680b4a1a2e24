/* SPDX-License-Identifier: MIT */
/* The usual band of a series of levels, and the stretches outside of it. */
#ifndef MEMTRACER_TOOLS_BAND_H
#define MEMTRACER_TOOLS_BAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value that holds from t_ns until the next point, the last one until the end of the series. */
struct point {
    int64_t t_ns;
    int64_t value;
};

struct band {
    int64_t median; /* the value held for half of the time or longer */
    int64_t low, high;
};

struct stretch {
    int64_t from_ns, to_ns;
    int64_t extreme; /* the value farthest from the median */
};

/* median ± max(k × 1.4826 × MAD, median / 100, least), all weighted by time; false when the series
 * is shorter than three points or never falls: a total or a leak has no usual level. */
bool band_of(const struct point *points, size_t n, int64_t end_ns, double k, int64_t least,
             struct band *out);

/* The next stretch outside the band from points[*at] on; false = there is none. */
bool band_next(const struct point *points, size_t n, int64_t end_ns, const struct band *b,
               size_t *at, struct stretch *out);

#endif
