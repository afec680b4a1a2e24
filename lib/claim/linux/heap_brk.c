/* SPDX-License-Identifier: MIT */
/* claim/linux: the brk area. In: regions the kernel calls [heap]. Out: HEAP claims.
 * Called by claimer.c. Certain when the C library's own malloc serves the program: it is the one
 * that uses brk. Several such lines are normal, protection cuts them. */
#include "claim/linux/provider.h"

void mt_heap_brk_collect(struct mt_look *look)
{
    bool served = look->allocator == MT_ALLOCATOR_GLIBC || look->allocator == MT_ALLOCATOR_MUSL ||
                  look->allocator == MT_ALLOCATOR_GPERFTOOLS;

    for (uint32_t i = 0; i < look->snapshot->n_regions; i++) {
        const struct mt_region *r = &look->snapshot->regions[i];

        if (!mt_look_has_name(look, r, "[heap]"))
            continue;
        mt_claim_add(look->out,
                     &(struct mt_claim){.base = r->base,
                                        .end = r->end,
                                        .owner = mt_look_string(look, "brk heap"),
                                        .flags = r->protection ? 0 : MT_CLAIM_RESERVED,
                                        .type = MT_TYPE_HEAP,
                                        .rank = MT_RANK_BRK,
                                        .confidence = served ? MT_CONFIDENCE_A : MT_CONFIDENCE_B});
    }
}
