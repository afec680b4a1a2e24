/* SPDX-License-Identifier: MIT */
/* claim/linux: claims of stacks, and stacks by their shape.
 * In: where a stack is, or regions. Out: STACK claims with their guards.
 * Called by threads.c. Pure. */
#include "claim/linux/stacks.h"

#define SHAPED_STACK_MOST (UINT64_C(64) << 20)

bool mt_stack_above_guard(const struct mt_look *look, uint32_t i, struct mt_stack *out)
{
    const struct mt_region *r = &look->snapshot->regions[i];
    const struct mt_region *below = i > 0 ? r - 1 : NULL;

    if (!mt_look_is_data(look, r) || r->end - r->base > SHAPED_STACK_MOST || !below ||
        below->end != r->base || below->protection || !mt_look_is_anonymous(look, below) ||
        below->end - below->base > r->end - r->base)
        return false;
    *out = (struct mt_stack){
        .base = below->base, .bytes = r->end - below->base, .guard_bytes = r->base - below->base};
    return true;
}

/* Without a guard of the C library's, a runtime may have taken access from the lowest pages. */
static uint64_t guard_end(const struct mt_look *look, const struct mt_thread *s)
{
    uint32_t i;

    if (s->guard_bytes)
        return s->stack_base + s->guard_bytes;
    i = mt_snapshot_find(look->snapshot, s->stack_base);
    if (i < look->snapshot->n_regions && !look->snapshot->regions[i].protection &&
        look->snapshot->regions[i].end < s->stack_base + s->stack_bytes)
        return look->snapshot->regions[i].end;
    return s->stack_base;
}

/* A page belongs to the stack that holds its first byte: user-supplied stacks may begin anywhere.
 */
void mt_stack_claim(struct mt_look *look, const struct mt_thread *s, uint32_t owner, uint32_t flags,
                    char confidence)
{
    struct mt_claim c = {.base = mt_look_page_up(look, s->stack_base),
                         .end = mt_look_page_up(look, s->stack_base + s->stack_bytes),
                         .owner = owner,
                         .thread = s->tid,
                         .flags = flags,
                         .type = MT_TYPE_STACK,
                         .rank = MT_RANK_STACK,
                         .confidence = confidence};

    mt_claim_add(look->out, &c);
    c.end = guard_end(look, s);
    c.flags |= MT_CLAIM_GUARD;
    c.rank = MT_RANK_GUARD;
    mt_claim_add(look->out, &c);
}

/* What was mapped as a stack (the kernel's hint) but belongs to no thread we know. Lower than all
 * other claims, so that it speaks only where nobody else does. */
void mt_stacks_show_shapes(struct mt_look *look)
{
    const struct mt_snapshot *s = look->snapshot;

    for (uint32_t i = 1; i < s->n_regions; i++) {
        struct mt_stack stack;
        uint32_t flags;

        if (!mt_stack_above_guard(look, i, &stack)) /* first: looking up flags takes longer */
            continue;
        flags = mt_flags_of(look->flags, &s->regions[i]);
        if (!(flags & MT_REGION_STACK_HINT) || (flags & (MT_REGION_NORESERVE | MT_REGION_NODUMP)))
            continue;
        mt_claim_add(look->out,
                     &(struct mt_claim){.base = stack.base,
                                        .end = stack.base + stack.bytes,
                                        .owner = mt_look_string(look, "stack of unknown thread"),
                                        .type = MT_TYPE_STACK,
                                        .rank = MT_RANK_RUNTIME_WINDOW,
                                        .confidence = MT_CONFIDENCE_C});
    }
}
