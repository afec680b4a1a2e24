/* SPDX-License-Identifier: MIT */
/* Description: a table of a provider that is full says so, and one that is full to its last place
 * does not. How many there are the test has laid out itself. */
#include "support/fake_memory.h"

#include <stdlib.h>

#define MAPPED_BIT 2u
#define ARENA_LINE (UINT64_C(64) << 20)

/* The tables' places, as the files of lib/claim/linux have them. */
#define REGIONS 65536u
#define BLOCKS 131072u
#define HEAPS 16384u
#define LINES 2048u /* of a region that may hold arenas only */

static struct mt_snapshot many;
static struct mt_claim_set set;
static struct mt_look look;

/* Any page of this process is a block of malloc's, of one page. */
static bool copy_header(struct mt_remote *r, uint64_t address, void *out, size_t bytes)
{
    const uint64_t header[2] = {0, FAKE_PAGE | MAPPED_BIT};

    (void)r;
    memset(out, 0, bytes);
    if (address % FAKE_PAGE == 0)
        memcpy(out, header, bytes < sizeof(header) ? bytes : sizeof(header));
    return true;
}

static uint64_t all_present(struct mt_remote *r, uint64_t first_page)
{
    (void)r;
    (void)first_page;
    return UINT64_MAX;
}

static const struct mt_remote_ops all_blocks = {copy_header, all_present};

static int begin(void **state)
{
    if (fake_begin(state) || mt_snapshot_init(&many, built.strings, REGIONS + 1) ||
        mt_claim_set_init(&set, 2 * BLOCKS, 16, 16))
        return -1;
    look = fake_look;
    look.snapshot = &many;
    look.out = &set;
    return 0;
}

static int end(void **state)
{
    mt_claim_set_release(&set);
    mt_snapshot_release(&many);
    return fake_end(state);
}

/* `n` regions of nameless memory from `first` on, each of `bytes`, so far apart. */
static void lay_out(uint32_t n, uint64_t first, uint64_t bytes, uint64_t step)
{
    for (many.n_regions = 0; many.n_regions < n; many.n_regions++) {
        uint64_t base = first + many.n_regions * step;

        many.regions[many.n_regions] = (struct mt_region){
            .base = base, .end = base + bytes, .protection = MT_PROT_READ | MT_PROT_WRITE};
    }
}

static void next_round(void)
{
    mt_remote_refresh(look.remote);
    set.n_claims = 0;
    set.truncated = false;
    look.round++;
}

static void flags_of_more_regions_than_places(void **state)
{
    struct mt_flags *flags;

    (void)state;
    assert_int_equal(mt_flags_new(&flags), 0);
    for (uint32_t more = 0; more < 2; more++) {
        lay_out(REGIONS + more, 0x10000, FAKE_PAGE, 2 * FAKE_PAGE);
        many.regions[0].flags |= MT_REGION_FLAGS_KNOWN;
        next_round();
        mt_flags_remember(flags, &look);
        assert_false(set.truncated); /* this list has them all */
        many.regions[0].flags = 0;
        mt_flags_remember(flags, &look);
        assert_int_equal(set.truncated, more);
    }
    mt_flags_free(flags);
}

static void more_regions_to_walk_than_places(void **state)
{
    struct mt_chunks *chunks;

    (void)state;
    assert_int_equal(mt_chunks_new(&chunks), 0);
    for (uint32_t more = 0; more < 2; more++) {
        lay_out(REGIONS + more, 0x10000, FAKE_PAGE, 2 * FAKE_PAGE);
        next_round();
        mt_chunks_collect(chunks, &look);
        assert_int_equal(set.truncated, more);
    }
    mt_chunks_free(chunks);
}

static void collect_blocks(struct mt_chunks *chunks, uint32_t n_regions, uint64_t pages)
{
    lay_out(n_regions, 0x10000, pages * FAKE_PAGE, (pages + 1) * FAKE_PAGE);
    next_round();
    mt_chunks_collect(chunks, &look);
}

static void more_blocks_than_places(void **state)
{
    struct mt_chunks *chunks;

    (void)state;
    fake_remote.ops = &all_blocks;
    assert_int_equal(mt_chunks_new(&chunks), 0);
    collect_blocks(chunks, 4, BLOCKS / 4);
    assert_int_equal(set.n_claims, BLOCKS);
    assert_false(set.truncated);
    for (unsigned again = 0; again < 2; again++) { /* walked, then copied */
        collect_blocks(chunks, 5, BLOCKS / 4);
        assert_int_equal(set.n_claims, BLOCKS);
        assert_true(set.truncated);
    }
    mt_chunks_free(chunks);
}

/* Blocks of one chain have a bound of their own, half of all. */
static void a_chain_longer_than_is_walked(void **state)
{
    struct mt_chunks *chunks;

    (void)state;
    fake_remote.ops = &all_blocks;
    for (uint32_t more = 0; more < 2; more++) {
        assert_int_equal(mt_chunks_new(&chunks), 0);
        collect_blocks(chunks, 1, BLOCKS / 2 + more);
        assert_int_equal(set.truncated, more);
        mt_chunks_free(chunks);
    }
}

static void more_places_for_arenas_than_are_kept(void **state)
{
    const uint64_t bytes = LINES * ARENA_LINE;
    struct mt_arenas *arenas;

    (void)state;
    assert_int_equal(mt_arenas_new(&arenas), 0);
    for (uint32_t more = 0; more < 2; more++) {
        lay_out(HEAPS / LINES + more, UINT64_C(1) << 40, bytes, bytes + ARENA_LINE);
        next_round();
        mt_arenas_collect(arenas, &look);
        assert_int_equal(set.truncated, more);
    }
    mt_arenas_free(arenas);
}

/* As ThreadSanitizer lays it out: terabytes of shadow below all else. */
static void shadow_memory_leaves_places_for_arenas(void **state)
{
    const uint64_t h = UINT64_C(0x7f5e44000000), bytes = UINT64_C(5) << 40;
    struct mt_arenas *arenas;

    (void)state;
    assert_int_equal(mt_arenas_new(&arenas), 0);
    lay_out(6, UINT64_C(1) << 40, bytes, bytes + ARENA_LINE);
    many.regions[many.n_regions++] = (struct mt_region){
        .base = h, .end = h + 0x21000, .protection = MT_PROT_READ | MT_PROT_WRITE};
    fake_poke(h, h + 0x30);
    fake_poke(h + 16, 0x21000);
    fake_poke(h + 24, 0x21000);
    next_round();
    mt_arenas_collect(arenas, &look);
    assert_int_equal(mt_arenas_count(arenas), 1);
    assert_false(set.truncated);
    mt_arenas_free(arenas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(flags_of_more_regions_than_places, begin, end),
        cmocka_unit_test_setup_teardown(more_regions_to_walk_than_places, begin, end),
        cmocka_unit_test_setup_teardown(more_blocks_than_places, begin, end),
        cmocka_unit_test_setup_teardown(a_chain_longer_than_is_walked, begin, end),
        cmocka_unit_test_setup_teardown(more_places_for_arenas_than_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(shadow_memory_leaves_places_for_arenas, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
