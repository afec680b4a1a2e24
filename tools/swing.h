/* SPDX-License-Identifier: MIT */
/* How far a level swings on its own, whatever trend it follows. */
#ifndef MEMTRACER_TOOLS_SWING_H
#define MEMTRACER_TOOLS_SWING_H

#include "band.h"

/* A value's height above both the lowest value before it and the lowest after it: 0 all along in
 * growth, in a fall and in steps; in waves up to their height. Returned is the height that is
 * passed in a twentieth of the time. Memory that is given back only once, in less time than that,
 * is an event and no swing. */
int64_t swing_of(const struct point *points, size_t n, int64_t end_ns);

#endif
