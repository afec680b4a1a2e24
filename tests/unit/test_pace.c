/* SPDX-License-Identifier: MIT */
/* Description: one call is sized towards 100 µs, within bounds, growing by steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/os/os.h"
#include "source/linux/pace.h"

static void B02_B04_slices_go_to_the_time_aimed_at(void **state)
{
    struct mt_slice s = {1000, 10, 100000};

    (void)state;
    mt_slice_adapt(&s, 1000, 1000000); /* ten times too long */
    assert_int_equal(s.units, 100);
    mt_slice_adapt(&s, 100, 50000); /* half */
    assert_int_equal(s.units, 200);
    mt_slice_adapt(&s, 200, 0); /* no time at all: by four, no more */
    assert_int_equal(s.units, 800);
}

static void slices_stay_in_their_bounds(void **state)
{
    struct mt_slice s = {1000, 10, 3000};

    (void)state;
    mt_slice_adapt(&s, 1000, 1);
    assert_int_equal(s.units, 3000);
    mt_slice_adapt(&s, 1000, INT64_MAX);
    assert_int_equal(s.units, 10);
    mt_slice_adapt(&s, UINT64_MAX, 1);
    assert_int_equal(s.units, 40);
}

static void a_small_call_says_nothing_of_a_large_one(void **state)
{
    struct mt_slice s = {1000, 10, 100000};

    (void)state;
    mt_slice_adapt(&s, 5, 4000); /* 80 would fit in 100 us, were it not for the call itself */
    assert_int_equal(s.units, 1000);
    mt_slice_adapt(&s, 500, 10000); /* a quicker pace shows in a small call as well */
    assert_int_equal(s.units, 4000);
    mt_slice_adapt(&s, 500, 200000); /* and a slower one where it took too long */
    assert_int_equal(s.units, 250);
}

static void what_was_done_without_the_lock_is_a_gap(void **state)
{
    const int64_t held_ns = 1000000;
    struct mt_pace p = {.held_ns = held_ns, .gap_from_ns = INT64_MAX};

    (void)state;
    p.ended_ns =
        mt_os_monotonic_ns() + held_ns * 1000; /* however long this thread waits for a core */
    mt_pace_begin(&p);
    assert_int_equal(p.held_ns, held_ns);
    mt_pace_end(&p);
    assert_true(p.held_ns >= held_ns && p.ended_ns >= p.begun_ns);
    p.ended_ns = mt_os_monotonic_ns() - p.held_ns;
    mt_pace_begin(&p);
    assert_int_equal(p.held_ns, 0);
}

/* The next call waits for what is missing of a gap as long as the hold; the last one of a look does
 * not, for nobody waits behind it. */
static void a_gap_comes_before_the_next_call(void **state)
{
    struct mt_pace p = {.gap_from_ns = 1000000, .held_ns = 1500000};
    int64_t ended_ns;

    (void)state;
    p.begun_ns = mt_os_monotonic_ns();
    mt_pace_end(&p);
    assert_true(p.held_ns >= 1500000);
    ended_ns = p.ended_ns;
    mt_pace_begin(&p);
    assert_true(p.begun_ns - ended_ns >= 1500000);
    assert_int_equal(p.held_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B02_B04_slices_go_to_the_time_aimed_at),
        cmocka_unit_test(slices_stay_in_their_bounds),
        cmocka_unit_test(a_small_call_says_nothing_of_a_large_one),
        cmocka_unit_test(what_was_done_without_the_lock_is_a_gap),
        cmocka_unit_test(a_gap_comes_before_the_next_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
