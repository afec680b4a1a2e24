/* SPDX-License-Identifier: MIT */
/* Description: the depth of a tick follows from what moved, what was asked and what it may cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sampler/plan.h"

#define S INT64_C(1000000000)

static struct mt_counters before, now;
static struct mt_plan_input in;

static int begin(void **state)
{
    (void)state;
    before = (struct mt_counters){.known = ~(UINT64_C(1) << MT_COUNTER_WORKING_SET)};
    now = before;
    in = (struct mt_plan_input){.before = &before,
                                .now = &now,
                                .now_ns = 100 * S,

                                .last_list_ns = 99 * S,
                                .last_whole_ns = 90 * S,
                                .last_full_ns = 90 * S,
                                .full_cost_ns = S / 1000,
                                .budget_ns = S / 100};
    return 0;
}

static bool deferred;

static enum mt_depth plan(void)
{
    return mt_plan_depth(&in, &deferred);
}

static void nothing_moved(void **state)
{
    (void)state;
    assert_int_equal(plan(), MT_DEPTH_COUNTERS);
}

static void a_list_that_was_kept_is_read_in_time(void **state)
{
    (void)state;
    in.list_due_ns = in.now_ns + 1;
    assert_int_equal(plan(), MT_DEPTH_COUNTERS);
    in.list_due_ns = in.now_ns;
    assert_int_equal(plan(), MT_DEPTH_PAGES);
}

static void one_fault_is_looked_at(void **state)
{
    (void)state;
    now.value[MT_COUNTER_MINOR_FAULTS]++;
    assert_int_equal(plan(), MT_DEPTH_PAGES);
}

static void an_unknown_counter_cannot_say_that_nothing_moved(void **state)
{
    (void)state;
    now.known &= ~(UINT64_C(1) << MT_COUNTER_RSS_ANON);
    assert_int_equal(plan(), MT_DEPTH_PAGES);
}

static void what_is_left_is_gone_on_with(void **state)
{
    (void)state;
    in.left = true;
    assert_int_equal(plan(), MT_DEPTH_PAGES);
}

static void flags_that_are_wanted_are_had_where_they_are_cheap(void **state)
{
    (void)state;
    in.wants_flags = true;
    assert_int_equal(plan(), MT_DEPTH_FULL); /* 10 s after the last that took 1 ms */
    in.last_full_ns = in.now_ns - S / 10;
    assert_int_equal(plan(), MT_DEPTH_COUNTERS);
    in.last_full_ns = in.now_ns - S / 5;
    assert_int_equal(plan(), MT_DEPTH_FULL); /* a two-hundredth of the time */
    in.no_pages = true;
    assert_int_equal(plan(), MT_DEPTH_COUNTERS);
}

/* Without credit a change waits; who asks is answered. */
static void a_dear_look_waits(void **state)
{
    (void)state;
    now.value[MT_COUNTER_MINOR_FAULTS]++;
    assert_int_equal(plan(), MT_DEPTH_PAGES);
    assert_false(deferred);
    in.credit_ns = -1;
    assert_int_equal(plan(), MT_DEPTH_COUNTERS);
    assert_true(deferred);
    in.at_least = MT_DEPTH_PAGES;
    assert_int_equal(plan(), MT_DEPTH_PAGES);
    in.at_least = 0;
    in.asked = true;
    assert_int_equal(plan(), MT_DEPTH_FULL);
    in.asked = false;
    now = before;
    assert_int_equal(plan(), MT_DEPTH_COUNTERS);
    assert_false(deferred);
}

/* A twenty-second part of the time in the long run: 10 s at ticks of 10 ms that would cost 2 ms
 * each is 455 ms and what was saved up. */
static void B01_cost_has_a_share_of_the_time(void **state)
{
    int64_t credit = S / 5, spent = 0;

    (void)state;
    for (unsigned tick = 0; tick < 1000; tick++) {
        int64_t cost = credit < 0 ? 0 : 2 * S / 1000;

        spent += cost;
        credit = mt_plan_credit(credit, S / 100, cost);
    }
    assert_in_range(spent, 10 * S / 22 + S / 5 - S / 100, 10 * S / 22 + S / 5 + S / 100);
    assert_int_equal(mt_plan_credit(0, 3600 * S, 0), S / 5);
}

/* Windows has neither Linux's sizes nor its two kinds of fault. */
static void other_counters_say_it_too(void **state)
{
    (void)state;
    before.known = now.known =
        UINT64_C(1) << MT_COUNTER_WORKING_SET | UINT64_C(1) << MT_COUNTER_PRIVATE_CHARGE |
        UINT64_C(1) << MT_COUNTER_PAGE_FAULTS | UINT64_C(1) << MT_COUNTER_THREADS;
    assert_int_equal(plan(), MT_DEPTH_COUNTERS);
    now.value[MT_COUNTER_PAGE_FAULTS]++;
    assert_int_equal(plan(), MT_DEPTH_PAGES);
}

static void the_list_is_read_now_and_then(void **state)
{
    (void)state;
    in.last_list_ns = 90 * S;
    assert_int_equal(plan(), MT_DEPTH_PAGES);
}

static void a_claim_is_seen_at_once(void **state)
{
    (void)state;
    in.at_least = MT_DEPTH_PAGES;
    assert_int_equal(plan(), MT_DEPTH_PAGES);
}

static void who_asks_gets_everything(void **state)
{
    (void)state;
    in.asked = true;
    assert_int_equal(plan(), MT_DEPTH_FULL);
    in.no_pages = true;
    assert_int_equal(plan(), MT_DEPTH_LIST);
}

static void B10_the_deepest_look_waits_for_its_price(void **state)
{
    (void)state;
    now.value[MT_COUNTER_VM_SIZE]++;
    in.last_full_ns = 10 * S;
    assert_int_equal(plan(), MT_DEPTH_FULL);
    in.full_cost_ns = S;
    assert_int_equal(plan(), MT_DEPTH_PAGES);
    in.now_ns = 300 * S;
    in.last_list_ns = in.last_whole_ns = 299 * S;
    assert_int_equal(plan(), MT_DEPTH_FULL);
    in.now_ns = 100 * S;
    in.last_whole_ns = 10 * S;
    assert_int_equal(plan(), MT_DEPTH_WHOLE);
    in.cannot_count = true;
    assert_int_equal(plan(), MT_DEPTH_FULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_moved, begin),
        cmocka_unit_test_setup(a_list_that_was_kept_is_read_in_time, begin),
        cmocka_unit_test_setup(what_is_left_is_gone_on_with, begin),
        cmocka_unit_test_setup(flags_that_are_wanted_are_had_where_they_are_cheap, begin),
        cmocka_unit_test_setup(a_dear_look_waits, begin),
        cmocka_unit_test_setup(B01_cost_has_a_share_of_the_time, begin),
        cmocka_unit_test_setup(one_fault_is_looked_at, begin),
        cmocka_unit_test_setup(an_unknown_counter_cannot_say_that_nothing_moved, begin),
        cmocka_unit_test_setup(other_counters_say_it_too, begin),
        cmocka_unit_test_setup(the_list_is_read_now_and_then, begin),
        cmocka_unit_test_setup(a_claim_is_seen_at_once, begin),
        cmocka_unit_test_setup(who_asks_gets_everything, begin),
        cmocka_unit_test_setup(B10_the_deepest_look_waits_for_its_price, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
