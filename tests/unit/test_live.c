/* SPDX-License-Identifier: MIT */
/* Description: the table of live large blocks finds each block once, with its size, however many
 * come and go; its filter never denies a live block, and forgets those that are gone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "trace/live.h"

#define BLOCKS 20000u
#define APART UINT64_C(0x21000)

static struct mt_live *live;

static uint64_t address(uint64_t i)
{
    return UINT64_C(0x7f0000000010) + i * APART;
}

static const void *pointer(uint64_t i)
{
    return (const void *)(uintptr_t)address(i);
}

static void blocks_are_found_once(void **state)
{
    uint64_t bytes = 0;

    (void)state;
    for (int round = 0; round < 5; round++) {
        for (uint64_t i = 0; i < BLOCKS; i++)
            assert_true(mt_live_add(live, address(i), i + 1));
        for (uint64_t i = 0; i < BLOCKS; i++) {
            assert_true(mt_live_maybe(pointer(i)));
            assert_true(mt_live_take(live, address(i), &bytes));
            assert_int_equal(bytes, i + 1);
            assert_false(mt_live_take(live, address(i), &bytes));
        }
    }
}

static void the_filter_forgets(void **state)
{
    uint64_t bytes;

    (void)state;
    assert_false(mt_live_maybe(pointer(3)));
    assert_true(mt_live_add(live, address(3), 1));
    assert_true(mt_live_maybe(pointer(3)));
    assert_false(mt_live_maybe((const char *)pointer(3) + 0x100000));
    assert_true(mt_live_take(live, address(3), &bytes));
    assert_false(mt_live_maybe(pointer(3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_filter_forgets),
        cmocka_unit_test(blocks_are_found_once),
    };
    int failed;

    live = calloc(1, sizeof(*live));
    failed = live ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    free(live);
    return failed;
}
