/* SPDX-License-Identifier: MIT */
/* Description: any order of regions becomes a sorted partition; what overlaps counts once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "source/linux/region_list.h"

static struct mt_snapshot s;

static int begin(void **state)
{
    struct mt_strings *strings;

    (void)state;
    return mt_strings_new(64, 4096, &strings) || mt_snapshot_init(&s, strings, 8);
}

static int end(void **state)
{
    (void)state;
    mt_strings_free(s.strings);
    mt_snapshot_release(&s);
    return 0;
}

static struct mt_region *add(uint64_t base, uint64_t top, uint32_t flags)
{
    struct mt_region r = {.base = base, .end = top, .offset = 0x5000, .flags = flags};

    r.pages.known = 1u << MT_PAGE_RESIDENT;
    r.pages.bytes[MT_PAGE_RESIDENT] = top - base;
    return mt_region_list_add(&s, &r, "n", 1);
}

static void touching_is_not_overlapping(void **state)
{
    (void)state;
    mt_region_list_begin(&s);
    add(0x1000, 0x2000, 0);
    add(0x2000, 0x3000, 0);
    mt_region_list_finish(&s, 0x1000);
    assert_int_equal(s.n_regions, 2);
    assert_int_equal(s.flags, 0);
    assert_true(s.regions[1].pages.known != 0);
}

static void overlaps_are_cut_to_the_union(void **state)
{
    uint64_t sum = 0;

    (void)state;
    mt_region_list_begin(&s);
    add(0x10000, 0x20000, 0);
    add(0x14000, 0x15000, 0); /* inside the first: dropped */
    add(0x1f000, 0x22000, MT_REGION_FILE);
    add(0x30000, 0x31000, 0);
    add(0x30000, 0x31000, 0); /* the same again */
    mt_region_list_finish(&s, 0x1000);
    assert_int_equal(s.flags, MT_SAMPLE_TORN);
    assert_int_equal(s.n_regions, 3);
    for (uint32_t i = 0; i < s.n_regions; i++)
        sum += s.regions[i].end - s.regions[i].base;
    assert_int_equal(sum, 0x13000);
    assert_int_equal(s.regions[1].base, 0x20000);
    assert_int_equal(s.regions[1].offset, 0x6000);
    assert_int_equal(s.regions[1].pages.known, 0); /* of the rest it is not known */
}

static void order_is_restored(void **state)
{
    (void)state;
    mt_region_list_begin(&s);
    add(0x7000, 0x8000, 0);
    add(0x1000, 0x2000, 0);
    add(0x5000, 0x6000, 0);
    add(0x3000, 0x4000, 0);
    mt_region_list_finish(&s, 0x1000);
    assert_int_equal(s.n_regions, 4);
    assert_int_equal(s.flags, 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(s.regions[i].base, 0x1000 + 0x2000 * i);
}

static void no_room_is_said(void **state)
{
    (void)state;
    mt_region_list_begin(&s);
    for (uint64_t i = 1; i <= 8; i++)
        assert_non_null(add(i << 12, (i + 1) << 12, 0));
    assert_null(add(0x9000, 0xa000, 0));
    mt_region_list_reject(&s, 2);
    mt_region_list_finish(&s, 0x1000);
    assert_int_equal(s.n_regions, 8);
    assert_int_equal(s.flags, MT_SAMPLE_TRUNCATED | MT_SAMPLE_REJECTED);
    assert_int_equal(s.n_rejected, 2);
    mt_region_list_begin(&s);
    assert_int_equal(s.flags, 0);
}

#if defined(__x86_64__)
static void the_space_is_the_smallest_that_holds_all(void **state)
{
    static const uint64_t cases[][2] = {{0xff9f0000, 0xffffe000},
                                        {0x7fffd0000000, 0x7ffffffff000},
                                        {0x7ffffffff000, 0x7ffffffff000},
                                        {0x10000000000000 - 0x2000, 0xfffffffffff000}};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        mt_region_list_begin(&s);
        add(cases[i][0] - 0x1000, cases[i][0], 0);
        add(0xffffffffff600000, 0xffffffffff601000, MT_REGION_OUTSIDE);
        mt_region_list_finish(&s, 0x10000);
        assert_true(s.space_end == cases[i][1]);
        assert_int_equal(s.space_base, 0x10000);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(touching_is_not_overlapping),
        cmocka_unit_test(overlaps_are_cut_to_the_union),
        cmocka_unit_test(order_is_restored),
        cmocka_unit_test(no_room_is_said),
#if defined(__x86_64__)
        cmocka_unit_test(the_space_is_the_smallest_that_holds_all),
#endif
    };

    return cmocka_run_group_tests(tests, begin, end);
}
