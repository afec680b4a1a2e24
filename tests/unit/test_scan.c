/* SPDX-License-Identifier: MIT */
/* Description: what categories of the page scan count as; a kernel without it is found out. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "source/linux/scan.h"

/* tests/data/linux/A28-guardscan: 4 pages present, 2 guard markers that look like swap. */
static void guards_are_no_swap(void **state)
{
    struct mt_pages p = {.known = 0};

    (void)state;
    mt_scan_add(&p, MT_SCAN_PRESENT, 4 * 4096);
    mt_scan_add(&p, MT_SCAN_SWAPPED | MT_SCAN_GUARD, 2 * 4096);
    assert_int_equal(p.bytes[MT_PAGE_RESIDENT], 16384);
    assert_int_equal(p.bytes[MT_PAGE_ANONYMOUS], 16384);
    assert_int_equal(p.bytes[MT_PAGE_SWAP], 0);
    assert_int_equal(p.bytes[MT_PAGE_GUARD], 8192);
}

static void zero_pages_are_no_memory(void **state)
{
    struct mt_pages p = {.known = 0};

    (void)state;
    mt_scan_add(&p, MT_SCAN_PRESENT | MT_SCAN_ZERO, 4096);
    mt_scan_add(&p, MT_SCAN_PRESENT | MT_SCAN_ZERO | MT_SCAN_HUGE, 1 << 21);
    mt_scan_add(&p, MT_SCAN_PRESENT | MT_SCAN_HUGE, 1 << 21);
    mt_scan_add(&p, MT_SCAN_SWAPPED, 4096);
    assert_int_equal(p.bytes[MT_PAGE_RESIDENT], 1 << 21);
    assert_int_equal(p.bytes[MT_PAGE_HUGE], 1 << 21);
    assert_int_equal(p.bytes[MT_PAGE_SWAP], 4096);
}

/* A plain file refuses the call as an old kernel does. */
static void a_kernel_without_it_is_found_out(void **state)
{
    static struct mt_scan_region regions[MT_SCAN_REGIONS];
    struct mt_pace pace = {.held_ns = 0};
    struct mt_scan scan;
    FILE *file = tmpfile();

    (void)state;
    assert_non_null(file);
    mt_scan_init(&scan, fileno(file), regions, &pace);
    assert_false(scan.works);
    assert_false(scan.guards);
    assert_true(mt_scan_step(&scan, 0, 4096, MT_SCAN_PRESENT) < 0);
    mt_scan_init(&scan, -1, regions, &pace);
    assert_false(scan.works);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards_are_no_swap),
        cmocka_unit_test(zero_pages_are_no_memory),
        cmocka_unit_test(a_kernel_without_it_is_found_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
