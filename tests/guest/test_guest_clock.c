/* SPDX-License-Identifier: MIT */
/* Description: C19 with clocks of the test's own: the wall clock is set by an hour, the machine
 * sleeps with the monotonic clock standing still or going on. The library's clocks are those of the
 * system plus a shift; so its deadlines must be taken back before they are waited for. */
#define _GNU_SOURCE
#include "guest.h"

#include <stdatomic.h>

#include "base/os/os.h"

#define HOUR_NS INT64_C(3600000000000)
#define INTERVAL_MS 10
#define INTERVAL_NS INT64_C(10000000)
#define HOUR_TICKS (HOUR_NS / INTERVAL_NS)

int64_t __real_mt_os_monotonic_ns(void);
int64_t __wrap_mt_os_monotonic_ns(void);
int64_t __real_mt_os_wall_ns(void);
int64_t __wrap_mt_os_wall_ns(void);
bool __real_mt_os_lock_wait(struct mt_os_lock *l, int64_t deadline_ns);
bool __wrap_mt_os_lock_wait(struct mt_os_lock *l, int64_t deadline_ns);

static _Atomic int64_t monotonic_shift_ns, wall_shift_ns;
static atomic_uint late_us; /* the thread is woken so much too late */

int64_t __wrap_mt_os_monotonic_ns(void)
{
    return __real_mt_os_monotonic_ns() + monotonic_shift_ns;
}

int64_t __wrap_mt_os_wall_ns(void)
{
    return __real_mt_os_wall_ns() + wall_shift_ns;
}

bool __wrap_mt_os_lock_wait(struct mt_os_lock *l, int64_t deadline_ns)
{
    bool signalled = __real_mt_os_lock_wait(
        l, deadline_ns == INT64_MAX ? deadline_ns : deadline_ns - monotonic_shift_ns);

    if (late_us)
        usleep(late_us);
    return signalled;
}

/* Something new at each look, so that each is a row of its own. */
static void look_on(tracer *t, uint64_t n_ticks)
{
    uint64_t until = guest_stats(t).n_ticks + n_ticks;

    while (guest_stats(t).n_ticks < until) {
        void *block = malloc(400000);

        assert_non_null(block);
        memset(block, 1, 400000);
        usleep(3000);
        free(block);
    }
}

/* Looks, shifts the clocks, looks again; the file is ready to be asked. */
static void record_across(int64_t monotonic_ns, int64_t wall_ns)
{
    tracer *t = host_start(INTERVAL_MS);
    uint64_t n;

    look_on(t, 20);
    n = guest_stats(t).n_ticks;
    monotonic_shift_ns += monotonic_ns;
    wall_shift_ns += wall_ns;
    look_on(t, 20);
    assert_in_range(guest_stats(t).n_ticks, n + 20, n + 2000); /* nothing is made up for */
    assert_int_equal(tracer_stop(t), TRACER_OK);
    guest_whole_file();
}

static int64_t samples_with(const char *flag)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM sample, sample_flag f WHERE f.name = '%s' AND flags & f.bit",
             flag);
    return host_ask(sql).integer;
}

#define BETWEEN                                                                                    \
    "FROM (SELECT t_ns - lag(t_ns) OVER w AS mono, wall_ns - lag(wall_ns) OVER w AS wall, "        \
    "t_ns - lag(until_ns) OVER w AS after, missed, flags FROM sample WINDOW w AS (ORDER BY id))"

/* Both clocks are in each sample: one went on, the other jumped, and one sample says so. */
static void wall_clock_jumps(int64_t by_ns)
{
    record_across(0, by_ns);
    assert_int_equal(samples_with("clock"), 1);
    assert_int_equal(host_ask("SELECT count(*) " BETWEEN " WHERE after <= 0").integer, 0);
    assert_true(host_ask("SELECT max(mono) " BETWEEN).integer < HOUR_NS / 10);
    assert_int_equal(
        host_ask("SELECT count(*) " BETWEEN " WHERE abs(wall - mono) > 3000000000000").integer, 1);
    assert_true(host_ask("SELECT sum(missed) FROM sample").integer < HOUR_TICKS / 10);
}

static void C19_wall_clock_is_set_forward(void **state)
{
    (void)state;
    wall_clock_jumps(HOUR_NS);
    assert_true(host_ask("SELECT max(wall) " BETWEEN " WHERE flags & 256").integer >= HOUR_NS);
}

static void C19_wall_clock_is_set_back(void **state)
{
    (void)state;
    wall_clock_jumps(-HOUR_NS);
    assert_true(host_ask("SELECT min(wall) " BETWEEN " WHERE flags & 256").integer < 0);
}

/* Asleep with a monotonic clock that stands still, as Linux has it, is a wall clock set forward. */
static void C19_sleep_with_the_clock_standing_still(void **state)
{
    (void)state;
    wall_clock_jumps(8 * HOUR_NS);
}

/* Asleep with a clock that goes on: both go on alike, and an hour of looks is missing. */
static void C19_sleep_with_the_clock_going_on(void **state)
{
    (void)state;
    record_across(HOUR_NS, HOUR_NS);
    assert_int_equal(samples_with("clock"), 0);
    assert_true(samples_with("gap") >= 1);
    assert_in_range(host_ask("SELECT max(missed) FROM sample").integer, HOUR_TICKS - 1,
                    HOUR_TICKS + HOUR_TICKS / 10);
    assert_int_equal(host_ask("SELECT count(*) " BETWEEN " WHERE mono >= 3600000000000").integer,
                     1);
    assert_true(host_ask("SELECT max(wall - mono) " BETWEEN).integer < HOUR_NS / 10);
}

/* How late the last look but one was against moment k of the timer, k being what was used and
 * missed until then. */
#define LATE                                                                                       \
    "SELECT max(until_ns) - 10000000 * (sum(ticks + missed) - 1) FROM sample "                     \
    "WHERE id < (SELECT max(id) FROM sample)"

/* Every moment of the timer was used or counted as missed: lateness does not add up. */
static void C19_intervals_do_not_drift(void **state)
{
    tracer *t = host_start(INTERVAL_MS);

    (void)state;
    late_us = 2000;
    look_on(t, 200);
    monotonic_shift_ns += HOUR_NS + INTERVAL_NS / 2;
    look_on(t, 200);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    assert_true(host_ask("SELECT max(t_ns) FROM sample").integer > HOUR_NS);
    assert_true(host_ask(LATE).integer >= 0);
    assert_true(host_ask(LATE).integer < 5 * INTERVAL_NS);
}

static int begin(void **state)
{
    monotonic_shift_ns = wall_shift_ns = 0;
    late_us = 0;
    return host_begin(state);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(C19_wall_clock_is_set_forward),
        T(C19_wall_clock_is_set_back),
        T(C19_sleep_with_the_clock_standing_still),
        T(C19_sleep_with_the_clock_going_on),
        T(C19_intervals_do_not_drift),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
