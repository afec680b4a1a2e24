/* SPDX-License-Identifier: MIT */
/* claim: the set that all providers append to.
 * In: capacities, claims. Out: arrays; a full one is flagged, and grown by the sampler alone.
 * Called by sampler/ and by every provider. Adding must not allocate. */
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

static bool grow(void **items, size_t item_bytes, uint32_t n, uint32_t capacity, uint32_t *holds)
{
    if (capacity <= *holds)
        return true;
    if (!mt_memory_grow(items, n * item_bytes, capacity * item_bytes))
        return false;
    *holds = capacity;
    return true;
}

bool mt_claim_set_grow(struct mt_claim_set *set, uint32_t claims, uint32_t modules,
                       uint32_t threads)
{
    void *c = set->claims, *m = set->modules, *t = set->threads;
    bool grown = grow(&c, sizeof(*set->claims), set->n_claims, claims, &set->claim_capacity) &&
                 grow(&m, sizeof(*set->modules), set->n_modules, modules, &set->module_capacity) &&
                 grow(&t, sizeof(*set->threads), set->n_threads, threads, &set->thread_capacity);

    set->claims = c;
    set->modules = m;
    set->threads = t;
    return grown;
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
