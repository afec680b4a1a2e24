/* SPDX-License-Identifier: MIT */
/* classify: claims over regions → intervals that partition every region.
 * In: a snapshot and a set of claims in any order. Out: typed intervals, sorted.
 * Called by sampler/tick.c. A sweep in address order: the claims that cover the current address
 * wait in a heap by rank, so n claims cost n log n whatever they overlap. Must not allocate. */
#include "classify/classify.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

struct sweep {
    const struct mt_snapshot *snapshot;
    const struct mt_claim *claims;
    uint32_t n_claims;
    uint32_t *order; /* claims by base */
    uint32_t next;   /* into order: first claim not begun yet */
    uint32_t *heap;  /* begun claims, highest rank on top; ended ones are dropped when on top */
    uint32_t n_heap;
    struct mt_interval_list *out;
};

int mt_interval_list_init(struct mt_interval_list *out, uint32_t capacity)
{
    struct mt_interval *items = mt_memory_alloc((size_t)capacity * sizeof(*items));

    if (!items)
        return mt_error_set(TRACER_ENOMEM, "no address space for %u intervals", capacity);
    *out = (struct mt_interval_list){.items = items, .capacity = capacity};
    return TRACER_OK;
}

bool mt_interval_list_grow(struct mt_interval_list *l, uint32_t capacity)
{
    void *items = l->items;

    if (!mt_memory_grow(&items, l->n * sizeof(*l->items), capacity * sizeof(*l->items)))
        return false;
    l->items = items;
    l->capacity = capacity;
    return true;
}

void mt_interval_list_release(struct mt_interval_list *l)
{
    mt_memory_free(l->items);
    *l = (struct mt_interval_list){.items = NULL};
}

/* Orders of the two heaps: true when `a` belongs below `b`. */
static bool begins_before(const struct mt_claim *claims, uint32_t a, uint32_t b)
{
    return claims[a].base != claims[b].base ? claims[a].base < claims[b].base : a < b;
}

static bool ranks_below(const struct mt_claim *claims, uint32_t a, uint32_t b)
{
    return claims[a].rank != claims[b].rank ? claims[a].rank < claims[b].rank : a < b;
}

typedef bool below_fn(const struct mt_claim *claims, uint32_t a, uint32_t b);

static void sift_down(const struct mt_claim *claims, uint32_t *heap, uint32_t n, uint32_t at,
                      below_fn *below)
{
    uint32_t moving = heap[at];

    for (uint32_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && below(claims, heap[child], heap[child + 1]))
            child++;
        if (!below(claims, moving, heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static void sift_up(const struct mt_claim *claims, uint32_t *heap, uint32_t at, below_fn *below)
{
    uint32_t moving = heap[at];

    while (at > 0 && below(claims, heap[(at - 1) / 2], moving)) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moving;
}

/* Heap sort, since qsort may call malloc. Providers deliver mostly in order, so look first. */
static void sort_by_base(const struct mt_claim *claims, uint32_t *order, uint32_t n)
{
    bool sorted = true;

    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        if (i > 0 && claims[i - 1].base > claims[i].base)
            sorted = false;
    }
    if (sorted)
        return;
    for (uint32_t i = n / 2; i-- > 0;)
        sift_down(claims, order, n, i, begins_before);
    for (uint32_t end = n; end-- > 1;) {
        uint32_t last = order[end];

        order[end] = order[0];
        order[0] = last;
        sift_down(claims, order, end, 0, begins_before);
    }
}

/* The claim that owns `address`, NULL = none. */
static const struct mt_claim *winner_at(struct sweep *w, uint64_t address)
{
    while (w->next < w->n_claims && w->claims[w->order[w->next]].base <= address) {
        w->heap[w->n_heap] = w->order[w->next++];
        sift_up(w->claims, w->heap, w->n_heap++, ranks_below);
    }
    while (w->n_heap > 0 && w->claims[w->heap[0]].end <= address) {
        w->heap[0] = w->heap[--w->n_heap];
        if (w->n_heap > 0)
            sift_down(w->claims, w->heap, w->n_heap, 0, ranks_below);
    }
    return w->n_heap > 0 ? &w->claims[w->heap[0]] : NULL;
}

static uint64_t piece_end(const struct sweep *w, const struct mt_claim *winner, uint64_t end)
{
    if (winner && winner->end < end)
        end = winner->end;
    if (w->next < w->n_claims && w->claims[w->order[w->next]].base < end)
        end = w->claims[w->order[w->next]].base;
    return end;
}

static void fill_from_region(struct mt_interval *v, const struct sweep *w, uint32_t i)
{
    const struct mt_region *r = &w->snapshot->regions[i];

    memset(v, 0, sizeof(*v));
    v->region = i;
    v->name = r->name;
    v->inode = r->inode;
    v->device = r->device;
    v->region_flags = r->flags;
    v->protection = r->protection;
    v->offset = r->offset;
}

static void fill_owner(struct mt_interval *v, const struct sweep *w, const struct mt_claim *claim)
{
    struct mt_rule_answer rule;

    if (claim) {
        v->type = claim->type;
        v->confidence = claim->confidence;
        v->owner = claim->owner;
        v->thread = claim->thread;
        v->claim_flags = claim->flags;
        return;
    }
    rule = mt_rules_apply(w->snapshot, v->region);
    v->type = rule.type;
    v->confidence = rule.confidence;
    v->claim_flags = rule.claim_flags;
}

/* Adds [base, end) of region `i`; joins it to the piece before when the same claim owns both.
 * Without room the last interval of the region grows: totals stay complete, types get coarser. */
static void emit(struct sweep *w, uint32_t i, uint64_t base, uint64_t end,
                 const struct mt_claim *claim, const struct mt_claim *claim_before)
{
    struct mt_interval_list *out = w->out;
    struct mt_interval *last = out->n > 0 ? &out->items[out->n - 1] : NULL;
    bool same_region = last && last->region == i && last->end == base;

    if (same_region && claim == claim_before) {
        last->end = end;
        return;
    }
    if (out->n == out->capacity) {
        out->truncated = true;
        if (same_region)
            last->end = end;
        return;
    }
    last = &out->items[out->n++];
    fill_from_region(last, w, i);
    last->base = base;
    last->end = end;
    if (last->offset || last->inode)
        last->offset += base - w->snapshot->regions[i].base;
    fill_owner(last, w, claim);
}

static void cut_region(struct sweep *w, uint32_t i)
{
    const struct mt_region *r = &w->snapshot->regions[i];
    const struct mt_claim *before = NULL;
    uint32_t first = w->out->n;

    for (uint64_t at = r->base, end; at < r->end; at = end) {
        const struct mt_claim *claim = winner_at(w, at);

        end = piece_end(w, claim, r->end);
        emit(w, i, at, end, claim, before);
        before = claim;
    }
    if (r->pages.known && w->out->n == first + 1)
        w->out->items[first].pages = r->pages;
}

void mt_classify_overlay(const struct mt_snapshot *snapshot, const struct mt_claim *claims,
                         uint32_t n_claims, uint32_t *scratch, struct mt_interval_list *out)
{
    struct sweep w = {.snapshot = snapshot,
                      .claims = claims,
                      .n_claims = n_claims,
                      .order = scratch,
                      .heap = scratch + n_claims,
                      .out = out};

    out->n = 0;
    out->truncated = false;
    sort_by_base(claims, w.order, n_claims);
    for (uint32_t i = 0; i < snapshot->n_regions; i++)
        if (!(snapshot->regions[i].flags & MT_REGION_OUTSIDE))
            cut_region(&w, i);
}

/* ---- settle: Σ pieces = region ---- */

/* The pieces [first, end) of one region. */
static uint32_t pieces_end(const struct mt_interval_list *l, uint32_t first)
{
    uint32_t end = first + 1;

    while (end < l->n && l->items[end].region == l->items[first].region)
        end++;
    return end;
}

static struct mt_interval *fullest(const struct mt_interval_list *l, uint32_t first, uint32_t end)
{
    struct mt_interval *best = &l->items[first];

    for (uint32_t i = first + 1; i < end; i++) {
        struct mt_interval *v = &l->items[i];
        uint64_t mine = v->pages.bytes[MT_PAGE_RESIDENT];
        uint64_t most = best->pages.bytes[MT_PAGE_RESIDENT];

        if (mine > most || (mine == most && v->end - v->base > best->end - best->base))
            best = v;
    }
    return best;
}

/* The whole knows `kind`: pieces that do not know it have none of it, the fullest has the rest.
 * Pieces counted a moment after the whole may add up to more; what is over is cut. */
static void settle_kind(const struct mt_interval_list *l, uint32_t first, uint32_t end,
                        unsigned kind, uint64_t whole)
{
    struct mt_interval *taker = fullest(l, first, end);
    uint64_t rest = whole;

    for (uint32_t i = first; i < end; i++) {
        struct mt_pages *p = &l->items[i].pages;

        if (!(p->known >> kind & 1u))
            p->bytes[kind] = 0;
        p->known |= 1u << kind;
        if (&l->items[i] == taker)
            continue;
        if (p->bytes[kind] > rest)
            p->bytes[kind] = rest;
        rest -= p->bytes[kind];
    }
    taker->pages.bytes[kind] = rest;
}

void mt_classify_settle(const struct mt_snapshot *snapshot, struct mt_interval_list *list)
{
    for (uint32_t first = 0, end; first < list->n; first = end) {
        const struct mt_pages *whole = &snapshot->regions[list->items[first].region].pages;

        end = pieces_end(list, first);
        if (end == first + 1)
            continue;
        for (unsigned kind = 0; kind < MT_PAGE_COUNT; kind++)
            if (whole->known >> kind & 1u)
                settle_kind(list, first, end, kind, whole->bytes[kind]);
    }
}
