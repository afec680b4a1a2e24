/* SPDX-License-Identifier: MIT */
/* Description: arenas by the headers of their heaps, in all layouts, and headers that lie. */
#include "support/fake_memory.h"

#define LINE (UINT64_C(64) << 20)

static struct mt_arenas *arenas;

static int begin(void **state)
{
    return fake_begin(state) || mt_arenas_new(&arenas) ? -1 : 0;
}

static int end(void **state)
{
    mt_arenas_free(arenas);
    return fake_end(state);
}

static void poke_heap(uint64_t base, uint64_t arena, uint64_t previous, uint64_t size,
                      uint64_t page)
{
    fake_poke(base, arena);
    fake_poke(base + 8, previous);
    fake_poke(base + 16, size);
    fake_poke(base + 24, size);
    fake_poke(base + 32, page);
}

static void collect(void)
{
    fake_round();
    mt_arenas_collect(arenas, &fake_look);
}

static void one_arena_and_its_tail(void **state)
{
    const uint64_t h = 0x7f5e44000000, rw = h + 0x21000;
    const struct mt_claim *c;

    (void)state;
    build_region(h, rw, "rw-p", "");
    build_region(rw, h + LINE, "---p", "");
    poke_heap(h, h + 0x30, 0, 0x21000, 0x1000);
    collect();
    assert_int_equal(fake_set.n_claims, 2);
    c = fake_claim(h, rw);
    assert_int_equal(c->type, MT_TYPE_HEAP);
    assert_int_equal(c->rank, MT_RANK_ARENA);
    c = fake_claim(rw, h + LINE);
    assert_int_equal(c->flags, MT_CLAIM_RESERVED);
    assert_int_equal(mt_arenas_count(arenas), 1);
}

/* Each further heap is mapped below the one before it, as the kernel does. */
static void a_long_chain_in_descending_order(void **state)
{
    const uint64_t top = 0x7f5e44000000, n = 20;

    (void)state;
    for (uint64_t i = n; i-- > 0;) {
        build_region(top - i * LINE, top - i * LINE + 0x21000, "rw-p", "");
        build_region(top - i * LINE + 0x21000, top - i * LINE + LINE, "---p", "");
    }
    for (uint64_t i = 0; i < n; i++)
        poke_heap(top - i * LINE, top + 0x30, i ? top - (i - 1) * LINE : 0, 0x21000, 0x1000);
    collect();
    assert_int_equal(fake_set.n_claims, 2 * n);
    assert_int_equal(mt_arenas_count(arenas), 1);
}

static void the_layout_before_2_35(void **state)
{
    const uint64_t h = 0x7f5e44000000, rw = h + 0x21000;

    (void)state;
    build_region(h, rw, "rw-p", "");
    build_region(rw, h + LINE, "---p", "");
    poke_heap(h, h + 0x20, 0, 0x21000, UINT64_C(0x200000000));
    collect();
    assert_non_null(fake_claim(h, rw));
}

static void two_heaps_in_one_region(void **state)
{
    const uint64_t first = 0x7f5e40000000, second = first + LINE, rw = second + 0x21000;

    (void)state;
    build_region(first, rw, "rw-p", "");
    build_region(rw, second + LINE, "---p", "");
    poke_heap(first, first + 0x30, 0, LINE, 0x1000);
    poke_heap(second, first + 0x30, first, 0x21000, 0x1000);
    collect();
    assert_non_null(fake_claim(first, second));
    assert_non_null(fake_claim(second, rw));
    assert_non_null(fake_claim(rw, second + LINE));
    assert_int_equal(mt_arenas_count(arenas), 1);
}

static void the_second_heap_may_lie_below_the_first(void **state)
{
    const uint64_t second = 0x7f5e40000000, first = second + 4 * LINE;

    (void)state;
    build_region(second, second + 0x21000, "rw-p", "");
    build_region(second + 0x21000, second + LINE, "---p", "");
    build_region(first, first + LINE, "rw-p", "");
    poke_heap(first, first + 0x30, 0, LINE, 0x1000);
    poke_heap(second, first + 0x30, first, 0x21000, 0x1000);
    collect();
    assert_non_null(fake_claim(second, second + 0x21000));
    assert_non_null(fake_claim(first, first + LINE));
}

static void heaps_of_huge_pages_are_smaller(void **state)
{
    const uint64_t h = 0x7f5e44800000, rw = h + 0x200000;

    (void)state;
    build_region(h, rw, "rw-p", "");
    build_region(rw, h + 0x800000, "---p", "");
    poke_heap(h, h + 0x30, 0, 0x200000, 0x200000);
    collect();
    assert_non_null(fake_claim(h, rw));
    assert_non_null(fake_claim(rw, h + 0x800000));
}

static void a_heap_that_grew_meanwhile_is_still_one(void **state)
{
    const uint64_t h = 0x7f5e44000000, rw = h + 0x21000;

    (void)state;
    build_region(h, rw, "rw-p", "");
    build_region(rw, h + LINE, "---p", "");
    poke_heap(h, h + 0x30, 0, 0x30000, 0x1000);
    collect();
    assert_non_null(fake_claim(h, rw));
}

static void headers_that_lie_are_refused(void **state)
{
    static const struct {
        uint64_t arena, previous, size, accessible;
    } lies[] = {
        {0x7f5e44000040, 0, 0x21000, 0x21000},              /* arena elsewhere */
        {0x7f5e44000030, 0x7f5e44000000, 0x21000, 0x21000}, /* before itself */
        {0x7f5e44000030, 0, 0x21008, 0x21000},              /* no whole pages */
        {0x7f5e44000030, 0, 0x22000, 0x21000},              /* more than accessible */
        {0x7f5e44000030, 0, 0x20000, 0x20000},              /* not the region's size */
        {0x7f5e44000030, 0, 0x21000, 0x8000000},            /* larger than a heap */
        {0x7f5e40000030, 0x7f5e40000000, 0x21000, 0x21000}, /* of an arena that is not there */
        {0, 0, 0, 0},
    };
    const uint64_t h = 0x7f5e44000000, rw = h + 0x21000;

    (void)state;
    build_region(h, rw, "rw-p", "");
    build_region(rw, h + LINE, "---p", "");
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        fake_look.round = 15; /* the next collection reads anew */
        n_fake_words = 0;
        poke_heap(h, lies[i].arena, lies[i].previous, lies[i].size, 0x1000);
        fake_poke(h + 24, lies[i].accessible);
        collect();
        assert_int_equal(fake_set.n_claims, 0);
    }
}

static void absent_pages_and_other_memory_are_not_read(void **state)
{
    const uint64_t h = 0x7f5e44000000;

    (void)state;
    build_region(h, h + 0x21000, "rw-p", "");
    build_region(h + LINE, h + LINE + 0x21000, "rw-s", "/memfd:x (deleted)");
    build_region(h + 2 * LINE, h + 2 * LINE + 0x21000, "rw-p", "")->flags |= MT_REGION_UFFD;
    fake_poke(h + LINE, 1);
    fake_poke(h + 2 * LINE, 1);
    collect();
    assert_int_equal(n_fake_reads, 0);
}

static void what_is_no_heap_is_not_read_again(void **state)
{
    const uint64_t h = 0x7f5e44000000, rw = h + 0x21000;

    (void)state;
    build_region(h, rw, "rw-p", "");
    poke_heap(h, h + 0x51, 0, 0x21000, 0x1000);
    collect();
    n_fake_reads = 0;
    collect();
    assert_int_equal(n_fake_reads, 0);
    assert_int_equal(fake_set.n_claims, 0);
}

/* Without a change of the mapping: a heap that shrinks keeps what it had accessible. */
static void a_heap_that_shrank_is_smaller_at_once(void **state)
{
    const uint64_t h = 0x7f5e44000000, rw = h + 0x41000;

    (void)state;
    build_region(h, rw, "rw-p", "");
    build_region(rw, h + LINE, "---p", "");
    poke_heap(h, h + 0x30, 0, 0x41000, 0x1000);
    collect();
    assert_int_equal(fake_set.n_claims, 2);
    poke_heap(h, h + 0x30, 0, 0x21000, 0x1000);
    fake_poke(h + 0x18, 0x41000);
    collect();
    assert_int_equal(fake_set.n_claims, 3);
    assert_int_equal(fake_claim(h, h + 0x21000)->flags, 0);
    assert_int_equal(fake_claim(h + 0x21000, rw)->flags, MT_CLAIM_RESERVED);
    assert_int_equal(fake_claim(rw, h + LINE)->flags, MT_CLAIM_RESERVED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_arena_and_its_tail, begin, end),
        cmocka_unit_test_setup_teardown(a_long_chain_in_descending_order, begin, end),
        cmocka_unit_test_setup_teardown(the_layout_before_2_35, begin, end),
        cmocka_unit_test_setup_teardown(two_heaps_in_one_region, begin, end),
        cmocka_unit_test_setup_teardown(the_second_heap_may_lie_below_the_first, begin, end),
        cmocka_unit_test_setup_teardown(heaps_of_huge_pages_are_smaller, begin, end),
        cmocka_unit_test_setup_teardown(a_heap_that_grew_meanwhile_is_still_one, begin, end),
        cmocka_unit_test_setup_teardown(headers_that_lie_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(absent_pages_and_other_memory_are_not_read, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_heap_is_not_read_again, begin, end),
        cmocka_unit_test_setup_teardown(a_heap_that_shrank_is_smaller_at_once, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
