/* SPDX-License-Identifier: MIT */
/* tools: noise of levels in time. In: points. Out: how far they swing. Called by difference.c.
 * Pure. */
#include "swing.h"

#include <stdlib.h>

#include "command.h"

struct height {
    int64_t bytes, lasted;
};

static int by_bytes(const void *a, const void *b)
{
    const struct height *x = a, *y = b;

    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Above the lowest before, then the smaller of that and above the lowest after. */
static void measure(const struct point *points, size_t n, int64_t end_ns, struct height *out)
{
    int64_t lowest = points[0].value;

    for (size_t i = 0; i < n; i++) {
        int64_t until = i + 1 < n ? points[i + 1].t_ns : end_ns;

        lowest = points[i].value < lowest ? points[i].value : lowest;
        out[i].bytes = points[i].value - lowest;
        out[i].lasted = until > points[i].t_ns ? (until - points[i].t_ns) / 1000 + 1 : 1;
    }
    lowest = points[n - 1].value;
    for (size_t i = n; i-- > 0;) {
        lowest = points[i].value < lowest ? points[i].value : lowest;
        if (points[i].value - lowest < out[i].bytes)
            out[i].bytes = points[i].value - lowest;
    }
}

int64_t swing_of(const struct point *points, size_t n, int64_t end_ns)
{
    struct height *heights;
    int64_t total = 0, above = 0, swing;
    size_t i = n;

    if (n < 3)
        return 0;
    heights = need(calloc(n, sizeof(*heights)));
    measure(points, n, end_ns, heights);
    qsort(heights, n, sizeof(*heights), by_bytes);
    for (size_t k = 0; k < n; k++)
        total += heights[k].lasted;
    while (i > 1 && above + heights[i - 1].lasted <= total / 20)
        above += heights[--i].lasted;
    swing = heights[i - 1].bytes;
    free(heights);
    return swing;
}
