/* SPDX-License-Identifier: MIT */
/* claim/linux: malloc blocks that glibc mapped one by one, by the header at the start of each.
 * In: memory of nameless writable regions, what others claimed in them. Out: HEAP claims, each
 * block apart. Called by claimer.c after all providers whose claims bound blocks.
 * Must not trust a header: data may look like one.
 *
 * The kernel joins neighbours into one region, so a region is walked from its start, and from the
 * end of whatever is known inside: header, size, next header. It is very likely one when the chain
 * ends where the region or something known begins; a chain that ends before memory of unknown owner
 * is a guess, and only large blocks are guessed. An absent page has no header of malloc's. */
#include "claim/linux/provider.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "claim/linux/guesses.h"
#include "claim/linux/known_spans.h"

#define REGIONS 65536u
#define BLOCKS 131072u
#define GUESSED_BYTES_LEAST (UINT64_C(128) * 1024) /* glibc's lowest default threshold */
#define DESCRIPTOR_BLOCK_MOST (UINT64_C(256) * 1024)
#define BLOCKS_A_REGION 65536u
#define CHECKS_A_ROUND 4u        /* headers in unchanged regions that are read again, in turn */
#define NEW_A_ROUND_LEAST 1024u  /* changed regions that are walked whatever the deadline */
#define CHECKS_OF_A_WHOLE 64u    /* the same where time does not matter */
#define READ_A_ROUND_LEAST 1024u /* headers that are read whatever the deadline */

struct walked {
    uint64_t base, end;
    uint32_t first, n; /* into blocks */
    bool cut;          /* not walked to its end yet */
};

/* What a walk believes of the last collection's blocks. */
enum belief {
    BELIEVE_CHECKED, /* all, if that leads to a good end */
    BELIEVE_ALL,     /* all: they were read while this same walk began */
    BELIEVE_NONE
};

/* One collection: regions and blocks by address. */
struct list {
    uint32_t n_regions, n_blocks;
    struct walked regions[REGIONS];
    struct mt_block blocks[BLOCKS];
};

struct mt_chunks {
    unsigned now;
    bool judged; /* guesses were: all regions are walked again */
    struct mt_guesses guesses;
    bool cut; /* the deadline or a full list ended the walk of the region at hand */
    uint32_t n_new, n_read;
    uint32_t next_region, next_block, n_checks; /* see check_region() */
    struct mt_known_spans known;
    struct list lists[2];
};

int mt_chunks_new(struct mt_chunks **out)
{
    *out = mt_memory_alloc(sizeof(**out));
    return *out ? TRACER_OK : mt_error_set(TRACER_ENOMEM, "no address space for malloc's blocks");
}

void mt_chunks_free(struct mt_chunks *c)
{
    mt_memory_free(c);
}

/* ---- one header ---- */

/* malloc's first: a runtime's may be a guess. A stack lies in malloc's blocks only. */
static bool read_block(const struct mt_chunks *c, const struct mt_look *look, uint64_t base,
                       uint64_t limit, struct mt_block *out)
{
    uint32_t k;

    if (mt_malloc_block_read(look, base, limit, out) &&
        mt_known_respects(&c->known, base, out->end))
        return true;
    if ((!look->self || look->allocator == MT_ALLOCATOR_MUSL) &&
        mt_musl_block_read(look, base, limit, out))
        return true;
    if (!look->runtimes)
        return false;
    k = mt_spans_from(c->known.spans, c->known.n, base);
    if (k < c->known.n && c->known.spans[k].base < limit)
        limit = c->known.spans[k].base;
    return limit > base && mt_runtime_block_read(look, base, limit, out);
}

/* The block that began here in the last collection. */
static const struct mt_block *find_before(const struct mt_chunks *c, uint64_t base)
{
    const struct list *l = &c->lists[1 - c->now];
    uint32_t low = 0, high = l->n_blocks;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (l->blocks[middle].base < base)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->n_blocks && l->blocks[low].base == base ? &l->blocks[low] : NULL;
}

/* ---- one region ---- */

/* Where something known begins; the main thread's descriptor lies in a headerless block. */
static bool ends_well(const struct mt_chunks *c, const struct mt_look *look, uint64_t at,
                      uint64_t region_end)
{
    return at == region_end || mt_spans_begin(c->known.spans, c->known.n, at) ||
           (look->main_descriptor >= at && look->main_descriptor < region_end &&
            look->main_descriptor - at < DESCRIPTOR_BLOCK_MOST);
}

/* A runtime's blocks are no blocks of their own to anybody: neighbours are one. False = full. */
static bool add_block(struct list *l, uint32_t first, const struct mt_block *b)
{
    struct mt_block *last = l->n_blocks > first ? &l->blocks[l->n_blocks - 1] : NULL;

    if (last && b->kind != MT_BLOCK_MALLOC && last->kind == b->kind && last->end == b->base &&
        last->confidence == b->confidence)
        last->end = b->end;
    else if (l->n_blocks == BLOCKS)
        return false;
    else
        l->blocks[l->n_blocks++] = *b;
    return true;
}

/* A long chain is read over several collections. */
static bool may_read(struct mt_chunks *c, struct mt_look *look)
{
    if (c->n_read++ < READ_A_ROUND_LEAST || !look->out->deadline_ns ||
        mt_os_monotonic_ns() < look->out->deadline_ns)
        return true;
    look->out->partial = c->cut = true;
    return false;
}

/* Adds the blocks from `at` on. With `trust` a block remembered from the last collection is not
 * read again. Returns the chain's end. */
static uint64_t follow(struct mt_chunks *c, struct mt_look *look, uint64_t at, uint64_t region_end,
                       bool trust)
{
    struct list *l = &c->lists[c->now];
    uint32_t first = l->n_blocks;

    for (unsigned n = 0; at < region_end; n++) {
        const struct mt_block *before = trust ? find_before(c, at) : NULL;
        struct mt_block b;

        if (before && before->end <= region_end)
            b = *before;
        else if (mt_spans_hold(c->known.spans, c->known.n, at) || !may_read(c, look) ||
                 !read_block(c, look, at, region_end, &b))
            break;
        b.base = at;
        if (n == BLOCKS_A_REGION || !add_block(l, first, &b)) {
            look->out->truncated = c->cut = true;
            break;
        }
        at = b.end;
    }
    return at;
}

/* A chain that ends badly is a guess: small blocks of malloc in it are dropped, and what malloc's
 * own total has no room for. */
static void keep_guesses(struct mt_chunks *c, uint32_t first)
{
    struct list *l = &c->lists[c->now];
    uint32_t kept = first;

    for (uint32_t i = first; i < l->n_blocks; i++) {
        struct mt_block b = l->blocks[i];

        if (b.kind == MT_BLOCK_MALLOC)
            b.confidence = mt_guesses_confidence(&c->guesses, &b);
        if (b.kind != MT_BLOCK_MALLOC || (b.confidence && b.end - b.base >= GUESSED_BYTES_LEAST))
            l->blocks[kept++] = b;
    }
    l->n_blocks = kept;
}

/* Adds the chain that begins at `at`. Returns the chain's end. Of one that is cut short all is kept
 * as it is: so many headers in a row are no accident. */
static uint64_t walk_chain(struct mt_chunks *c, struct mt_look *look, uint64_t at,
                           uint64_t region_end, enum belief belief)
{
    struct list *l = &c->lists[c->now];
    uint32_t first = l->n_blocks;
    uint64_t end = follow(c, look, at, region_end, belief != BELIEVE_NONE);

    if (belief == BELIEVE_CHECKED && !c->cut && end > at && !ends_well(c, look, end, region_end)) {
        l->n_blocks = first;
        end = follow(c, look, at, region_end, false);
    }
    if (!c->cut && !ends_well(c, look, end, region_end))
        keep_guesses(c, first);
    return end;
}

/* The same, and what follows it where blocks are known by themselves. */
static uint64_t walk_from(struct mt_chunks *c, struct mt_look *look, uint64_t at,
                          uint64_t region_end, enum belief belief)
{
    at = walk_chain(c, look, at, region_end, belief);
    while (look->allocator == MT_ALLOCATOR_MUSL && at < region_end) {
        uint64_t next = mt_musl_next_block(look, at, region_end);

        at = walk_chain(c, look, next, region_end, belief);
        if (at == next)
            break;
    }
    return at;
}

/* Known spans of one region are few; a span may lie in another. */
static void walk_region(struct mt_chunks *c, struct mt_look *look, struct walked *w,
                        enum belief belief)
{
    uint64_t at;
    uint32_t k;

    c->cut = false;
    mt_known_gather(&c->known, look);
    at = walk_from(c, look, w->base, w->end, belief);
    k = mt_spans_from(c->known.spans, c->known.n, w->base);
    if (k > 0 && c->known.spans[k - 1].end > at) /* one that reaches in from below */
        at = walk_from(c, look, c->known.spans[k - 1].end, w->end, belief);
    for (; k < c->known.n && c->known.spans[k].base < w->end; k++)
        if (c->known.spans[k].end > at && c->known.spans[k].end < w->end)
            at = walk_from(c, look, c->known.spans[k].end, w->end, belief);
    w->n = c->lists[c->now].n_blocks - w->first;
    w->cut = c->cut;
}

static void copy_region(struct mt_chunks *c, struct mt_look *look, struct walked *w,
                        const struct walked *before)
{
    struct list *l = &c->lists[c->now];

    w->n = before->n <= BLOCKS - l->n_blocks ? before->n : BLOCKS - l->n_blocks;
    memcpy(&l->blocks[l->n_blocks], &c->lists[1 - c->now].blocks[before->first],
           w->n * sizeof(struct mt_block));
    l->n_blocks += w->n;
    w->cut = w->n < before->n;
    look->out->truncated |= w->cut;
}

/* Both lists are by address: `*cursor` only moves up. */
static const struct walked *same_before(const struct mt_chunks *c, const struct walked *w,
                                        uint32_t *cursor)
{
    const struct list *l = &c->lists[1 - c->now];

    while (*cursor < l->n_regions && l->regions[*cursor].base < w->base)
        (*cursor)++;
    if (*cursor == l->n_regions || l->regions[*cursor].base != w->base ||
        l->regions[*cursor].end != w->end)
        return NULL;
    return &l->regions[*cursor];
}

static void show(const struct mt_chunks *c, struct mt_look *look)
{
    const struct list *l = &c->lists[c->now];
    uint32_t names[MT_BLOCK_KINDS] = {0};

    for (uint32_t i = 0; i < l->n_blocks; i++) {
        const struct mt_block *b = &l->blocks[i];
        const struct mt_block_owner *owner = &mt_block_owners[b->kind];

        if (!names[b->kind])
            names[b->kind] = mt_look_string(look, owner->name);
        mt_claim_add(look->out, &(struct mt_claim){.base = b->base,
                                                   .end = b->end,
                                                   .owner = names[b->kind],
                                                   .flags = owner->flags,
                                                   .type = owner->type,
                                                   .rank = owner->rank,
                                                   .confidence = b->confidence});
    }
}

/* ---- what did not change on the outside may have on the inside ---- */

static bool header_holds(const struct mt_look *look, const struct mt_block *b, uint64_t region_end)
{
    struct mt_block now;

    return b->kind == MT_BLOCK_MALLOC && mt_malloc_block_read(look, b->base, region_end, &now) &&
           now.end == b->end;
}

static void check_next_region(struct mt_chunks *c)
{
    c->next_region++;
    c->next_block = 0;
    c->n_checks -= c->n_checks > 0;
}

/* Reads a few headers again, over many rounds where a region has many. True = to be walked now:
 * from what is remembered when all of it still holds, else (`changed`) anew. */
static bool check_region(struct mt_chunks *c, const struct mt_look *look,
                         const struct walked *before, bool *changed)
{
    const struct mt_block *blocks = &c->lists[1 - c->now].blocks[before->first];

    for (; c->next_block < before->n; c->next_block++, c->n_checks--) {
        if (c->n_checks == 0)
            return false;
        *changed = !header_holds(look, &blocks[c->next_block], before->end);
        if (*changed)
            break;
    }
    check_next_region(c);
    return true;
}

/* A region left out now is as new in the next collection. */
static bool has_room(struct mt_chunks *c, struct mt_look *look, bool is_new)
{
    if (c->lists[c->now].n_regions == REGIONS) {
        look->out->truncated = true;
        return false;
    }
    if (!is_new || c->n_new++ < NEW_A_ROUND_LEAST || !look->out->deadline_ns ||
        mt_os_monotonic_ns() < look->out->deadline_ns)
        return true;
    look->out->partial = true;
    return false;
}

static void collect_region(struct mt_chunks *c, struct mt_look *look, const struct mt_region *r,
                           uint32_t *cursor)
{
    struct list *l = &c->lists[c->now];
    struct walked w = {r->base, r->end, l->n_blocks, 0, false};
    const struct walked *before = same_before(c, &w, cursor);
    bool due = l->n_regions == c->next_region && c->n_checks > 0;
    bool resume = before && before->cut && !c->judged;
    bool changed = false, fresh = !look->out->deadline_ns; /* a whole look believes nothing */
    bool walk = !before || before->cut || c->judged;

    if (!has_room(c, look, !before))
        return;
    if (due && walk)
        check_next_region(c);
    else if (due)
        walk = check_region(c, look, before, &changed);
    if (walk)
        walk_region(c, look, &w,
                    fresh || changed ? BELIEVE_NONE
                    : resume         ? BELIEVE_ALL
                                     : BELIEVE_CHECKED);
    else
        copy_region(c, look, &w, before);
    l->regions[l->n_regions++] = w;
}

void mt_chunks_collect(struct mt_chunks *c, struct mt_look *look)
{
    const struct mt_snapshot *s = look->snapshot;
    uint32_t cursor = 0;
    struct list *l;

    c->now = 1 - c->now;
    c->known.gathered = false;
    c->n_new = c->n_read = 0;
    c->n_checks = look->out->deadline_ns ? CHECKS_A_ROUND : CHECKS_OF_A_WHOLE;
    l = &c->lists[c->now];
    l->n_regions = l->n_blocks = 0;
    for (uint32_t i = 0; i < s->n_regions; i++)
        if (mt_look_is_data(look, &s->regions[i]))
            collect_region(c, look, &s->regions[i], &cursor);
    if (c->next_region >= l->n_regions)
        c->next_region = c->next_block = 0;
    c->judged = false;
    show(c, look);
}

void mt_chunks_judge(struct mt_chunks *c, uint64_t mapped_bytes, uint64_t n_mapped)
{
    const struct list *l = &c->lists[c->now];
    uint32_t n_before = c->guesses.n;

    mt_guesses_judge(&c->guesses, l->blocks, l->n_blocks, mapped_bytes, n_mapped);
    c->judged = c->guesses.n > 0 || n_before > 0;
}
