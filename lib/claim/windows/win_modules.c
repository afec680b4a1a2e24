/* SPDX-License-Identifier: MIT */
/* claim/windows: programs and libraries.
 * In: a snapshot. Out: one module and one IMAGE claim for each mapped image.
 * Called by win_claimer.c. The loader is not asked: its list changes while it is read, misses
 * images that were mapped without it, and the snapshot has all that is needed. */
#include "claim/windows/win_claim.h"

/* An image begins where its offset is 0. */
static bool continues_image(const struct mt_region *before, const struct mt_region *r)
{
    return (r->flags & MT_REGION_IMAGE) && r->base == before->end && r->offset > 0;
}

static void add_module(struct mt_claim_set *out, uint64_t base, uint64_t end, uint32_t path)
{
    mt_claim_add(out, &(struct mt_claim){.base = base,
                                         .end = end,
                                         .owner = path,
                                         .type = MT_TYPE_IMAGE,
                                         .rank = MT_RANK_IMAGE,
                                         .confidence = MT_CONFIDENCE_A});
    if (out->n_modules == out->module_capacity) {
        out->truncated = true;
        return;
    }
    out->modules[out->n_modules++] = (struct mt_module){.base = base, .end = end, .path = path};
}

void win_claim_modules(const struct mt_snapshot *s, struct mt_claim_set *out)
{
    for (uint32_t i = 0, next; i < s->n_regions; i = next) {
        next = i + 1;
        if (!(s->regions[i].flags & MT_REGION_IMAGE))
            continue;
        while (next < s->n_regions && continues_image(&s->regions[next - 1], &s->regions[next]))
            next++;
        add_module(out, s->regions[i].base, s->regions[next - 1].end, s->regions[i].name);
    }
}
