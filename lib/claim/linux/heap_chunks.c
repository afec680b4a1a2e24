/* SPDX-License-Identifier: MIT */
/* claim/linux: malloc blocks that glibc mapped one by one, by the header at the start of each.
 * In: memory of nameless writable regions, what others claimed in them. Out: HEAP claims, each
 * block apart. Called by claimer.c after all providers whose claims bound blocks.
 * Must not trust a header: data may look like one.
 *
 * The kernel joins neighbours into one region, so a region is walked from its start, and from the
 * end of whatever is known inside: header, size, next header. A header is { 0, bytes | 2 } with
 * bytes in whole pages up to glibc 2.42, { 0 or 1, (bytes - 16) | 2 } since. It is very likely one
 * when the chain ends where the region or something known begins; a chain that ends before memory
 * of unknown owner is a guess, and only large blocks are guessed. A header's page was written by
 * malloc: a page that is absent ends the walk. */
#include "claim/linux/provider.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define REGIONS 65536u
#define BLOCKS 131072u
#define KNOWN 65536u
#define GUESSED_BYTES_LEAST (UINT64_C(128) * 1024) /* glibc's lowest default threshold */
#define DESCRIPTOR_BLOCK_MOST (UINT64_C(256) * 1024)
#define BLOCKS_A_REGION 65536u
#define CHECKS_A_ROUND 32u /* unchanged regions that are walked again, in turn … */
#define ROUNDS_BETWEEN_CHECKS 4u

#define SIZE_FLAGS 7u
#define SIZE_MAPPED 2u

struct block {
    uint64_t base, end;
    char confidence;
};

struct walked {
    uint64_t base, end;
    uint32_t first, n; /* into blocks */
};

/* One collection: regions and blocks by address. */
struct list {
    uint32_t n_regions, n_blocks;
    struct walked regions[REGIONS];
    struct block blocks[BLOCKS];
};

struct span {
    uint64_t base, end;
};

struct mt_chunks {
    unsigned now;
    bool have_known;
    uint32_t n_known, next_check;
    struct span known[KNOWN]; /* by base: stacks, arenas, images, our own */
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

/* ---- what is known already ---- */

static void add_known(struct mt_chunks *c, uint64_t base, uint64_t end)
{
    if (c->n_known < KNOWN)
        c->known[c->n_known++] = (struct span){base, end};
}

static void add_own(void *user, uint64_t base, uint64_t bytes)
{
    add_known(user, base, base + bytes);
}

static void sift_down(struct span *s, uint32_t n, uint32_t at)
{
    struct span moving = s[at];

    for (uint32_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && s[child].base < s[child + 1].base)
            child++;
        if (moving.base >= s[child].base)
            break;
        s[at] = s[child];
        at = child;
    }
    s[at] = moving;
}

static void sort_known(struct mt_chunks *c)
{
    struct span *s = c->known;

    for (uint32_t i = c->n_known / 2; i-- > 0;)
        sift_down(s, c->n_known, i);
    for (uint32_t end = c->n_known; end-- > 1;) {
        struct span last = s[end];

        s[end] = s[0];
        s[0] = last;
        sift_down(s, end, 0);
    }
}

/* Gathered when the first region has to be walked: mostly none has. */
static void gather_known(struct mt_chunks *c, const struct mt_look *look)
{
    if (c->have_known)
        return;
    c->have_known = true;
    c->n_known = 0;
    for (uint32_t i = 0; i < look->out->n_claims; i++) {
        const struct mt_claim *k = &look->out->claims[i];

        if (k->rank == MT_RANK_IMAGE || k->rank == MT_RANK_ARENA || k->rank == MT_RANK_STACK)
            add_known(c, k->base, k->end);
    }
    if (look->self)
        mt_memory_each(add_own, c);
    sort_known(c);
}

/* The first known span that begins at or after `address`; n_known = none. */
static uint32_t known_from(const struct mt_chunks *c, uint64_t address)
{
    uint32_t low = 0, high = c->n_known;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (c->known[middle].base < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool begins_known(const struct mt_chunks *c, uint64_t address)
{
    uint32_t k = known_from(c, address);

    return k < c->n_known && c->known[k].base == address;
}

/* ---- one header ---- */

static bool sizes_fit(const uint64_t *w, uint64_t page, uint64_t *out_bytes)
{
    uint64_t bytes = w[1] & ~(uint64_t)SIZE_FLAGS;

    if ((w[1] & SIZE_FLAGS) != SIZE_MAPPED)
        return false;
    if (w[0] > 1 || (w[0] == 1 && bytes % page == 0))
        return false;
    if (bytes % page != 0)
        bytes += 16;
    *out_bytes = bytes;
    return bytes >= page && bytes % page == 0;
}

/* A stack may lie inside a block, but nothing known lies across its borders or in its header. */
static bool respects_known(const struct mt_chunks *c, uint64_t base, uint64_t end)
{
    uint32_t k = known_from(c, base);

    for (; k < c->n_known && c->known[k].base < end; k++)
        if (c->known[k].base == base || c->known[k].end > end)
            return false;
    return true;
}

static bool read_block(const struct mt_chunks *c, const struct mt_look *look, uint64_t base,
                       uint64_t limit, uint64_t *out_end)
{
    uint64_t words[2], bytes;

    if (!mt_remote_read(look->remote, base, words, sizeof(words)) ||
        !sizes_fit(words, look->remote->page_bytes, &bytes) || bytes > limit - base ||
        !respects_known(c, base, base + bytes))
        return false;
    *out_end = base + bytes;
    return true;
}

/* The block that began here in the last collection. */
static const struct block *find_before(const struct mt_chunks *c, uint64_t base)
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

/* A chain ends well where something known begins; the main thread's descriptor lies in a block of
 * the loader's that has no header. */
static bool ends_well(const struct mt_chunks *c, const struct mt_look *look, uint64_t at,
                      uint64_t region_end)
{
    return at == region_end || begins_known(c, at) ||
           (look->main_descriptor >= at && look->main_descriptor < region_end &&
            look->main_descriptor - at < DESCRIPTOR_BLOCK_MOST);
}

/* Adds the blocks from `at` on. With `trust` a block remembered from the last collection is not
 * read again. Returns the chain's end. */
static uint64_t follow(struct mt_chunks *c, const struct mt_look *look, uint64_t at,
                       uint64_t region_end, bool trust)
{
    struct list *l = &c->lists[c->now];

    for (unsigned n = 0; n < BLOCKS_A_REGION && l->n_blocks < BLOCKS && at < region_end; n++) {
        const struct block *before = trust ? find_before(c, at) : NULL;
        uint64_t end;

        if (before && before->end <= region_end)
            end = before->end;
        else if (!read_block(c, look, at, region_end, &end))
            break;
        l->blocks[l->n_blocks++] = (struct block){at, end, MT_CONFIDENCE_B};
        at = end;
    }
    return at;
}

/* A chain that ends badly is a guess: small blocks of it are dropped. */
static void keep_guesses(struct list *l, uint32_t first)
{
    uint32_t kept = first;

    for (uint32_t i = first; i < l->n_blocks; i++) {
        struct block b = l->blocks[i];

        b.confidence = MT_CONFIDENCE_C;
        if (b.end - b.base >= GUESSED_BYTES_LEAST)
            l->blocks[kept++] = b;
    }
    l->n_blocks = kept;
}

/* Adds the chain that begins at `at`; `fresh` = believe nothing remembered. What is remembered is
 * believed only when it leads to a good end. Returns the chain's end. */
static uint64_t walk_chain(struct mt_chunks *c, const struct mt_look *look, uint64_t at,
                           uint64_t region_end, bool fresh)
{
    struct list *l = &c->lists[c->now];
    uint32_t first = l->n_blocks;
    uint64_t end = follow(c, look, at, region_end, !fresh);

    if (!fresh && end > at && !ends_well(c, look, end, region_end)) {
        l->n_blocks = first;
        end = follow(c, look, at, region_end, false);
    }
    if (!ends_well(c, look, end, region_end))
        keep_guesses(l, first);
    return end;
}

/* Known spans of one region are few; a span may lie in another. */
static void walk_region(struct mt_chunks *c, const struct mt_look *look, struct walked *w,
                        bool fresh)
{
    uint64_t at;
    uint32_t k;

    gather_known(c, look);
    at = walk_chain(c, look, w->base, w->end, fresh);
    k = known_from(c, w->base);
    if (k > 0 && c->known[k - 1].end > at) /* one that reaches in from below */
        at = walk_chain(c, look, c->known[k - 1].end, w->end, fresh);
    for (; k < c->n_known && c->known[k].base < w->end; k++)
        if (c->known[k].end > at && c->known[k].end < w->end)
            at = walk_chain(c, look, c->known[k].end, w->end, fresh);
    w->n = c->lists[c->now].n_blocks - w->first;
}

static void copy_region(struct mt_chunks *c, struct walked *w, const struct walked *before)
{
    struct list *l = &c->lists[c->now];

    w->n = before->n <= BLOCKS - l->n_blocks ? before->n : BLOCKS - l->n_blocks;
    memcpy(&l->blocks[l->n_blocks], &c->lists[1 - c->now].blocks[before->first],
           w->n * sizeof(struct block));
    l->n_blocks += w->n;
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
    uint32_t owner = l->n_blocks ? mt_look_string(look, "malloc block") : 0;

    for (uint32_t i = 0; i < l->n_blocks; i++)
        mt_claim_add(look->out, &(struct mt_claim){.base = l->blocks[i].base,
                                                   .end = l->blocks[i].end,
                                                   .owner = owner,
                                                   .flags = MT_CLAIM_APART,
                                                   .type = MT_TYPE_HEAP,
                                                   .rank = MT_RANK_CHUNK,
                                                   .confidence = l->blocks[i].confidence});
}

/* True for the regions whose turn it is to be walked again though they did not change. */
static bool is_due(const struct mt_chunks *c, const struct mt_look *look)
{
    uint32_t i = c->lists[c->now].n_regions;

    return look->round % ROUNDS_BETWEEN_CHECKS == 0 && i >= c->next_check &&
           i < c->next_check + CHECKS_A_ROUND;
}

static void collect_region(struct mt_chunks *c, const struct mt_look *look,
                           const struct mt_region *r, uint32_t *cursor)
{
    struct list *l = &c->lists[c->now];
    struct walked w = {r->base, r->end, l->n_blocks, 0};
    const struct walked *before = same_before(c, &w, cursor);
    bool due = is_due(c, look);

    if (before && !due)
        copy_region(c, &w, before);
    else
        walk_region(c, look, &w, due);
    l->regions[l->n_regions++] = w;
}

void mt_chunks_collect(struct mt_chunks *c, struct mt_look *look)
{
    const struct mt_snapshot *s = look->snapshot;
    uint32_t cursor = 0;
    struct list *l;

    c->now = 1 - c->now;
    c->have_known = false;
    l = &c->lists[c->now];
    l->n_regions = l->n_blocks = 0;
    for (uint32_t i = 0; i < s->n_regions && l->n_regions < REGIONS; i++)
        if (mt_look_is_data(look, &s->regions[i]))
            collect_region(c, look, &s->regions[i], &cursor);
    if (look->round % ROUNDS_BETWEEN_CHECKS == 0)
        c->next_check =
            c->next_check + CHECKS_A_ROUND < l->n_regions ? c->next_check + CHECKS_A_ROUND : 0;
    show(c, look);
}
