/* SPDX-License-Identifier: MIT */
/* Description: the verdict on series that begin otherwise than they go on, written here. */
#include "support/known_series.h"

#define SLOTS 400

/* A cache of `n_slots` slots of 0 to 1.5 MB, a fifth of them put in anew at random each second:
 * bounded, and near to its middle after a quarter of the minute. */
static void fill_cache(uint32_t seed, size_t n_slots, size_t n)
{
    int64_t slots[SLOTS] = {0};

    for (size_t i = 0; i < n; i++) {
        heap[i] = 0;
        for (size_t k = 0; k < n_slots / 5; k++) {
            seed = seed * 1664525u + 1013904223u;
            slots[(seed >> 16) % n_slots] = (int64_t)(seed >> 8) % 1500000;
        }
        for (size_t k = 0; k < n_slots; k++)
            heap[i] += slots[k] / 4096 * 4096;
    }
}

static int count_leaks(size_t n_slots)
{
    int leaks = 0;

    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct mt_verdict_input in = begin();
        struct mt_verdict *v;

        in.n = 60;
        fill_cache(seed, n_slots, in.n);
        v = judge(&in);
        leaks += v->leak;
        mt_verdict_free(v);
    }
    return leaks;
}

/* The fewer the slots, the more the plateau itself wanders: a few of those are not told apart. */
static void a_cache_that_fills_is_no_leak(void **state)
{
    (void)state;
    assert_int_equal(count_leaks(SLOTS), 0);
    assert_in_range(count_leaks(50), 0, 4);
}

/* 200 MiB for the first sixth, then from 50 MiB on an eighth of one a second: a rise of 62 MiB. */
static void a_high_start_hides_nothing(void **state)
{
    struct mt_verdict_input in = begin();
    struct mt_verdict *v;

    (void)state;
    for (int i = 0; i < N; i++)
        heap[i] += i < N / 6 ? 100 * MIB : i * MIB / 8 - 50 * MIB - N / 48 * MIB;
    v = judge(&in);
    assert_string_equal(mt_verdict_name(v->shape), "linear");
    assert_in_range((int64_t)(v->types[1].bytes_per_s * 100), 12 * MIB, 13 * MIB);
    assert_in_range(v->types[1].kept_bytes, 58 * MIB, 64 * MIB);
    assert_in_range(v->types[1].onset_ns, N / 6 * SECOND, N / 4 * SECOND);
    mt_verdict_free(v);
    for (int i = N / 6; i < N; i++)
        heap[i] = 50 * MIB + noise(4);
    expect(&in, MT_VERDICT_STEADY);
}

/* Fast at first, then slow: a straight line would begin below and end above it. */
static void no_more_is_kept_than_was_there(void **state)
{
    (void)state;
    for (int bend = 30; bend < N; bend += 30) {
        struct mt_verdict_input in = begin();
        int64_t most = 0;
        struct mt_verdict *v;

        for (int i = 0; i < N; i++) {
            heap[i] += i < bend ? i * MIB / 4 : bend * MIB / 4 + (i - bend) * MIB / 16;
            most = heap[i] > most ? heap[i] : most;
        }
        v = judge(&in);
        assert_true(v->types[1].kept_bytes <= most - heap[0]);
        mt_verdict_free(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_that_fills_is_no_leak),
        cmocka_unit_test(a_high_start_hides_nothing),
        cmocka_unit_test(no_more_is_kept_than_was_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
