/* SPDX-License-Identifier: MIT */
/* claim/linux: guessed blocks against malloc's own totals (mallinfo2: hblkhd, hblks).
 * In: the blocks of the last collection, the totals a moment later. Out: which guesses are too
 * much, or all true. Called by heap_chunks.c. Pure.
 *
 * The program goes on between the two, so a judgement holds for exactly the blocks it was made
 * of, and until the next. */
#include "claim/linux/guesses.h"

struct sums {
    uint64_t sure, guessed, n;
};

/* The index of the judgement of exactly these addresses; n = none. */
static uint32_t find(const struct mt_guesses *g, uint64_t base, uint64_t end)
{
    uint32_t low = 0, high = g->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (g->items[middle].base < base)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->n && g->items[low].base == base && g->items[low].end == end ? low : g->n;
}

/* Also one that is sure only since it was confirmed. */
static bool is_guess(const struct mt_guesses *before, const struct mt_block *b)
{
    return b->kind == MT_BLOCK_MALLOC && (b->confidence == MT_CONFIDENCE_C ||
                                          find(before, b->base, b->end) < before->n);
}

/* In order of address. */
static void add(struct mt_guesses *g, uint64_t base, uint64_t end, bool refuted)
{
    uint32_t at = g->n;

    if (g->n == MT_GUESSES_MOST)
        return;
    for (; at > 0 && g->items[at - 1].base > base; at--)
        g->items[at] = g->items[at - 1];
    g->items[at].base = base;
    g->items[at].end = end;
    g->items[at].refuted = refuted;
    g->n++;
}

static struct sums sum_up(const struct mt_guesses *before, const struct mt_block *blocks,
                          uint32_t n_blocks)
{
    struct sums s = {0, 0, 0};

    for (uint32_t i = 0; i < n_blocks; i++) {
        if (blocks[i].kind != MT_BLOCK_MALLOC)
            continue;
        *(is_guess(before, &blocks[i]) ? &s.guessed : &s.sure) += blocks[i].end - blocks[i].base;
        s.n++;
    }
    return s;
}

/* What was refuted before is in no list of blocks: it stays so while there is no room for it. */
static void keep_refuted(struct mt_guesses *g, const struct mt_guesses *before, uint64_t room)
{
    for (uint32_t i = 0; i < before->n; i++)
        if (before->items[i].refuted && before->items[i].end - before->items[i].base > room)
            add(g, before->items[i].base, before->items[i].end, true);
}

void mt_guesses_judge(struct mt_guesses *g, const struct mt_block *blocks, uint32_t n_blocks,
                      uint64_t mapped_bytes, uint64_t n_mapped)
{
    struct mt_guesses before = *g;
    struct sums s = sum_up(&before, blocks, n_blocks);
    uint64_t room = mapped_bytes > s.sure ? mapped_bytes - s.sure : 0;

    g->n = 0;
    keep_refuted(g, &before, room > s.guessed ? room - s.guessed : 0);
    for (uint32_t i = 0; i < n_blocks; i++) {
        if (!is_guess(&before, &blocks[i]))
            continue;
        if (s.guessed == room && s.n == n_mapped)
            add(g, blocks[i].base, blocks[i].end, false);
        else if (blocks[i].end - blocks[i].base > room)
            add(g, blocks[i].base, blocks[i].end, true);
    }
}

char mt_guesses_confidence(const struct mt_guesses *g, const struct mt_block *b)
{
    uint32_t i = find(g, b->base, b->end);

    if (i == g->n)
        return MT_CONFIDENCE_C;
    return g->items[i].refuted ? '\0' : MT_CONFIDENCE_B;
}
