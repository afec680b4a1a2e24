/* SPDX-License-Identifier: MIT */
/* What calls took and gave back, in order of time: which bytes are alive, by whom they were taken.
 * Two maps of address ranges, blocks of the heap and mappings; a mapping may be given back in
 * pieces, or mapped over. */
#ifndef MEMTRACER_TOOLS_REPLAY_H
#define MEMTRACER_TOOLS_REPLAY_H

#include <stddef.h>
#include <stdint.h>

struct replay; /* opaque */

struct replay *replay_new(void);
void replay_free(struct replay *r);

/* space: 0 = mappings, 1 = heap. owner: who takes, any number. */
void replay_take(struct replay *r, int space, uint64_t base, uint64_t bytes, int64_t owner);
/* bytes 0: the whole piece that begins there. */
void replay_give(struct replay *r, int space, uint64_t base, uint64_t bytes);

/* Calls `visit` for each live piece. */
void replay_each(const struct replay *r, void (*visit)(void *user, uint64_t bytes, int64_t owner),
                 void *user);

#endif
