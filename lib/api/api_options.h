/* SPDX-License-Identifier: MIT */
/* api: what the caller asked for, checked and completed. */
#ifndef MT_API_OPTIONS_H
#define MT_API_OPTIONS_H

#include "sampler/sampler.h"

/* Checks `given` (NULL = defaults) of any size, fills in defaults. EINVAL, EVERSION. The label is
 * copied into t->label_text. */
int mt_options_take(struct tracer *t, const tracer_options *given);

/* Checks `path`, replaces %p and %%, makes it absolute, into t->path. */
int mt_options_take_path(struct tracer *t, const char *path);

#endif
