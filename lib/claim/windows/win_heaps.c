/* SPDX-License-Identifier: MIT */
/* claim/windows: heaps, malloc's among them.
 * In: the handles of this process's heaps. Out: HEAP claims on whole allocations.
 * Called by win_claimer.c. Must not lock or walk a heap, must not trust what it reads.
 *
 * A handle is the address of a heap's first allocation: that one is certain. Later segments and
 * large blocks are allocations of their own, linked into lists whose heads stand in the heap's
 * header. Where the heads are differs between releases, so each pair of words in the header that
 * behaves like a head is followed: every link must agree with the link back, and what is linked
 * must stand at the very begin of private memory. Memory that passes is the heap's for sure
 * enough (confidence B); memory that does not stays private.
 * Uses: GetProcessHeaps. */
#include "claim/windows/win_claim.h"

#include <string.h>

#include "base/error.h"

#define HEADER_BYTES 0x2c0u /* of a heap of the NT kind; blocks follow */
#define SEGMENT_HEAP_HEADER_BYTES 0x800u
#define SIGNATURE_AT 0x10u
#define SEGMENT_HEAP_SIGNATURE 0xddeeddeeu
#define NODE_AT_MOST 0x100u /* a node stands this near to the begin of its allocation */
#define GRANULE 0x10000u
#define TRIES 3

struct link {
    uint64_t next, before;
};

struct search {
    struct mt_claimer *claimer;
    const struct mt_snapshot *snapshot;
    uint64_t heap, heap_end;
    bool broken; /* a list changed while it was followed */
};

/* ---- the parts that were found ---- */

static bool is_known_part(const struct win_heaps *h, unsigned which, uint64_t base)
{
    for (uint32_t i = h->n_parts[which]; i-- > 0;)
        if (h->parts[which][i].base == base)
            return true;
    return false;
}

static void keep_part(struct win_heaps *h, uint64_t base, uint64_t end, uint64_t heap)
{
    uint32_t n = h->n_parts[h->now];

    if (n < WIN_HEAP_PARTS && base < end)
        h->parts[h->now][h->n_parts[h->now]++] = (struct win_heap_part){base, end, heap};
}

/* ---- lists ---- */

/* The private allocation that begins shortly before `node`, 0 = none. */
static uint64_t allocation_of_node(const struct search *s, uint64_t node)
{
    uint64_t base = node / GRANULE * GRANULE;
    uint32_t i = mt_snapshot_find(s->snapshot, base);

    if (node - base > NODE_AT_MOST || i == s->snapshot->n_regions ||
        s->snapshot->regions[i].base != base ||
        !(s->snapshot->regions[i].flags & MT_REGION_PRIVATE))
        return 0;
    return base;
}

static bool in_header(const struct search *s, uint64_t address)
{
    return address >= s->heap && address < s->heap_end;
}

static bool was_part(const struct search *s, uint64_t base)
{
    const struct win_heaps *h = &s->claimer->heaps;

    return is_known_part(h, 1 - h->now, base);
}

/* Follows the list from its head until it is back in the heap's first allocation. */
static void follow(struct search *s, uint64_t head, struct link link)
{
    uint64_t before = head;

    for (uint32_t n = 0; n < WIN_HEAP_PARTS && !in_header(s, link.next); n++) {
        uint64_t node = link.next, base = allocation_of_node(s, node);

        if (!base)
            return;
        if (!win_read_resident(s->claimer, node, &link, sizeof(link)) || link.before != before) {
            s->broken = s->broken || n > 0 || was_part(s, base);
            return;
        }
        keep_part(&s->claimer->heaps, base, win_allocation_end(s->claimer, base), s->heap);
        before = node;
    }
}

/* A ring passes the header more than once where the first segment is in it too: once is enough. */
static bool is_new_list(const struct search *s, struct link link)
{
    bool linked = link.next && link.before && !(link.next % sizeof(uint64_t)) &&
                  !(link.before % sizeof(uint64_t)) && !in_header(s, link.next);
    uint64_t base = linked ? allocation_of_node(s, link.next) : 0;

    return base && !is_known_part(&s->claimer->heaps, s->claimer->heaps.now, base);
}

static void search_header(struct search *s)
{
    uint64_t words[SEGMENT_HEAP_HEADER_BYTES / sizeof(uint64_t)];
    uint32_t bytes = HEADER_BYTES, signature;

    if (!win_read(s->claimer, s->heap + SIGNATURE_AT, &signature, sizeof(signature)))
        return;
    if (signature == SEGMENT_HEAP_SIGNATURE)
        bytes = SEGMENT_HEAP_HEADER_BYTES;
    if (!win_read(s->claimer, s->heap, words, bytes))
        return;
    for (uint32_t i = 0; i + 1 < bytes / sizeof(uint64_t); i++) {
        const struct link link = {words[i], words[i + 1]};

        if (is_new_list(s, link))
            follow(s, s->heap + i * sizeof(uint64_t), link);
    }
}

/* A list that was being changed is looked at again; if it goes on changing, what was the heap's
 * the last time and looks the same now still is. */
static void take_over_parts(struct search *s)
{
    struct win_heaps *h = &s->claimer->heaps;
    unsigned before = 1 - h->now;

    for (uint32_t i = 0; i < h->n_parts[before]; i++) {
        const struct win_heap_part *p = &h->parts[before][i];

        if (p->heap == s->heap && !is_known_part(h, h->now, p->base) &&
            win_allocation_end(s->claimer, p->base) == p->end)
            keep_part(h, p->base, p->end, p->heap);
    }
}

static void search_heap(struct mt_claimer *c, const struct mt_snapshot *snapshot, HANDLE handle)
{
    struct search s = {
        .claimer = c, .snapshot = snapshot, .heap = (uintptr_t)handle, .broken = true};

    uint32_t first;

    s.heap_end = win_allocation_end(c, s.heap);
    keep_part(&c->heaps, s.heap, s.heap_end, s.heap);
    if (s.heap_end < s.heap + SEGMENT_HEAP_HEADER_BYTES)
        return;
    first = c->heaps.n_parts[c->heaps.now];
    for (unsigned i = 0; i < TRIES && s.broken; i++) {
        c->heaps.n_parts[c->heaps.now] = first;
        s.broken = false;
        search_header(&s);
    }
    if (s.broken)
        take_over_parts(&s);
}

/* ---- claims ---- */

static void claim_part(const struct win_heap_part *p, uint32_t owner, struct mt_claim_set *out)
{
    bool first = p->base == p->heap;

    mt_claim_add(out, &(struct mt_claim){.base = p->base,
                                         .end = p->end,
                                         .owner = owner,
                                         .type = MT_TYPE_HEAP,
                                         .rank = first ? MT_RANK_ARENA : MT_RANK_CHUNK,
                                         .flags = MT_CLAIM_APART,
                                         .confidence = first ? MT_CONFIDENCE_A : MT_CONFIDENCE_B});
}

void win_claim_heaps(struct mt_claimer *c, const struct mt_snapshot *snapshot,
                     struct mt_claim_set *out)
{
    struct win_heaps *h = &c->heaps;
    DWORD n = GetProcessHeaps(WIN_HEAPS, h->handles);

    h->now = 1 - h->now;
    h->n_parts[h->now] = 0;
    if (n > WIN_HEAPS) {
        out->truncated = true;
        n = 0;
    }
    for (DWORD i = 0; i < n; i++)
        search_heap(c, snapshot, h->handles[i]);
    out->truncated = out->truncated || h->n_parts[h->now] == WIN_HEAP_PARTS;
    for (uint32_t i = 0; i < h->n_parts[h->now]; i++) {
        const struct win_heap_part *p = &h->parts[h->now][i];

        claim_part(p, mt_strings_addf(c->strings, "heap %llx", (unsigned long long)p->heap), out);
    }
}
