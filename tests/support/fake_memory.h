/* SPDX-License-Identifier: MIT */
/* Memory of a process that does not exist: words at addresses; pages without a word are absent. */
#ifndef TEST_SUPPORT_FAKE_MEMORY_H
#define TEST_SUPPORT_FAKE_MEMORY_H

#include "claim/linux/provider.h"
#include "support/build.h"

#define FAKE_PAGE UINT64_C(4096)
#define FAKE_WORDS 512

static struct {
    uint64_t address, value;
} fake_words[FAKE_WORDS];
static unsigned n_fake_words, n_fake_reads;

static struct mt_remote fake_remote;
static struct mt_claim_set fake_set;
static struct mt_look fake_look;

static inline uint64_t fake_get(uint64_t address)
{
    for (unsigned i = n_fake_words; i-- > 0;)
        if (fake_words[i].address == address)
            return fake_words[i].value;
    return 0;
}

static inline bool fake_copy(struct mt_remote *r, uint64_t address, void *out, size_t bytes)
{
    (void)r;
    n_fake_reads++;
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = fake_get(address + at);

        memcpy((char *)out + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
    return true;
}

static inline uint64_t fake_presence(struct mt_remote *r, uint64_t first_page)
{
    uint64_t bits = 0;

    (void)r;
    for (unsigned i = 0; i < n_fake_words; i++)
        if (fake_words[i].address / FAKE_PAGE - first_page < MT_REMOTE_PAGES)
            bits |= UINT64_C(1) << (fake_words[i].address / FAKE_PAGE - first_page);
    return bits;
}

static const struct mt_remote_ops fake_ops = {fake_copy, fake_presence};

static inline void fake_poke(uint64_t address, uint64_t value)
{
    fake_words[n_fake_words].address = address;
    fake_words[n_fake_words++].value = value;
}

static inline int fake_begin(void **state)
{
    if (build_begin(state) || mt_claim_set_init(&fake_set, 256, 16, 16))
        return -1;
    n_fake_words = n_fake_reads = 0;
    fake_remote = (struct mt_remote){.ops = &fake_ops, .page_bytes = FAKE_PAGE};
    fake_look = (struct mt_look){.remote = &fake_remote,
                                 .strings = built.strings,
                                 .snapshot = &built,
                                 .out = &fake_set,
                                 .pid = 1000,
                                 .allocator = MT_ALLOCATOR_GLIBC};
    return 0;
}

static inline int fake_end(void **state)
{
    mt_claim_set_release(&fake_set);
    return build_end(state);
}

/* To be called before each collection. */
static inline void fake_round(void)
{
    mt_remote_refresh(&fake_remote);
    fake_set.n_claims = 0;
    fake_look.round++;
}

/* The claim with exactly these borders, NULL = none. */
static inline const struct mt_claim *fake_claim(uint64_t base, uint64_t end)
{
    for (uint32_t i = 0; i < fake_set.n_claims; i++)
        if (fake_set.claims[i].base == base && fake_set.claims[i].end == end)
            return &fake_set.claims[i];
    return NULL;
}

#endif
