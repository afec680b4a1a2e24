/* SPDX-License-Identifier: MIT */
/* Description: an address is found in the region that holds it, and in none where none does: below
 * the first, between two, above the last. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "base/snapshot.h"

#define NONE 2u

static void an_address_outside_all_regions_is_found_in_none(void **state)
{
    struct mt_region regions[2] = {{.base = 0x8000, .end = 0xc000},
                                   {.base = 0x14000, .end = 0x18000}};
    const struct mt_snapshot s = {.regions = regions, .n_regions = 2};
    static const struct {
        uint64_t address;
        uint32_t found;
    } cases[] = {
        {0, NONE},       {0x7fff, NONE}, {0x8000, 0},  {0xbfff, 0},     {0xc000, NONE},
        {0x13fff, NONE}, {0x14000, 1},   {0x17fff, 1}, {0x18000, NONE}, {UINT64_MAX, NONE},
    };

    (void)state;
    for (unsigned i = 0; i < MT_COUNT_OF(cases); i++)
        assert_int_equal(mt_snapshot_find(&s, cases[i].address), cases[i].found);
}

static void a_list_without_regions_holds_no_address(void **state)
{
    const struct mt_snapshot s = {.n_regions = 0};

    (void)state;
    assert_int_equal(mt_snapshot_find(&s, 0), 0);
    assert_int_equal(mt_snapshot_find(&s, UINT64_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_outside_all_regions_is_found_in_none),
        cmocka_unit_test(a_list_without_regions_holds_no_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
