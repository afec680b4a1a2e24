/* SPDX-License-Identifier: MIT */
/* claim/linux: glibc's arenas beside the main one, by the header at the start of each heap.
 * In: memory at aligned addresses of writable regions. Out: HEAP claims, the tails reserved.
 * Called by claimer.c. Must not call malloc_info: it takes every arena's lock.
 *
 * A heap lies at a multiple of 64 MiB (of four huge pages with glibc 2.35–2.41 and its hugetlb
 * tunable) and begins with { arena, previous heap, size, accessible size, [page size, 2.35] }; the
 * first heap of an arena has the arena right behind: 0x20 bytes in glibc 2.10–2.34, 0x30 since. A
 * full heap has no tail and may be one region with the next, so every multiple inside a region is
 * looked at. What a heap gave back when it shrank stays accessible beyond its size: it is the
 * arena's, but not in it, as malloc counts. */
#include "claim/linux/provider.h"

#include "base/compiler.h"
#include "base/error.h"
#include "base/memory.h"

#define HEAPS 16384u
#define PROBES_A_REGION 4096u
#define HEAP_BYTES (UINT64_C(64) << 20)
#define HUGE_HEAP_STEP (UINT64_C(8) << 20) /* four huge pages of 2 MiB */
#define ROUNDS_BETWEEN_PROBES 16u

/* struct malloc_state ends with { …, attached threads, bytes from the system, most of them ever };
 * where, changed with the versions. */
#define STATE_TAIL_FIRST 1600u
#define STATE_TAIL_WORDS 128u

static const uint64_t arena_offsets[] = {0x20, 0x30};

struct heap {
    uint64_t base, region_base, region_end;
    uint64_t arena, previous, size, accessible, page; /* as the header says */
    uint64_t limit; /* end of the address space set aside for it */
    bool sound;     /* the numbers fit each other and the region */
    bool accepted;  /* and it belongs to an arena that exists */
    bool first;     /* of its arena */
};

struct list {
    uint32_t n;
    struct heap heaps[HEAPS]; /* candidates by address */
};

struct mt_arenas {
    unsigned now;
    uint32_t n_arenas;
    struct list lists[2]; /* of this collection and the one before */
};

int mt_arenas_new(struct mt_arenas **out)
{
    *out = mt_memory_alloc(sizeof(**out));
    return *out ? TRACER_OK : mt_error_set(TRACER_ENOMEM, "no address space for malloc's arenas");
}

void mt_arenas_free(struct mt_arenas *a)
{
    mt_memory_free(a);
}

uint32_t mt_arenas_count(const struct mt_arenas *a)
{
    return a->n_arenas;
}

/* ---- one candidate ---- */

/* A heap that grew after the list was read has more accessible bytes than its region: then its
 * inaccessible tail up to the very end of its space is the proof. */
static bool accessible_fits(const struct mt_look *look, const struct heap *h)
{
    uint64_t seen = (h->region_end < h->limit ? h->region_end : h->limit) - h->base;
    uint32_t tail = mt_snapshot_find(look->snapshot, h->region_end);

    if (h->accessible == seen)
        return true;
    return h->accessible > seen && h->accessible <= h->limit - h->base &&
           tail < look->snapshot->n_regions && !look->snapshot->regions[tail].protection &&
           look->snapshot->regions[tail].end >= h->limit;
}

/* Alignment and numbers of the header; who owns it is asked later. */
static bool is_sound(const struct mt_look *look, struct heap *h)
{
    uint64_t page = look->remote->page_bytes;
    bool huge = h->page > page && h->page % page == 0 && h->page <= (UINT64_C(1) << 30);

    h->limit = h->base + (huge && 4 * h->page < HEAP_BYTES ? 4 * h->page : HEAP_BYTES);
    if (h->base % (h->limit - h->base) || !h->arena || h->arena % 16 || h->previous % 16)
        return false;
    return h->size > 0 && h->size % page == 0 && h->accessible % page == 0 &&
           h->size <= h->accessible && accessible_fits(look, h);
}

static void probe(const struct mt_look *look, const struct mt_region *r, uint64_t base,
                  struct heap *out)
{
    uint64_t words[5];

    *out = (struct heap){.base = base, .region_base = r->base, .region_end = r->end};
    if (!mt_remote_read(look->remote, base, words, sizeof(words)))
        return;
    out->arena = words[0];
    out->previous = words[1];
    out->size = words[2];
    out->accessible = words[3];
    out->page = words[4];
    out->sound = is_sound(look, out);
}

static const struct heap *find(const struct list *l, uint64_t base)
{
    uint32_t low = 0, high = l->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (l->heaps[middle].base < base)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->n && l->heaps[low].base == base ? &l->heaps[low] : NULL;
}

/* What is no heap is not read again as long as its region stays, mostly. */
static void add_candidate(struct mt_arenas *a, const struct mt_look *look,
                          const struct mt_region *r, uint64_t base)
{
    struct list *now = &a->lists[a->now];
    const struct heap *before = find(&a->lists[1 - a->now], base);
    struct heap *h = &now->heaps[now->n++];

    if (before && !before->sound && before->region_base == r->base &&
        before->region_end == r->end && look->round % ROUNDS_BETWEEN_PROBES) {
        *h = *before;
        return;
    }
    probe(look, r, base, h);
}

static bool has_sound(const struct list *l, uint32_t first)
{
    while (first < l->n && !l->heaps[first].sound)
        first++;
    return first < l->n;
}

/* A region of thousands of multiples is rather a sanitizer's shadow memory: such ones get half of
 * the places at most, and nothing is lacking where they hold no heap. */
static void add_candidates(struct mt_arenas *a, const struct mt_look *look,
                           const struct mt_region *r)
{
    const struct list *now = &a->lists[a->now];
    bool vast = (r->end - r->base) / HEAP_BYTES >= PROBES_A_REGION;
    uint32_t first = now->n, places = vast ? HEAPS / 2 : HEAPS;
    uint64_t step = r->base % HUGE_HEAP_STEP ? HEAP_BYTES : HUGE_HEAP_STEP;
    uint64_t base = (r->base + step - 1) / step * step;

    for (uint32_t n = 0; base >= r->base && base < r->end; n++) {
        if (now->n >= places || (vast && n == PROBES_A_REGION)) {
            look->out->truncated |= !vast || has_sound(now, first);
            return;
        }
        add_candidate(a, look, r, base);
        base = (base / HEAP_BYTES + 1) * HEAP_BYTES;
    }
}

/* ---- whose they are ---- */

static bool arena_is_inside(const struct heap *h, uint64_t heap_base)
{
    for (size_t i = 0; i < MT_COUNT_OF(arena_offsets); i++)
        if (h->arena == heap_base + arena_offsets[i])
            return true;
    return false;
}

static bool is_first(const struct list *l, uint64_t base)
{
    const struct heap *h = find(l, base);

    return h && h->first;
}

/* A further heap names an arena that exists, and before it a heap of the same arena. That one need
 * not be accepted first: a chain of hundreds lies in any order of address. */
static bool continues(const struct list *l, const struct heap *h)
{
    const struct heap *before = find(l, h->previous);

    if (!before || before == h || !before->sound || before->arena != h->arena)
        return false;
    for (size_t i = 0; i < MT_COUNT_OF(arena_offsets); i++)
        if (is_first(l, h->arena - arena_offsets[i]))
            return true;
    return false;
}

static void accept(struct mt_arenas *a)
{
    struct list *l = &a->lists[a->now];

    a->n_arenas = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        struct heap *h = &l->heaps[i];

        h->first = h->sound && h->previous == 0 && arena_is_inside(h, h->base);
        a->n_arenas += h->first;
    }
    for (uint32_t i = 0; i < l->n; i++) {
        struct heap *h = &l->heaps[i];

        h->accepted = h->first || (h->sound && continues(l, h));
    }
}

/* ---- the arena of the tracer's own thread ---- */

static uint64_t arena_size(const struct list *l, uint64_t arena)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < l->n; i++)
        if (l->heaps[i].accepted && l->heaps[i].arena == arena)
            size += l->heaps[i].size;
    return size;
}

/* Threads that take from this arena; 0 = unknown. The word before the one that equals the sum of
 * its heaps is their number, whatever the version. */
static uint64_t attached_threads(const struct mt_look *look, const struct list *l, uint64_t arena)
{
    uint64_t words[STATE_TAIL_WORDS];
    uint64_t size = arena_size(l, arena);

    if (!mt_remote_read(look->remote, arena + STATE_TAIL_FIRST, words, sizeof(words)))
        return 0;
    for (uint32_t i = 1; i + 1 < STATE_TAIL_WORDS; i++)
        if (words[i] == size && words[i + 1] >= size)
            return words[i - 1];
    return 0;
}

/* The arena that holds what this thread got from malloc, if no other thread uses it; else 0. */
static uint64_t own_arena(const struct mt_look *look, const struct list *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct heap *h = &l->heaps[i];

        if (h->accepted && look->own_address >= h->base && look->own_address < h->limit)
            return attached_threads(look, l, h->arena) == 1 ? h->arena : 0;
    }
    return 0;
}

/* ---- claims ---- */

static void claim_tail(struct mt_look *look, const struct heap *h, struct mt_claim c)
{
    uint32_t tail = mt_snapshot_find(look->snapshot, c.end);

    if (c.end == h->limit || tail == look->snapshot->n_regions ||
        look->snapshot->regions[tail].protection ||
        !mt_look_is_anonymous(look, &look->snapshot->regions[tail]))
        return;
    c.base = c.end;
    c.end =
        look->snapshot->regions[tail].end < h->limit ? look->snapshot->regions[tail].end : h->limit;
    c.flags = MT_CLAIM_RESERVED;
    mt_claim_add(look->out, &c);
}

static void claim_heap(struct mt_look *look, const struct heap *h, bool own)
{
    uint64_t end = h->region_end < h->limit ? h->region_end : h->limit;
    struct mt_claim c = {.base = h->base,
                         .end = h->base + h->size < end ? h->base + h->size : end,
                         .owner =
                             mt_look_string(look, own ? "memtracer: malloc arena" : "malloc arena"),
                         .type = own ? MT_TYPE_TRACER : MT_TYPE_HEAP,
                         .rank = own ? MT_RANK_TRACER : MT_RANK_ARENA,
                         .confidence = MT_CONFIDENCE_B};

    mt_claim_add(look->out, &c);
    if (c.end < end) {
        c.base = c.end;
        c.end = end;
        c.flags = MT_CLAIM_RESERVED;
        mt_claim_add(look->out, &c);
    }
    claim_tail(look, h, c);
}

void mt_arenas_collect(struct mt_arenas *a, struct mt_look *look)
{
    struct list *l;
    uint64_t own;

    a->now = 1 - a->now;
    l = &a->lists[a->now];
    l->n = 0;
    for (uint32_t i = 0; i < look->snapshot->n_regions; i++)
        if (mt_look_is_data(look, &look->snapshot->regions[i]))
            add_candidates(a, look, &look->snapshot->regions[i]);
    accept(a);
    own = own_arena(look, l);
    for (uint32_t i = 0; i < l->n; i++)
        if (l->heaps[i].accepted)
            claim_heap(look, &l->heaps[i], own && l->heaps[i].arena == own);
}
