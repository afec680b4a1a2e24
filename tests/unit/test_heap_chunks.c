/* SPDX-License-Identifier: MIT */
/* Description: malloc's mapped blocks by their headers, among stacks and other memory, and data
 * that looks like a header. */
#include "support/fake_memory.h"

static struct mt_chunks *chunks;

static int begin(void **state)
{
    return fake_begin(state) || mt_chunks_new(&chunks) ? -1 : 0;
}

static int end(void **state)
{
    mt_chunks_free(chunks);
    return fake_end(state);
}

static void poke_block(uint64_t base, uint64_t word0, uint64_t word1)
{
    fake_poke(base, word0);
    fake_poke(base + 8, word1);
}

static void claim_first(uint64_t base, uint64_t stop, uint8_t type, uint8_t rank)
{
    mt_claim_add(&fake_set,
                 &(struct mt_claim){.base = base, .end = stop, .type = type, .rank = rank});
}

static uint32_t n_blocks(void)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < fake_set.n_claims; i++)
        n += fake_set.claims[i].rank == MT_RANK_CHUNK;
    return n;
}

static void a_stack_inside_a_block(void **state)
{
    const uint64_t base = 0x7f8ebbc76000, stop = 0x7f8ebbd77000;
    const struct mt_claim *c;

    (void)state;
    build_region(base, stop, "rw-p", "");
    poke_block(base, 0, 0x101002);
    fake_round();
    claim_first(0x7f8ebbc77000, 0x7f8ebbcb7000, MT_TYPE_STACK, MT_RANK_STACK);
    mt_chunks_collect(chunks, &fake_look);
    c = fake_claim(base, stop);
    assert_non_null(c);
    assert_int_equal(c->type, MT_TYPE_HEAP);
    assert_int_equal(c->flags, MT_CLAIM_APART);
    assert_int_equal(c->confidence, MT_CONFIDENCE_B);
    assert_int_equal(n_blocks(), 1);
}

static void two_blocks_and_a_stack_in_one_region(void **state)
{
    const uint64_t base = 0x7f5e53cef000, second = 0x7f5e53d3b000, stack = 0x7f5e53d6e000;

    (void)state;
    build_region(base, 0x7f5e53e6e000, "rw-p", "");
    poke_block(base, 0, 0x4c002);
    poke_block(second, 0, 0x33002);
    fake_round();
    claim_first(stack, stack + 0x100000, MT_TYPE_STACK, MT_RANK_STACK);
    mt_chunks_collect(chunks, &fake_look);
    assert_int_equal(fake_claim(base, second)->confidence, MT_CONFIDENCE_B);
    assert_int_equal(fake_claim(second, stack)->confidence, MT_CONFIDENCE_B);
    assert_int_equal(n_blocks(), 2);
}

static void a_block_above_a_stack(void **state)
{
    const uint64_t base = 0x7f5e53c00000, block = base + 0x100000;

    (void)state;
    build_region(base, block + 0x40000, "rw-p", "");
    poke_block(block, 0, 0x40002);
    fake_round();
    claim_first(base, block, MT_TYPE_STACK, MT_RANK_STACK);
    mt_chunks_collect(chunks, &fake_look);
    assert_non_null(fake_claim(block, block + 0x40000));
}

static void data_behind_zero_data_is_not_a_block(void **state)
{
    const uint64_t bss = 0x7f8ebc7a0000, bss_end = 0x7f8ebc7ad000, stop = 0x7f8ebc7b5000;

    (void)state;
    build_region(bss, stop, "rw-p", "");
    poke_block(bss_end, 0x1234, 0x5678);
    fake_round();
    claim_first(bss, bss_end, MT_TYPE_IMAGE, MT_RANK_IMAGE);
    mt_chunks_collect(chunks, &fake_look);
    assert_int_equal(n_blocks(), 0);
}

/* HEAD of glibc before 2.43: the size leaves out the header, word 0 may say "huge". */
static void the_newer_header(void **state)
{
    const uint64_t base = 0x7f5e53c00000;

    (void)state;
    build_region(base, base + 0x100000, "rw-p", "");
    poke_block(base, 0, 0x3fff0 | 2);
    poke_block(base + 0x40000, 1, 0xbfff0 | 2);
    fake_round();
    mt_chunks_collect(chunks, &fake_look);
    assert_non_null(fake_claim(base, base + 0x40000));
    assert_non_null(fake_claim(base + 0x40000, base + 0x100000));
}

static void lies_are_refused(void **state)
{
    static const struct {
        uint64_t word0, word1;
    } lies[] = {
        {0, 0x101003},               /* arena's flag bits */
        {0, 0x101000},               /* not mapped apart */
        {0, 0x100f02},               /* no whole pages */
        {16, 0x100002},              /* does not begin the mapping */
        {0, 2},                      /* a chain that never moves */
        {0, 0x200002},               /* larger than the region */
        {0, UINT64_MAX - 0xfff + 2}, /* the end wraps */
        {0, 0xfffffffffffffff2},     /* the newer size wraps */
        {0, 0x90002},                /* across the border of a stack */
        {0, 0x4002},                 /* a small one that ends in the midst of something */
    };
    const uint64_t base = 0x7f5e53c00000, stop = base + 0x100000;

    (void)state;
    build_region(base, stop, "rw-p", "");
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        n_fake_words = 0;
        fake_look.round = 3; /* the next collection reads anew */
        poke_block(base, lies[i].word0, lies[i].word1);
        fake_round();
        claim_first(base + 0x80000, stop, MT_TYPE_STACK, MT_RANK_STACK);
        mt_chunks_collect(chunks, &fake_look);
        assert_int_equal(n_blocks(), 0);
    }
}

/* A large block in front of memory of unknown owner is a guess, and says so. */
static void a_block_without_a_good_end_is_a_guess(void **state)
{
    const uint64_t base = 0x7f5e53c00000;

    (void)state;
    build_region(base, base + 0x200000, "rw-p", "");
    poke_block(base, 0, 0x100002);
    fake_round();
    mt_chunks_collect(chunks, &fake_look);
    assert_int_equal(fake_claim(base, base + 0x100000)->confidence, MT_CONFIDENCE_C);
}

/* malloc's total has room for one of them, then for both. */
static void guesses_are_judged_by_mallocs_total(void **state)
{
    const uint64_t large = 0x7f5e53c00000, small = 0x7f5e60000000;

    (void)state;
    build_region(large, large + 0x300000, "rw-p", "");
    build_region(small, small + 0x200000, "rw-p", "");
    poke_block(large, 0, 0x200002);
    poke_block(small, 0, 0x100002);
    fake_round();
    mt_chunks_collect(chunks, &fake_look);
    assert_int_equal(n_blocks(), 2);
    mt_chunks_judge(chunks, 0x100000, 1);
    fake_round();
    mt_chunks_collect(chunks, &fake_look);
    assert_int_equal(n_blocks(), 1);
    assert_int_equal(fake_claim(small, small + 0x100000)->confidence, MT_CONFIDENCE_C);
    mt_chunks_judge(chunks, 0x100000, 1);
    fake_round();
    mt_chunks_collect(chunks, &fake_look);
    assert_int_equal(fake_claim(small, small + 0x100000)->confidence, MT_CONFIDENCE_B);
    mt_chunks_judge(chunks, 0x300000, 2);
    for (int i = 0; i < 2; i++) {
        fake_round();
        mt_chunks_collect(chunks, &fake_look);
        mt_chunks_judge(chunks, 0x300000, 2);
    }
    assert_int_equal(fake_claim(large, large + 0x200000)->confidence, MT_CONFIDENCE_B);
}

static void the_main_threads_descriptor_ends_a_chain(void **state)
{
    const uint64_t base = 0x7f5e53c00000;

    (void)state;
    build_region(base, base + 0x103000, "rw-p", "");
    poke_block(base, 0, 0x100002);
    fake_look.main_descriptor = base + 0x102a20;
    fake_round();
    mt_chunks_collect(chunks, &fake_look);
    assert_int_equal(fake_claim(base, base + 0x100000)->confidence, MT_CONFIDENCE_B);
}

static void an_absent_page_ends_the_walk(void **state)
{
    const uint64_t base = 0x7f5e53c00000;

    (void)state;
    build_region(base, base + 0x200000, "rw-p", "");
    fake_round();
    mt_chunks_collect(chunks, &fake_look);
    assert_int_equal(n_fake_reads, 0);
    assert_int_equal(n_blocks(), 0);
}

#define LONG_CHAIN 100
#define LINK UINT64_C(0x20000)
#define FEW 8

static void collect(void)
{
    n_fake_reads = 0;
    fake_round();
    mt_chunks_collect(chunks, &fake_look);
}

static void build_long_chain(uint64_t base)
{
    build_region(base, base + LONG_CHAIN * LINK, "rw-p", "");
    for (unsigned i = 0; i < LONG_CHAIN; i++)
        poke_block(base + i * LINK, 0, LINK | 2);
    collect();
    assert_int_equal(n_blocks(), LONG_CHAIN);
}

static void a_grown_region_reads_the_new_block_and_few_old_ones(void **state)
{
    const uint64_t old = 0x7f5e53d00000, new = old - LINK;

    (void)state;
    fake_set.deadline_ns = 1;
    build_long_chain(old);
    built.regions[0].base = new;
    poke_block(new, 0, LINK | 2);
    collect();
    assert_int_equal(n_blocks(), LONG_CHAIN + 1);
    assert_in_range(n_fake_reads, 1, FEW);
    collect();
    assert_int_equal(n_blocks(), LONG_CHAIN + 1);
    assert_in_range(n_fake_reads, 0, FEW);
}

/* Two blocks were freed and one of both sizes came in their place: the region is as it was. */
static void a_change_within_a_region_is_found_in_time(void **state)
{
    const uint64_t base = 0x7f5e53d00000;
    unsigned rounds = 0;

    (void)state;
    fake_set.deadline_ns = 1;
    build_long_chain(base);
    poke_block(base + 50 * LINK, 0, (2 * LINK) | 2);
    for (; rounds < LONG_CHAIN && n_blocks() == LONG_CHAIN; rounds++)
        collect();
    assert_int_equal(n_blocks(), LONG_CHAIN - 1);
    assert_non_null(fake_claim(base + 50 * LINK, base + 52 * LINK));
}

static void a_whole_look_finds_a_change_at_once(void **state)
{
    const uint64_t base = 0x7f5e53d00000;

    (void)state;
    build_long_chain(base);
    poke_block(base + 10 * LINK, 0, (2 * LINK) | 2);
    collect();
    assert_int_equal(n_blocks(), LONG_CHAIN - 1);
}

static void hugetlb_memory_may_be_a_block(void **state)
{
    const uint64_t base = 0x7f4000000000;

    (void)state;
    build_region(base, base + 0x400000, "rw-p", "/anon_hugepage (deleted)");
    poke_block(base, 0, 0x400002);
    fake_round();
    mt_chunks_collect(chunks, &fake_look);
    assert_non_null(fake_claim(base, base + 0x400000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stack_inside_a_block, begin, end),
        cmocka_unit_test_setup_teardown(two_blocks_and_a_stack_in_one_region, begin, end),
        cmocka_unit_test_setup_teardown(a_block_above_a_stack, begin, end),
        cmocka_unit_test_setup_teardown(data_behind_zero_data_is_not_a_block, begin, end),
        cmocka_unit_test_setup_teardown(the_newer_header, begin, end),
        cmocka_unit_test_setup_teardown(lies_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_block_without_a_good_end_is_a_guess, begin, end),
        cmocka_unit_test_setup_teardown(guesses_are_judged_by_mallocs_total, begin, end),
        cmocka_unit_test_setup_teardown(the_main_threads_descriptor_ends_a_chain, begin, end),
        cmocka_unit_test_setup_teardown(an_absent_page_ends_the_walk, begin, end),
        cmocka_unit_test_setup_teardown(a_grown_region_reads_the_new_block_and_few_old_ones, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_change_within_a_region_is_found_in_time, begin, end),
        cmocka_unit_test_setup_teardown(a_whole_look_finds_a_change_at_once, begin, end),
        cmocka_unit_test_setup_teardown(hugetlb_memory_may_be_a_block, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
