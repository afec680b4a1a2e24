/* SPDX-License-Identifier: MIT */
/* Stacks: what is claimed of one, and what looks like one. */
#ifndef MT_CLAIM_LINUX_STACKS_H
#define MT_CLAIM_LINUX_STACKS_H

#include "claim/linux/descriptor.h"

/* Region `i` as a stack above inaccessible pages, if it looks like one and is not absurdly
 * large. */
bool mt_stack_above_guard(const struct mt_look *look, uint32_t i, struct mt_stack *out);

/* Claims the stack and its guard. `flags` are MT_CLAIM_… */
void mt_stack_claim(struct mt_look *look, const struct mt_thread *s, uint32_t owner,
                    uint32_t flags, char confidence);

/* Claims what was mapped as a stack and lies above a guard, at the lowest rank. */
void mt_stacks_show_shapes(struct mt_look *look);

#endif
