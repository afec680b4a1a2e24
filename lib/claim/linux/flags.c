/* SPDX-License-Identifier: MIT */
/* claim/linux: remembers what only VmFlags tell of nameless regions.
 * In: snapshots with and without these flags. Out: flags of a region, as known last.
 * Called by claimer.c and through provider.h. Without it a claim by flags would come and go with
 * the interface that listed the regions. What decides a type without a claim the source keeps
 * itself (source/linux/kept_flags.c): these are for guesses, and outlast growth at either end. */
#include "claim/linux/provider.h"

#include "base/error.h"
#include "base/memory.h"

#define SPANS 65536u

struct span {
    uint64_t base, end;
    uint32_t flags;
};

struct mt_flags {
    uint32_t n;
    bool cut;                 /* more regions than places */
    struct span spans[SPANS]; /* by address */
};

int mt_flags_new(struct mt_flags **out)
{
    *out = mt_memory_alloc(sizeof(**out));
    return *out ? TRACER_OK : mt_error_set(TRACER_ENOMEM, "no address space for regions' flags");
}

void mt_flags_free(struct mt_flags *f)
{
    mt_memory_free(f);
}

static void learn(struct mt_flags *f, const struct mt_look *look)
{
    const struct mt_snapshot *s = look->snapshot;

    f->n = 0;
    f->cut = false;
    for (uint32_t i = 0; i < s->n_regions && !f->cut; i++) {
        const struct mt_region *r = &s->regions[i];

        if (!mt_look_is_anonymous(look, r))
            continue;
        f->cut = f->n == SPANS;
        if (!f->cut)
            f->spans[f->n++] = (struct span){r->base, r->end, r->flags};
    }
}

void mt_flags_remember(struct mt_flags *f, const struct mt_look *look)
{
    const struct mt_snapshot *s = look->snapshot;

    if (s->n_regions > 0 && (s->regions[0].flags & MT_REGION_FLAGS_KNOWN))
        learn(f, look);
    else if (f->cut)
        look->out->truncated = true;
}

static const struct span *find(const struct mt_flags *f, uint64_t address)
{
    uint32_t low = 0, high = f->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (f->spans[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->n && f->spans[low].base <= address ? &f->spans[low] : NULL;
}

/* A region that grew at either end still has its other one. */
static const struct span *find_either(const struct mt_flags *f, const struct mt_region *r)
{
    const struct span *s = find(f, r->end - 1);

    return s ? s : find(f, r->base);
}

bool mt_flags_know(const struct mt_flags *f, const struct mt_region *r)
{
    return (r->flags & MT_REGION_FLAGS_KNOWN) || (f && find_either(f, r));
}

uint32_t mt_flags_of(const struct mt_flags *f, const struct mt_region *r)
{
    const struct span *s;

    if (!f || (r->flags & MT_REGION_FLAGS_KNOWN))
        return r->flags;
    s = find_either(f, r);
    return s ? r->flags | (s->flags & ~(uint32_t)MT_REGION_FLAGS_KNOWN) : r->flags;
}
