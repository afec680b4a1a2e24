/* SPDX-License-Identifier: MIT */
/* sampler: exact events, from the ring of the interposers to the recorder. Sampler thread only. */
#ifndef MT_SAMPLER_DRAIN_H
#define MT_SAMPLER_DRAIN_H

#include "sampler/sampler.h"

struct mt_drain;

/* Begins where the options ask for it; `*out` is NULL where not. */
int mt_drain_open(const struct tracer *t, struct mt_drain **out);
void mt_drain_close(struct mt_drain *d);

/* Writes what is in the ring. What the recorder cannot take stays there. *out_any: was there
 * something? NULL drain: nothing to do. */
int mt_drain(struct tracer *t, bool *out_any);

/* The latest moment of the next mt_drain(), INT64_MAX = never. */
int64_t mt_drain_due_ns(const struct tracer *t);

#endif
