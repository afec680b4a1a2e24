/* SPDX-License-Identifier: MIT */
/* claim: memtracer's own blocks. In: the list that base/memory keeps. Out: TRACER claims of the
 * highest rank, so that the tracer's memory never pollutes the other types.
 * Called by sampler/observe.c for this process only. */
#include "base/memory.h"
#include "base/strings.h"
#include "claim/claim.h"

struct visit {
    struct mt_claim_set *set;
    uint32_t owner;
};

static void claim_block(void *user, uint64_t base, uint64_t bytes)
{
    const struct visit *v = user;

    mt_claim_add(v->set, &(struct mt_claim){.base = base,
                                            .end = base + bytes,
                                            .owner = v->owner,
                                            .type = MT_TYPE_TRACER,
                                            .rank = MT_RANK_TRACER,
                                            .confidence = MT_CONFIDENCE_A});
}

void mt_claim_own(struct mt_claim_set *set, struct mt_strings *strings)
{
    struct visit v = {.set = set, .owner = mt_strings_add(strings, "memtracer", 9)};

    mt_memory_each(claim_block, &v);
}
