/* SPDX-License-Identifier: MIT */
/* What bounds malloc's blocks: memory whose owner is known already. */
#ifndef MT_CLAIM_LINUX_KNOWN_SPANS_H
#define MT_CLAIM_LINUX_KNOWN_SPANS_H

#include "claim/linux/provider.h"
#include "claim/linux/spans.h"

#define MT_KNOWN_SPANS 65536u

struct mt_known_spans {
    bool gathered; /* in this collection */
    uint32_t n;
    struct mt_span spans[MT_KNOWN_SPANS]; /* by base: stacks, arenas, images, our own */
};

/* Once a collection, from what others claimed in it. */
void mt_known_gather(struct mt_known_spans *k, const struct mt_look *look);

/* A stack may lie inside a block, but nothing known lies across its borders or in its header. */
bool mt_known_respects(const struct mt_known_spans *k, uint64_t base, uint64_t end);

#endif
