/* SPDX-License-Identifier: MIT */
/* source/linux: flags that only smaps tells, for lists from maps.
 * In: lists with and without VmFlags, by address. Out: the same flags in both.
 * Called by listing.c. Must not allocate, and must not give a flag to another mapping at the same
 * place: what has other borders, rights or another name is new, and unknown until smaps is read.
 * Uses: VmFlags of /proc/PID/smaps (since Linux 3.8). */
#include "source/linux/kept_flags.h"

/* Those that decide about a type, or whether memory may be read. Others stand in the lists of
 * smaps alone. */
#define KEPT                                                                                       \
    (MT_REGION_HUGETLB | MT_REGION_DEVICE | MT_REGION_MIXED | MT_REGION_GROWSDOWN |                \
     MT_REGION_UFFD | MT_REGION_SHADOW_STACK)

static void learn(struct mt_kept_flags *k, const struct mt_snapshot *s)
{
    k->n = 0;
    k->cut = false;
    for (uint32_t i = 0; i < s->n_regions; i++) {
        const struct mt_region *r = &s->regions[i];

        if (!(r->flags & KEPT))
            continue;
        if (k->n == MT_KEPT_FLAGS_MOST) {
            k->cut = true;
            return;
        }
        k->items[k->n++] = (struct mt_flagged){r->base, r->end, r->name, r->protection,
                                               r->flags & (KEPT | MT_REGION_SHARED)};
    }
}

/* A stack that grows down is the same mapping with a lower base. */
static bool stands(const struct mt_flagged *f, const struct mt_region *r)
{
    bool grew = (f->flags & MT_REGION_GROWSDOWN) && r->base < f->base;

    return f->end == r->end && (f->base == r->base || grew) && f->name == r->name &&
           f->protection == r->protection && !((f->flags ^ r->flags) & MT_REGION_SHARED);
}

static void give(const struct mt_kept_flags *k, struct mt_snapshot *s)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < s->n_regions && at < k->n; i++) {
        while (at < k->n && k->items[at].end < s->regions[i].end)
            at++;
        if (at < k->n && stands(&k->items[at], &s->regions[i]))
            s->regions[i].flags |= k->items[at].flags;
    }
    if (k->cut)
        s->flags |= MT_SAMPLE_TRUNCATED;
}

void mt_kept_flags_pass(struct mt_kept_flags *k, struct mt_snapshot *s)
{
    if (s->n_regions > 0 && (s->regions[0].flags & MT_REGION_FLAGS_KNOWN))
        learn(k, s);
    else
        give(k, s);
}
