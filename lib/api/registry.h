/* SPDX-License-Identifier: MIT */
/* api: which tracers live in this process; guards every public function against handles that
 * were stopped, are of another process (fork) or never were. Lock-free, any thread. */
#ifndef MT_API_REGISTRY_H
#define MT_API_REGISTRY_H

#include "sampler/sampler.h"

/* TRACER_ELIMIT when 64 tracers live already. */
int mt_registry_add(struct tracer *t);

/* Takes it out; false when somebody else already did, or it never was in. */
bool mt_registry_remove(const struct tracer *t);

/* TRACER_OK when `t` may be used; EINVAL for NULL, ESTATE else, each with a detail. */
int mt_registry_check(const struct tracer *t);

/* Under the lock: notices that the system ended the sampler's thread, and says so as a state. */
void mt_registry_look(struct tracer *t);

#endif
