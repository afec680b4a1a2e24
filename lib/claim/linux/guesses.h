/* SPDX-License-Identifier: MIT */
/* Blocks of malloc's that were only guessed, judged by malloc's own totals. */
#ifndef MT_CLAIM_LINUX_GUESSES_H
#define MT_CLAIM_LINUX_GUESSES_H

#include "claim/linux/provider.h"

#define MT_GUESSES_MOST 256

struct mt_guesses {
    uint32_t n;
    struct {
        uint64_t base, end;
        bool refuted; /* else confirmed */
    } items[MT_GUESSES_MOST]; /* by address */
};

/* Blocks by address; what malloc says it mapped one by one, in bytes and in number. */
void mt_guesses_judge(struct mt_guesses *g, const struct mt_block *blocks, uint32_t n_blocks,
                      uint64_t mapped_bytes, uint64_t n_mapped);

/* Confidence of a guessed block: B when confirmed, 0 when refuted, else C. */
char mt_guesses_confidence(const struct mt_guesses *g, const struct mt_block *b);

#endif
