/* SPDX-License-Identifier: MIT */
/* Description: blocks come zeroed from the OS, are listed for the tracer's own claim, and the n-th
 * allocation can be made to fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/os/os.h"

static void find(void *user, uint64_t base, uint64_t bytes)
{
    uint64_t *found = user;

    if (base == found[0])
        found[1] = bytes;
}

static void blocks_are_listed_until_freed(void **state)
{
    uint64_t before = mt_memory_held(), found[2] = {0, 0};
    unsigned char *p = mt_memory_alloc(5000);

    (void)state;
    assert_non_null(p);
    assert_int_equal(p[0] | p[4999], 0);
    found[0] = (uintptr_t)p;
    mt_memory_each(find, found);
    assert_int_equal(found[1], 2 * mt_os_page_bytes());
    assert_int_equal(mt_memory_held(), before + 2 * mt_os_page_bytes());
    mt_memory_free(p);
    assert_int_equal(mt_memory_held(), before);
    mt_memory_free(NULL);
}

static void absurd_sizes_are_refused(void **state)
{
    (void)state;
    assert_null(mt_memory_alloc(0));
    assert_null(mt_memory_alloc(SIZE_MAX));
    assert_null(mt_memory_alloc(SIZE_MAX / 2));
}

static void the_nth_allocation_fails(void **state)
{
    void *p;

    (void)state;
    mt_memory_fail_at(2);
    p = mt_memory_alloc(1);
    assert_non_null(p);
    assert_null(mt_memory_alloc(1));
    mt_memory_free(p);
    p = mt_memory_alloc(1);
    assert_non_null(p);
    mt_memory_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_listed_until_freed),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(the_nth_allocation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
