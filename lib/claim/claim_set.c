/* SPDX-License-Identifier: MIT */
/* claim: the set that all providers append to.
 * In: capacities, claims. Out: arrays; a full one is flagged, never grown.
 * Called by sampler/ at start and stop, and by every provider. Must not allocate after init. */
#include "claim/claim.h"

#include "base/error.h"
#include "base/memory.h"

int mt_claim_set_init(struct mt_claim_set *out, uint32_t claims, uint32_t modules, uint32_t threads)
{
    struct mt_claim_set set = {
        .claim_capacity = claims, .module_capacity = modules, .thread_capacity = threads};

    set.claims = mt_memory_alloc((size_t)claims * sizeof(*set.claims));
    set.modules = mt_memory_alloc((size_t)modules * sizeof(*set.modules));
    set.threads = mt_memory_alloc((size_t)threads * sizeof(*set.threads));
    if (!set.claims || !set.modules || !set.threads) {
        mt_claim_set_release(&set);
        return mt_error_set(TRACER_ENOMEM, "no address space for a set of %u claims", claims);
    }
    *out = set;
    return TRACER_OK;
}

void mt_claim_set_release(struct mt_claim_set *set)
{
    mt_memory_free(set->claims);
    mt_memory_free(set->modules);
    mt_memory_free(set->threads);
    *set = (struct mt_claim_set){.claims = NULL};
}

void mt_claim_add(struct mt_claim_set *set, const struct mt_claim *claim)
{
    if (claim->base >= claim->end)
        return;
    if (set->n_claims == set->claim_capacity) {
        set->truncated = true;
        return;
    }
    set->claims[set->n_claims++] = *claim;
}
