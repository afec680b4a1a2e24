/* SPDX-License-Identifier: MIT */
/* Description: memory that grows continues its row; memory that is new begins one; what is gone
 * ends its row, once. */
#include "support/build.h"

#include "classify/classify.h"

static struct mt_interval_list before, after;
static struct mt_change_list changes;

static int begin(void **state)
{
    (void)state;
    return mt_interval_list_init(&before, 16) || mt_interval_list_init(&after, 16) ||
           mt_change_list_init(&changes, 16);
}

static int end(void **state)
{
    (void)state;
    mt_interval_list_release(&before);
    mt_interval_list_release(&after);
    mt_change_list_release(&changes);
    return 0;
}

static struct mt_interval *add(struct mt_interval_list *l, uint64_t base, uint64_t limit,
                               int64_t row)
{
    struct mt_interval *v = &l->items[l->n++];

    *v = (struct mt_interval){.base = base,
                              .end = limit,
                              .type = MT_TYPE_HEAP,
                              .protection = 3,
                              .confidence = 'B',
                              .owner = 1,
                              .row = row};
    return v;
}

static void unchanged_memory_keeps_its_row(void **state)
{
    (void)state;
    add(&before, 0x1000, 0x2000, 7);
    add(&after, 0x1000, 0x2000, 0);
    mt_classify_diff(&before, &after, &changes);
    assert_int_equal(after.items[0].row, 7);
    assert_int_equal(changes.n_ended, 0);
    assert_int_equal(changes.n_new, 0);
}

static void a_heap_that_grows_is_one_region(void **state)
{
    (void)state;
    add(&before, 0x1000, 0x2000, 7);
    add(&after, 0x1000, 0x5000, 0);
    mt_classify_diff(&before, &after, &changes);
    assert_int_equal(after.items[0].row, 0);
    assert_int_equal(changes.continued[0], 7);
    assert_int_equal(changes.n_ended, 1);
    assert_int_equal(changes.ended[0], 7);
}

static void a_stack_grows_downwards(void **state)
{
    (void)state;
    add(&before, 0x5000, 0x9000, 7)->type = MT_TYPE_STACK;
    add(&after, 0x3000, 0x9000, 0)->type = MT_TYPE_STACK;
    mt_classify_diff(&before, &after, &changes);
    assert_int_equal(changes.continued[0], 7);
}

static void new_and_gone_memory(void **state)
{
    (void)state;
    add(&before, 0x1000, 0x2000, 7);
    add(&before, 0x8000, 0x9000, 8);
    add(&after, 0x4000, 0x5000, 0);
    add(&after, 0x8000, 0x9000, 0);
    mt_classify_diff(&before, &after, &changes);
    assert_int_equal(changes.continued[0], 0);
    assert_int_equal(changes.n_new, 1);
    assert_int_equal(changes.n_ended, 1);
    assert_int_equal(changes.ended[0], 7);
    assert_int_equal(after.items[1].row, 8);
}

static void another_thing_at_the_same_address_is_new(void **state)
{
    (void)state;
    add(&before, 0x1000, 0x2000, 7);
    add(&after, 0x1000, 0x3000, 0)->type = MT_TYPE_STACK;
    mt_classify_diff(&before, &after, &changes);
    assert_int_equal(changes.continued[0], 0);
    assert_int_equal(changes.n_ended, 1);
}

static void other_rights_continue_the_row(void **state)
{
    (void)state;
    add(&before, 0x1000, 0x2000, 7);
    add(&after, 0x1000, 0x2000, 0)->protection = 1;
    mt_classify_diff(&before, &after, &changes);
    assert_int_equal(changes.continued[0], 7);
}

static void a_region_split_in_two_ends_once(void **state)
{
    (void)state;
    add(&before, 0x1000, 0x9000, 7);
    add(&after, 0x1000, 0x4000, 0);
    add(&after, 0x6000, 0x9000, 0);
    mt_classify_diff(&before, &after, &changes);
    assert_int_equal(changes.n_ended, 1);
    assert_int_equal(changes.n_merged, 0);
    assert_int_equal(changes.continued[0], 7);
    assert_int_equal(changes.continued[1], 7);
    assert_int_equal(changes.n_new, 2);
    assert_int_equal(after.items[0].change, 0); /* both are smaller, and have shrunk */
    assert_int_equal(after.items[1].change, 0);
}

static void other_rights_in_the_middle_free_nothing(void **state)
{
    (void)state;
    add(&before, 0x1000, 0x9000, 7);
    add(&after, 0x1000, 0x4000, 0);
    add(&after, 0x4000, 0x6000, 0)->protection = 1;
    add(&after, 0x6000, 0x9000, 0);
    mt_classify_diff(&before, &after, &changes);
    for (int i = 0; i < 3; i++)
        assert_int_equal(changes.continued[i], 7);
    assert_int_equal(after.items[0].change, MT_CHANGE_TOLD);
    assert_int_equal(after.items[1].change, MT_CHANGE_TOLD | MT_CHANGE_PROTECTED);
    assert_int_equal(after.items[2].change, MT_CHANGE_TOLD);
}

static void pieces_that_are_joined_free_nothing(void **state)
{
    (void)state;
    add(&before, 0x1000, 0x4000, 7);
    add(&before, 0x4000, 0x6000, 8)->protection = 1;
    add(&before, 0x6000, 0x9000, 9);
    add(&after, 0x1000, 0x9000, 0);
    mt_classify_diff(&before, &after, &changes);
    assert_int_equal(changes.continued[0], 7);
    assert_int_equal(changes.n_ended, 1);
    assert_int_equal(changes.ended[0], 7);
    assert_int_equal(changes.n_merged, 2);
    assert_int_equal(changes.merged[0], 8);
    assert_int_equal(changes.merged[1], 9);
    assert_int_equal(after.items[0].change, MT_CHANGE_TOLD | MT_CHANGE_PROTECTED);
}

static void a_border_that_moves_grows_what_can_be_used(void **state)
{
    (void)state;
    add(&before, 0x1000, 0x4000, 7);
    add(&before, 0x4000, 0x9000, 8)->protection = 0;
    add(&after, 0x1000, 0x6000, 0);
    add(&after, 0x6000, 0x9000, 0)->protection = 0;
    mt_classify_diff(&before, &after, &changes);
    assert_int_equal(changes.continued[0], 7);
    assert_int_equal(changes.continued[1], 8);
    assert_int_equal(after.items[0].change, 0); /* larger and grown */
    assert_int_equal(after.items[1].change, 0);
}

static void another_place_of_the_file_is_new(void **state)
{
    (void)state;
    add(&before, 0x1000, 0x9000, 7)->inode = 5;
    add(&after, 0x1000, 0x9000, 0)->inode = 5;
    after.items[0].offset = 0x1000;
    mt_classify_diff(&before, &after, &changes);
    assert_int_equal(changes.continued[0], 0);
    assert_int_equal(changes.n_ended, 1);
}

static void rows_that_were_never_written_are_new(void **state)
{
    (void)state;
    add(&before, 0x1000, 0x2000, 0);
    add(&after, 0x1000, 0x2000, 0);
    mt_classify_diff(&before, &after, &changes);
    assert_int_equal(changes.n_new, 1);
    assert_int_equal(changes.n_ended, 0);
}

static void a_reused_thread_id_is_another_thread(void **state)
{
    struct mt_thread old[] = {{.tid = 5, .start_ticks = 100, .row = 3},
                              {.tid = 9, .start_ticks = 100, .row = 4}};
    struct mt_thread now[] = {{.tid = 5, .start_ticks = 700}, {.tid = 9, .start_ticks = 100}};
    int64_t ended[2];

    (void)state;
    assert_int_equal(mt_classify_diff_threads(old, 2, now, 2, ended), 1);
    assert_int_equal(ended[0], 3);
    assert_int_equal(now[0].row, 0);
    assert_int_equal(now[1].row, 4);
}

static void a_library_replaced_at_the_same_base_is_another(void **state)
{
    struct mt_module old[] = {
        {.base = 0x1000, .end = 0x2000, .path = 2, .build_id = {1}, .build_id_bytes = 1, .row = 3}};
    struct mt_module now[] = {
        {.base = 0x1000, .end = 0x2000, .path = 2, .build_id = {2}, .build_id_bytes = 1}};
    int64_t ended[1];

    (void)state;
    assert_int_equal(mt_classify_diff_modules(old, 1, now, 1, ended), 1);
    assert_int_equal(now[0].row, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unchanged_memory_keeps_its_row, begin, end),
        cmocka_unit_test_setup_teardown(a_heap_that_grows_is_one_region, begin, end),
        cmocka_unit_test_setup_teardown(a_stack_grows_downwards, begin, end),
        cmocka_unit_test_setup_teardown(new_and_gone_memory, begin, end),
        cmocka_unit_test_setup_teardown(another_thing_at_the_same_address_is_new, begin, end),
        cmocka_unit_test_setup_teardown(other_rights_continue_the_row, begin, end),
        cmocka_unit_test_setup_teardown(a_region_split_in_two_ends_once, begin, end),
        cmocka_unit_test_setup_teardown(other_rights_in_the_middle_free_nothing, begin, end),
        cmocka_unit_test_setup_teardown(pieces_that_are_joined_free_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_border_that_moves_grows_what_can_be_used, begin, end),
        cmocka_unit_test_setup_teardown(another_place_of_the_file_is_new, begin, end),
        cmocka_unit_test_setup_teardown(rows_that_were_never_written_are_new, begin, end),
        cmocka_unit_test(a_reused_thread_id_is_another_thread),
        cmocka_unit_test(a_library_replaced_at_the_same_base_is_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
