/* SPDX-License-Identifier: MIT */
/* claim/other: where no provider exists nothing is claimed, and the rules of classify/ decide.
 * In: nothing. Out: an empty set. Called by sampler/. */
#include "base/error.h"
#include "base/memory.h"
#include "claim/claim.h"

struct mt_claimer {
    char unused;
};

void mt_claim_symbols_find(struct mt_claim_symbols *out)
{
    *out = (struct mt_claim_symbols){.allocator = 0};
}

int mt_claimer_open(uint32_t pid, const struct mt_claim_symbols *symbols,
                    struct mt_strings *strings, struct mt_claimer **out)
{
    (void)symbols;
    (void)pid;
    (void)strings;
    *out = mt_memory_alloc(sizeof(**out));
    return *out ? TRACER_OK : mt_error_set(TRACER_ENOMEM, "no memory for the claimer");
}

void mt_claimer_close(struct mt_claimer *c)
{
    mt_memory_free(c);
}

int mt_claimer_collect(struct mt_claimer *c, const struct mt_snapshot *snapshot,
                       struct mt_claim_set *out)
{
    (void)c;
    (void)snapshot;
    out->n_claims = out->n_modules = out->n_threads = 0;
    out->truncated = false;
    return TRACER_OK;
}

void mt_claimer_own_address(struct mt_claimer *c, uint64_t address)
{
    (void)c;
    (void)address;
}

const char *mt_claimer_allocator(const struct mt_claimer *c)
{
    (void)c;
    return "";
}

void mt_claimer_counters(struct mt_claimer *c, struct mt_counters *inout)
{
    (void)c;
    (void)inout;
}

void mt_claimer_explain(struct mt_claimer *c, struct mt_interval *intervals, uint32_t n,
                        int64_t deadline_ns)
{
    (void)c;
    (void)intervals;
    (void)n;
    (void)deadline_ns;
}
