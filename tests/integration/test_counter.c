/* SPDX-License-Identifier: MIT */
/* Description: counters of the host's own are in the file with name, unit and every value that a
 * sample found changed, also when nothing else changed, over runs that give ids in another order.
 */
#define _GNU_SOURCE
#include "support/host.h"

static uint32_t add(tracer *t, const char *name)
{
    uint32_t counter = 0;

    assert_int_equal(tracer_counter_add(t, name, "bytes", "a test's", &counter), TRACER_OK);
    return counter;
}

static void set_and_sample(tracer *t, uint32_t counter, int64_t value)
{
    assert_int_equal(tracer_counter_set(t, counter, value), TRACER_OK);
    assert_int_equal(tracer_sample(t), TRACER_OK);
}

static void expect_number(const char *sql, int64_t value)
{
    struct host_answer a = host_ask(sql);

    assert_int_equal(a.n_rows, 1);
    assert_int_equal(a.integer, value);
}

static void every_change_is_kept(void **state)
{
    tracer *t = host_start(3600000);
    uint32_t pool = add(t, "pool"), again;

    (void)state;
    set_and_sample(t, pool, 0);
    set_and_sample(t, pool, INT64_MAX);
    set_and_sample(t, pool, INT64_MAX);
    set_and_sample(t, pool, -7);
    assert_int_equal(tracer_counter_add(t, "pool", NULL, NULL, &again), TRACER_OK);
    assert_int_equal(again, pool);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    expect_number("SELECT count(*) FROM counter c JOIN counter_kind k ON k.id = c.counter"
                  " WHERE k.name = 'pool' AND k.unit = 'bytes' AND k.description = 'a test''s'",
                  3);
    expect_number("SELECT group_concat(value, ' ') = '0 9223372036854775807 -7' FROM"
                  " (SELECT value FROM counter WHERE counter = 40 ORDER BY sample)",
                  1);
}

static void a_change_alone_is_a_sample(void **state)
{
    tracer *t = host_start(20);
    uint32_t pool = add(t, "pool");
    tracer_stats stats = {.size = sizeof(stats)};

    (void)state;
    for (int i = 1; i <= 3; i++) {
        uint64_t seen;

        assert_int_equal(tracer_counter_set(t, pool, i), TRACER_OK);
        assert_int_equal(tracer_get_stats(t, &stats), TRACER_OK);
        for (seen = stats.n_ticks; stats.n_ticks < seen + 3;)
            assert_int_equal(tracer_get_stats(t, &stats), TRACER_OK);
    }
    assert_int_equal(tracer_stop(t), TRACER_OK);
    expect_number("SELECT count(DISTINCT value) FROM counter WHERE counter = 40 AND value > 0", 3);
}

static void names_stay_right_over_runs(void **state)
{
    tracer *t = host_start(3600000);

    (void)state;
    set_and_sample(t, add(t, "one"), 1);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    t = host_start(3600000);
    set_and_sample(t, add(t, "two"), 2);
    set_and_sample(t, add(t, "one"), 11);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    expect_number("SELECT group_concat(name || value || run, ' ') = 'one11 two22 one112' FROM"
                  " (SELECT k.name, c.value, c.run FROM counter c"
                  " JOIN counter_kind k ON k.id = c.counter"
                  " WHERE k.name IN ('one', 'two') ORDER BY c.sample)",
                  1);
}

static void what_is_refused(void **state)
{
    tracer *t = host_start(3600000);
    char name[3] = "a0";
    uint32_t counter = 99;

    (void)state;
    assert_int_equal(tracer_counter_add(t, "threads", NULL, NULL, &counter), TRACER_EINVAL);
    assert_non_null(strstr(tracer_last_error(), "built in"));
    assert_int_equal(tracer_counter_add(t, "A b", NULL, NULL, &counter), TRACER_EINVAL);
    assert_int_equal(tracer_counter_add(t, NULL, NULL, NULL, &counter), TRACER_EINVAL);
    assert_int_equal(tracer_counter_add(t, "x", "", NULL, &counter), TRACER_EINVAL);
    assert_int_equal(tracer_counter_add(t, "x", NULL, NULL, NULL), TRACER_EINVAL);
    assert_int_equal(counter, 99);
    assert_int_equal(tracer_counter_set(t, 40, 1), TRACER_EINVAL);
    for (int i = 0; i < 24; i++) {
        name[1] = (char)('a' + i);
        add(t, name);
    }
    assert_int_equal(tracer_counter_add(t, "full", NULL, NULL, &counter), TRACER_ELIMIT);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    assert_int_equal(tracer_counter_set(t, 40, 1), TRACER_ESTATE);
}

#define T(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(every_change_is_kept),
        T(a_change_alone_is_a_sample),
        T(names_stay_right_over_runs),
        T(what_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
