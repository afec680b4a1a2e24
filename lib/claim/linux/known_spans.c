/* SPDX-License-Identifier: MIT */
/* claim/linux: spans of known owner, as borders for blocks. In: the claims of a collection so far.
 * Out: spans by address. Called by heap_chunks.c when the first region has to be walked: mostly
 * none has. */
#include "claim/linux/known_spans.h"

#include "base/memory.h"

static void add(struct mt_known_spans *k, uint64_t base, uint64_t end)
{
    if (k->n < MT_KNOWN_SPANS)
        k->spans[k->n++] = (struct mt_span){base, end};
}

static void add_own(void *user, uint64_t base, uint64_t bytes)
{
    add(user, base, base + bytes);
}

void mt_known_gather(struct mt_known_spans *k, const struct mt_look *look)
{
    if (k->gathered)
        return;
    k->gathered = true;
    k->n = 0;
    for (uint32_t i = 0; i < look->out->n_claims; i++) {
        const struct mt_claim *c = &look->out->claims[i];

        if (c->rank == MT_RANK_IMAGE || c->rank == MT_RANK_ARENA || c->rank == MT_RANK_STACK)
            add(k, c->base, c->end);
    }
    if (look->self)
        mt_memory_each(add_own, k);
    mt_spans_sort(k->spans, k->n);
}

bool mt_known_respects(const struct mt_known_spans *k, uint64_t base, uint64_t end)
{
    uint32_t i = mt_spans_from(k->spans, k->n, base);

    for (; i < k->n && k->spans[i].base < end; i++)
        if (k->spans[i].base == base || k->spans[i].end > end)
            return false;
    return true;
}
