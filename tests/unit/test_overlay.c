/* SPDX-License-Identifier: MIT */
/* Description: claims cut regions; the highest rank wins; every byte is in one interval. A brute
 * force over single pages is the right value for random overlaps. */
#include "support/build.h"

#include <stdlib.h>

#include "classify/classify.h"

#define CLAIMS 64

static struct mt_interval_list list;
static uint32_t scratch[2 * CLAIMS];

static int begin(void **state)
{
    return build_begin(state) || mt_interval_list_init(&list, 4096);
}

static int end(void **state)
{
    mt_interval_list_release(&list);
    return build_end(state);
}

static struct mt_claim claim(uint64_t base, uint64_t limit, uint8_t type, uint8_t rank)
{
    return (struct mt_claim){
        .base = base, .end = limit, .type = type, .rank = rank, .confidence = 'A'};
}

static void expect(uint32_t i, uint64_t base, uint64_t limit, uint8_t type)
{
    assert_true(i < list.n);
    assert_int_equal(list.items[i].base, base);
    assert_int_equal(list.items[i].end, limit);
    assert_int_equal(list.items[i].type, type);
}

static void a_stack_inside_a_block_inside_a_region(void **state)
{
    const struct mt_claim claims[] = {
        claim(0x7f8ebbc77000, 0x7f8ebbcb7000, MT_TYPE_STACK, MT_RANK_STACK),
        claim(0x7f8ebbc76000, 0x7f8ebbd77000, MT_TYPE_HEAP, MT_RANK_CHUNK),
    };

    (void)state;
    build_region(0x7f8ebbc76000, 0x7f8ebbd78000, "rw-p", "");
    mt_classify_overlay(&built, claims, 2, scratch, &list);
    assert_int_equal(list.n, 4);
    expect(0, 0x7f8ebbc76000, 0x7f8ebbc77000, MT_TYPE_HEAP);
    expect(1, 0x7f8ebbc77000, 0x7f8ebbcb7000, MT_TYPE_STACK);
    expect(2, 0x7f8ebbcb7000, 0x7f8ebbd77000, MT_TYPE_HEAP);
    expect(3, 0x7f8ebbd77000, 0x7f8ebbd78000, MT_TYPE_PRIVATE);
}

static void a_claim_covers_regions_and_holes(void **state)
{
    const struct mt_claim claims[] = {claim(0x0, 0x9000, MT_TYPE_HEAP, MT_RANK_ARENA)};

    (void)state;
    build_region(0x1000, 0x3000, "rw-p", "");
    build_region(0x5000, 0xa000, "---p", "");
    mt_classify_overlay(&built, claims, 1, scratch, &list);
    assert_int_equal(list.n, 3);
    expect(0, 0x1000, 0x3000, MT_TYPE_HEAP);
    expect(1, 0x5000, 0x9000, MT_TYPE_HEAP);
    expect(2, 0x9000, 0xa000, MT_TYPE_PRIVATE);
}

static void what_lies_outside_is_left_out(void **state)
{
    (void)state;
    build_region(0xffffffffff600000, 0xffffffffff601000, "--xp", "[vsyscall]")->flags |=
        MT_REGION_OUTSIDE;
    mt_classify_overlay(&built, NULL, 0, scratch, &list);
    assert_int_equal(list.n, 0);
}

static void offsets_follow_the_cut(void **state)
{
    const struct mt_claim claims[] = {claim(0x3000, 0x4000, MT_TYPE_PRIVATE, MT_RANK_USER)};

    (void)state;
    build_region(0x1000, 0x5000, "rw-s", "/srv/f")->offset = 0x10000;
    mt_classify_overlay(&built, claims, 1, scratch, &list);
    assert_int_equal(list.n, 3);
    assert_int_equal(list.items[1].offset, 0x12000);
    assert_int_equal(list.items[2].offset, 0x13000);
}

/* The winner of a page by looking at every claim. */
static uint8_t brute_force(const struct mt_claim *claims, unsigned n, uint64_t at)
{
    int best = -1;

    for (unsigned i = 0; i < n; i++)
        if (claims[i].base <= at && at < claims[i].end &&
            (best < 0 || claims[i].rank >= claims[best].rank))
            best = (int)i;
    return best < 0 ? MT_TYPE_PRIVATE : claims[best].type;
}

static void random_overlaps_equal_brute_force(void **state)
{
    struct mt_claim claims[CLAIMS];

    (void)state;
    srand(1);
    for (unsigned round = 0; round < 300; round++) {
        uint64_t at = 0x100000;

        built.n_regions = 0;
        for (unsigned i = 0; i < 6; i++, at += 0x1000 * (uint64_t)(20 + rand() % 5))
            build_region(at, at + 0x1000 * (uint64_t)(1 + rand() % 20), "rwxp", "");
        for (unsigned i = 0; i < CLAIMS; i++) {
            uint64_t base = 0x100000 + 0x1000 * (uint64_t)(rand() % 140);

            claims[i] = claim(base, base + 0x1000 * (uint64_t)(1 + rand() % 30),
                              (uint8_t)(1 + rand() % 6), (uint8_t)(rand() % 4));
        }
        mt_classify_overlay(&built, claims, CLAIMS, scratch, &list);
        for (uint32_t i = 0, v = 0; i < built.n_regions; i++)
            for (uint64_t p = built.regions[i].base; p < built.regions[i].end; p += 0x1000) {
                while (v < list.n && list.items[v].end <= p)
                    v++;
                assert_true(v < list.n && list.items[v].base <= p);
                assert_int_equal(list.items[v].region, i);
                assert_int_equal(list.items[v].type, brute_force(claims, CLAIMS, p));
            }
    }
}

static void without_room_totals_stay_complete(void **state)
{
    const struct mt_claim claims[] = {claim(0x2000, 0x3000, MT_TYPE_HEAP, MT_RANK_CHUNK)};

    (void)state;
    list.capacity = 2;
    build_region(0x1000, 0x5000, "rw-p", "");
    mt_classify_overlay(&built, claims, 1, scratch, &list);
    assert_true(list.truncated);
    assert_int_equal(list.items[list.n - 1].end, 0x5000);
}

static void pieces_add_up_to_the_whole(void **state)
{
    const struct mt_claim claims[] = {claim(0x2000, 0x4000, MT_TYPE_STACK, MT_RANK_STACK)};
    struct mt_region *r;

    (void)state;
    r = build_region(0x1000, 0x9000, "rw-p", "");
    build_pages(r, MT_PAGE_RESIDENT, 0x6000);
    build_pages(r, MT_PAGE_PSS, 0x5000);
    mt_classify_overlay(&built, claims, 1, scratch, &list);
    for (uint32_t i = 0; i < list.n; i++) {
        static const uint64_t counted[] = {0x1000, 0x1000, 0x3000};

        assert_int_equal(list.items[i].pages.known, 0);
        list.items[i].pages.known = 1u << MT_PAGE_RESIDENT;
        list.items[i].pages.bytes[MT_PAGE_RESIDENT] = counted[i];
    }
    mt_classify_settle(&built, &list);
    assert_int_equal(list.items[0].pages.bytes[MT_PAGE_RESIDENT], 0x1000);
    assert_int_equal(list.items[1].pages.bytes[MT_PAGE_RESIDENT], 0x1000);
    assert_int_equal(list.items[2].pages.bytes[MT_PAGE_RESIDENT], 0x4000);
    assert_int_equal(list.items[2].pages.bytes[MT_PAGE_PSS], 0x5000);
    assert_int_equal(list.items[0].pages.bytes[MT_PAGE_PSS], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stack_inside_a_block_inside_a_region, begin, end),
        cmocka_unit_test_setup_teardown(a_claim_covers_regions_and_holes, begin, end),
        cmocka_unit_test_setup_teardown(what_lies_outside_is_left_out, begin, end),
        cmocka_unit_test_setup_teardown(offsets_follow_the_cut, begin, end),
        cmocka_unit_test_setup_teardown(random_overlaps_equal_brute_force, begin, end),
        cmocka_unit_test_setup_teardown(without_room_totals_stay_complete, begin, end),
        cmocka_unit_test_setup_teardown(pieces_add_up_to_the_whole, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
