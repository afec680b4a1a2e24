/* SPDX-License-Identifier: MIT */
/* Description: the columns by their published definitions, on cases whose numbers were measured on
 * a real kernel (a forked child's sharing, a file with one written page, a reservation). */
#include "support/build.h"

#include "classify/classify.h"

#define KIB(n) ((uint64_t)(n)*1024)
#define VALUE(t, c) ((uint64_t)levels.type[MT_TYPE_##t].value[MT_COLUMN_##c])
#define KNOWN(t, c) (levels.type[MT_TYPE_##t].known >> MT_COLUMN_##c & 1u)

static struct mt_interval_list list;
static struct mt_levels levels;
static struct mt_counters counters;

static int begin(void **state)
{
    memset(&levels, 0, sizeof(levels));
    memset(&counters, 0, sizeof(counters));
    return build_begin(state) || mt_interval_list_init(&list, 64);
}

static int end(void **state)
{
    mt_interval_list_release(&list);
    return build_end(state);
}

static uint32_t total(void)
{
    mt_classify_overlay(&built, NULL, 0, NULL, &list);
    mt_classify_settle(&built, &list);
    return mt_classify_totals(&built, &list, &counters, &levels);
}

static void pages(struct mt_region *r, uint64_t rss, uint64_t anonymous, uint64_t shared)
{
    build_pages(r, MT_PAGE_RESIDENT, rss);
    build_pages(r, MT_PAGE_ANONYMOUS, anonymous);
    build_pages(r, MT_PAGE_SHARED, shared);
    build_pages(r, MT_PAGE_SWAP, 0);
}

static void a_private_file_with_one_written_page(void **state)
{
    (void)state;
    pages(build_region(0x10000, 0x20000, "rw-p", "/srv/cow.bin"), KIB(64), KIB(4), 0);
    assert_int_equal(total(), 0);
    assert_int_equal(VALUE(MAPPED_FILE, WS), KIB(64));
    assert_int_equal(VALUE(MAPPED_FILE, WS_PRIVATE), KIB(4));
    assert_int_equal(VALUE(MAPPED_FILE, WS_SHAREABLE), KIB(60));
    assert_int_equal(VALUE(MAPPED_FILE, WS_SHARED), 0);
}

static void a_fork_does_not_make_memory_shared(void **state)
{
    (void)state;
    pages(build_region(0x100000, 0x180000, "rw-p", ""), KIB(512), KIB(512), KIB(504));
    assert_int_equal(total(), 0);
    assert_int_equal(VALUE(PRIVATE, WS_PRIVATE), KIB(512));
    assert_int_equal(VALUE(PRIVATE, WS_SHARED), 0);
    assert_int_equal(VALUE(PRIVATE, PRIVATE), KIB(512));
}

static void shared_memory_is_shareable(void **state)
{
    (void)state;
    pages(build_region(0x10000, 0x20000, "rw-s", "/dev/zero (deleted)"), KIB(64), 0, KIB(32));
    assert_int_equal(total(), 0);
    assert_int_equal(VALUE(SHAREABLE, WS_PRIVATE), 0);
    assert_int_equal(VALUE(SHAREABLE, WS_SHAREABLE), KIB(64));
    assert_int_equal(VALUE(SHAREABLE, WS_SHARED), KIB(32));
}

static void a_touched_then_protected_range(void **state)
{
    struct mt_region *r;

    (void)state;
    r = build_region(0x100000, 0x140000, "---p", "");
    r->flags |= MT_REGION_CHARGED | MT_REGION_FLAGS_KNOWN;
    pages(r, KIB(256), KIB(256), 0);
    assert_int_equal(total(), 0);
    assert_int_equal(VALUE(PRIVATE, SIZE), KIB(256));
    assert_int_equal(VALUE(PRIVATE, COMMITTED), 0);
    assert_int_equal(VALUE(PRIVATE, CHARGED), KIB(256));
    assert_int_equal(VALUE(PRIVATE, WS), KIB(256));
}

static void hugetlb_counts_although_rss_leaves_it_out(void **state)
{
    struct mt_region *r;

    (void)state;
    r = build_region(0x40000000, 0x40400000, "rw-p", "/anon_hugepage (deleted)");
    pages(r, 0, 0, 0);
    build_pages(r, MT_PAGE_HUGETLB_PRIVATE, KIB(2048));
    build_pages(r, MT_PAGE_HUGETLB_SHARED, 0);
    build_pages(r, MT_PAGE_HUGE, 0);
    assert_int_equal(total(), 0);
    assert_int_equal(VALUE(PRIVATE, WS), KIB(2048));
    assert_int_equal(VALUE(PRIVATE, WS_PRIVATE), KIB(2048));
    assert_int_equal(VALUE(PRIVATE, HUGE), KIB(2048));
}

static void unknown_is_not_zero(void **state)
{
    (void)state;
    build_region(0x10000, 0x20000, "rw-p", "");
    pages(build_region(0x30000, 0x40000, "rw-p", ""), KIB(4), KIB(4), 0);
    total();
    assert_true(KNOWN(PRIVATE, SIZE));
    assert_false(KNOWN(PRIVATE, WS));
    assert_false(KNOWN(PRIVATE, CHARGED));
    assert_true(KNOWN(STACK, WS));
    assert_false(KNOWN(PAGE_TABLE, PRIVATE));
}

static void holes_are_free_and_everything_adds_up(void **state)
{
    uint64_t sum = 0;

    (void)state;
    counters.known = UINT64_C(1) << MT_COUNTER_PAGE_TABLE;
    counters.value[MT_COUNTER_PAGE_TABLE] = KIB(96);
    build_region(0x20000, 0x30000, "rw-p", "[heap]");
    build_region(0x50000, 0x60000, "rw-p", "");
    build_region(0xffffffffff600000, 0xffffffffff601000, "--xp", "[vsyscall]")->flags |=
        MT_REGION_OUTSIDE;
    assert_int_equal(total(), 0);
    assert_int_equal(VALUE(FREE, BLOCKS), 3);
    assert_int_equal(VALUE(FREE, LARGEST), 0x7ffffffff000 - 0x60000);
    for (unsigned t = 1; t < MT_TYPE_CAPACITY; t++)
        sum += (uint64_t)levels.type[t].value[MT_COLUMN_SIZE];
    assert_int_equal(sum, built.space_end - built.space_base);
    assert_int_equal(VALUE(PAGE_TABLE, PRIVATE), KIB(96));
}

static void the_longest_run_crosses_regions(void **state)
{
    (void)state;
    build_region(0x10000, 0x20000, "rw-p", "");
    build_region(0x20000, 0x50000, "r--p", "");
    build_region(0x60000, 0x70000, "rw-p", "");
    total();
    assert_int_equal(VALUE(PRIVATE, LARGEST), 0x40000);
    assert_int_equal(VALUE(PRIVATE, BLOCKS), 3);
}

static void guard_pages_are_not_committed(void **state)
{
    struct mt_region *r;

    (void)state;
    r = build_region(0x10000, 0x50000, "rw-p", "");
    build_pages(r, MT_PAGE_GUARD, 0x4000);
    total();
    assert_int_equal(VALUE(PRIVATE, SIZE), 0x40000);
    assert_int_equal(VALUE(PRIVATE, COMMITTED), 0x3c000);
}

static void a_lost_interval_is_noticed(void **state)
{
    (void)state;
    build_region(0x10000, 0x20000, "rw-p", "");
    build_region(0x30000, 0x40000, "rw-p", "");
    mt_classify_overlay(&built, NULL, 0, NULL, &list);
    list.n = 1;
    assert_int_equal(mt_classify_totals(&built, &list, &counters, &levels), MT_SAMPLE_SUM_OFF);
}

/* Where the system keeps the account itself: 64 KiB charged, 4 of them resident, and a piece that
 * is committed although nobody may look into it. */
static void the_systems_own_account_is_taken(void **state)
{
    struct mt_region *r = build_region(0x100000, 0x110000, "rw-p", "");
    struct mt_region *closed = build_region(0x200000, 0x202000, "---p", "");

    (void)state;
    pages(r, KIB(4), KIB(4), 0);
    pages(closed, 0, 0, 0);
    r->pages.known &= ~(1u << MT_PAGE_SWAP);
    closed->pages.known &= ~(1u << MT_PAGE_SWAP);
    assert_int_equal(total(), 0);
    assert_false(KNOWN(PRIVATE, PRIVATE));
    assert_int_equal(VALUE(PRIVATE, COMMITTED), KIB(64));
    build_pages(r, MT_PAGE_PRIVATE, KIB(64));
    build_pages(closed, MT_PAGE_PRIVATE, KIB(8));
    closed->flags |= MT_REGION_COMMITTED;
    assert_int_equal(total(), 0);
    assert_true(KNOWN(PRIVATE, PRIVATE));
    assert_int_equal(VALUE(PRIVATE, PRIVATE), KIB(72));
    assert_int_equal(VALUE(PRIVATE, WS_PRIVATE), KIB(4));
    assert_int_equal(VALUE(PRIVATE, COMMITTED), KIB(72));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_private_file_with_one_written_page, begin, end),
        cmocka_unit_test_setup_teardown(a_fork_does_not_make_memory_shared, begin, end),
        cmocka_unit_test_setup_teardown(shared_memory_is_shareable, begin, end),
        cmocka_unit_test_setup_teardown(a_touched_then_protected_range, begin, end),
        cmocka_unit_test_setup_teardown(hugetlb_counts_although_rss_leaves_it_out, begin, end),
        cmocka_unit_test_setup_teardown(unknown_is_not_zero, begin, end),
        cmocka_unit_test_setup_teardown(holes_are_free_and_everything_adds_up, begin, end),
        cmocka_unit_test_setup_teardown(the_longest_run_crosses_regions, begin, end),
        cmocka_unit_test_setup_teardown(guard_pages_are_not_committed, begin, end),
        cmocka_unit_test_setup_teardown(the_systems_own_account_is_taken, begin, end),
        cmocka_unit_test_setup_teardown(a_lost_interval_is_noticed, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
