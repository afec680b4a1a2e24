/* SPDX-License-Identifier: MIT */
/* Writing a memtracer file from series that were measured elsewhere, so that the same views and
 * the same judge answer about them.
 *
 *     tracer_import *i;
 *     tracer_import_open("other.db", NULL, &i);
 *     tracer_import_type(i, "heap", &heap);
 *     ... tracer_import_sample(i, wall_ns, levels, n) in order of time ...
 *     tracer_import_close(i);
 *
 * One import is used by one thread at a time. A file is written by one import or tracer at a
 * time. Errors are those of memtracer.h. */
#ifndef MEMTRACER_IMPORT_H
#define MEMTRACER_IMPORT_H

#include "memtracer/memtracer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tracer_import tracer_import; /* opaque */

/* All zero means all defaults. Grows at the end only. */
typedef struct tracer_import_options {
    uint32_t size;        /* sizeof(tracer_import_options); always first */
    uint32_t interval_ms; /* usual time between samples, for table run; 0 = 1000 */
    const char *label;    /* of the runs; NULL = "import" */
    int64_t limit_bytes;  /* what all types together must not pass; 0 = none known */
    int64_t max_regions;  /* the most mappings there may be; 0 = not known */
} tracer_import_options;

/* Opens or makes the file as tracer_start() does (no `%` in the path is replaced). Runs begin
 * with tracer_import_life() or the first sample. Errors: EINVAL, ENOMEM, EIO, EDB, ESCHEMA,
 * EDENIED, ESTATE, EVERSION. Since 0.1. */
TRACER_API int tracer_import_open(const char *path, const tracer_import_options *options,
                                  tracer_import **out);

/* The number of a type by its name: a built-in one, or one of the series' own, which is added
 * (1 to 31 bytes of [a-z0-9_], 32 at most, then ELIMIT). Since 0.1. */
TRACER_API int tracer_import_type(tracer_import *i, const char *name, uint32_t *out_type);

/* From here on it is another life of the process, which began at `wall_ns`: a new run of the file
 * with the same label. A moment here and below is nanoseconds since 1970, or since any other
 * moment, less than 2^62 of them (146 years) on either side; else TRACER_EINVAL. Since 0.1. */
TRACER_API int tracer_import_life(tracer_import *i, int64_t wall_ns);

/* Sets a counter of table counter_kind ("heap_in_use"), or "regions", as of the next sample, also
 * where that begins a life; what was set before the last sample is the old life's. A value above
 * INT64_MAX: unknown. EINVAL when there is none of that name. Since 0.1. */
TRACER_API int tracer_import_counter(tracer_import *i, const char *name, uint64_t value);

/* A sample at `wall_ns`, later than the one before. `types` are the values of n_types types, each
 * at most once; a type that is left out keeps its value, and columns without their bit in `known`
 * are unknown. Since 0.1. */
TRACER_API int tracer_import_sample(tracer_import *i, int64_t wall_ns,
                                    const tracer_type_bytes *types, uint32_t n_types);

/* Something happened at `wall_ns`, as by tracer_mark(). Since 0.1. */
TRACER_API int tracer_import_mark(tracer_import *i, int64_t wall_ns, const char *label);

/* Ends the last run, makes one plain file and frees `i`. NULL is fine. Returns the first error of
 * writing. Since 0.1. */
TRACER_API int tracer_import_close(tracer_import *i);

#ifdef __cplusplus
}
#endif

#endif
