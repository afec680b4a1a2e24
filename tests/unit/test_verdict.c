/* SPDX-License-Identifier: MIT */
/* Description: the verdict on series whose truth is known because they are written here. */
#include "base/memory.h"
#include "support/known_series.h"

static void add_steps(int every, int64_t bytes)
{
    for (int i = 0; i < N; i++)
        heap[i] += i / every * bytes;
}

/* Eleven steps of 2 MiB, every 50 s, the first with sample 50. */
static void steps_are_found_with_size_and_time(void **state)
{
    struct mt_verdict_input in = begin();
    struct mt_verdict *v;
    const struct mt_verdict_type *t;

    (void)state;
    add_steps(50, 2 * MIB);
    v = judge(&in);
    assert_int_equal(v->shape, MT_VERDICT_PUNCTUATED);
    assert_int_equal(v->type, 1);
    t = &v->types[1];
    assert_int_equal(t->n_steps, 11);
    for (unsigned k = 0; k < t->n_steps; k++) {
        assert_true(t->steps[k].before_ns == (int64_t)(50 * (k + 1)) * SECOND);
        assert_true(t->steps[k].after_ns == (int64_t)(50 * (k + 1) + 1) * SECOND);
        assert_true(llabs(t->steps[k].bytes - 2 * MIB) < MIB / 20);
    }
    assert_true(llabs(t->typical_interval_ns - 50 * SECOND) < SECOND / 10);
    assert_true(llabs(t->kept_bytes - 22 * MIB) < MIB / 4);
    assert_int_equal(v->types[0].shape, MT_VERDICT_STEADY);
    mt_verdict_free(v);
}

static void steps_are_found_under_collections(void **state)
{
    struct mt_verdict_input in = begin();
    struct mt_verdict *v;

    (void)state;
    add_steps(150, 2 * MIB);
    for (int i = 0; i < N; i++)
        heap[i] += i % 12 * MIB;
    v = judge(&in);
    assert_int_equal(v->shape, MT_VERDICT_PUNCTUATED);
    assert_int_equal(v->types[1].n_steps, 3);
    mt_verdict_free(v);
}

static void a_slope_is_no_staircase(void **state)
{
    struct mt_verdict_input in = begin();
    struct mt_verdict *v;

    (void)state;
    for (int i = 0; i < N; i++)
        heap[i] += i * 65536;
    v = judge(&in);
    assert_int_equal(v->shape, MT_VERDICT_LINEAR);
    assert_int_equal(v->types[1].n_steps, 0);
    assert_true(v->types[1].bytes_per_s > 65536 * 0.98 && v->types[1].bytes_per_s < 65536 * 1.02);
    mt_verdict_free(v);
}

static void what_stopped_is_no_leak(void **state)
{
    struct mt_verdict_input in = begin();

    (void)state;
    for (int i = 0; i < N; i++)
        heap[i] += (i < 200 ? i : 200) * 262144;
    expect(&in, MT_VERDICT_WARMUP);
    in = begin();
    for (int i = 0; i < N; i++)
        heap[i] += i > 350 ? 30 * MIB : 0;
    expect(&in, MT_VERDICT_JUMP);
}

static void what_is_given_back_is_no_leak(void **state)
{
    struct mt_verdict_input in = begin();

    (void)state;
    expect(&in, MT_VERDICT_STEADY);
    for (int i = 0; i < N; i++)
        heap[i] += i % 40 * MIB;
    expect(&in, MT_VERDICT_SAWTOOTH);
    in = begin();
    for (int i = 0; i < N; i++) {
        int64_t u = i % 150 - 75;

        heap[i] += (75 * 75 - u * u) * 8192;
    }
    assert_false(mt_verdict_is_leak(MT_VERDICT_DIURNAL));
    in.n_types = 2;
    {
        struct mt_verdict *v = judge(&in);

        assert_false(v->leak);
        mt_verdict_free(v);
    }
}

static void a_torn_read_is_no_floor(void **state)
{
    struct mt_verdict_input in = begin();

    (void)state;
    add_steps(50, 2 * MIB);
    heap[577] = 0;
    heap[300] /= 2;
    expect(&in, MT_VERDICT_PUNCTUATED);
}

/* Every life starts at the bottom again; the drop between them is no end of the leak. */
static void lives_are_judged_apart(void **state)
{
    struct mt_verdict_input in = begin();
    const int64_t starts[] = {SECOND, 301 * SECOND};

    (void)state;
    for (int i = 0; i < N; i++)
        heap[i] += i % 300 * 65536;
    in.n_sessions = 2;
    in.session_starts_ns = starts;
    expect(&in, MT_VERDICT_LINEAR);
}

/* "save" comes with every step and once without; "ping" comes every 20 s. */
static void the_culprit_is_named(void **state)
{
    struct mt_verdict_input in = begin();
    struct mt_verdict_marker markers[64];
    struct mt_verdict *v;

    (void)state;
    add_steps(50, 2 * MIB);
    for (int i = 1; i < N; i++) {
        if (i % 20 == 0)
            markers[in.n_markers++] = (struct mt_verdict_marker){t_ns[i] - SECOND / 3, "ping"};
        if (i % 50 == 0 || i == 425)
            markers[in.n_markers++] = (struct mt_verdict_marker){t_ns[i] - SECOND / 4, "save"};
    }
    in.markers = markers;
    v = judge(&in);
    assert_non_null(v->action);
    assert_string_equal(v->action, "save");
    assert_int_equal(v->n_actions, 12);
    assert_int_equal(v->n_actions_stepless, 1);
    mt_verdict_free(v);
}

/* 107 MiB at the start and 64 KiB/s: 200 MiB are reached 1488 s after the start. */
/* Three steps in forty samples: "login" comes shortly before each and never else, "open" comes six
 * times before all of them, so that windows in which most of the time lies miss it each time. */
static void few_steps_have_their_culprit_too(void **state)
{
    static const int steps[] = {18, 27, 34};
    struct mt_verdict_input in = begin();
    struct mt_verdict_marker markers[9];
    struct mt_verdict *v;

    (void)state;
    in.n = 40;
    for (int i = 0; i < 6; i++)
        markers[in.n_markers++] = (struct mt_verdict_marker){t_ns[i] + SECOND / 2, "open"};
    for (int k = 0; k < 3; k++) {
        markers[in.n_markers++] =
            (struct mt_verdict_marker){t_ns[steps[k]] - SECOND * 17 / 10, "login"};
        for (int i = steps[k]; i < 40; i++)
            heap[i] += 2 * MIB;
    }
    in.markers = markers;
    v = judge(&in);
    assert_int_equal(v->shape, MT_VERDICT_PUNCTUATED);
    assert_non_null(v->action);
    assert_string_equal(v->action, "login");
    mt_verdict_free(v);
}

/* Steps that rest for the second half of one life go on in the next: no warm-up. In both lives at
 * rest they are one. */
static void a_rest_is_none_where_steps_go_on(void **state)
{
    static const int first[] = {20, 60, 90, 130}, second[] = {330, 410, 470, 560};
    const int64_t starts[] = {SECOND, 301 * SECOND};
    struct mt_verdict_input in = begin();

    (void)state;
    for (int k = 0; k < 4; k++)
        for (int i = first[k]; i < 300; i++)
            heap[i] += 2 * MIB;
    in.n_sessions = 2;
    in.session_starts_ns = starts;
    for (int k = 0; k < 4; k++)
        for (int i = second[k]; i < N; i++)
            heap[i] += 2 * MIB;
    expect(&in, MT_VERDICT_PUNCTUATED);
    for (int i = 300; i < N; i++)
        heap[i] = heap[i - 300];
    expect(&in, MT_VERDICT_WARMUP);
}

static void the_end_is_foreseen(void **state)
{
    struct mt_verdict_input in = begin();
    struct mt_verdict *v;

    (void)state;
    for (int i = 0; i < N; i++)
        heap[i] += i * 65536;
    in.limit_bytes = 200 * MIB;
    v = judge(&in);
    assert_true(llabs(v->exhaustion_ns - 1489 * SECOND) < 30 * SECOND);
    mt_verdict_free(v);
}

static void little_is_too_short(void **state)
{
    struct mt_verdict_input in = begin();
    struct mt_verdict *v;

    (void)state;
    add_steps(2, MIB);
    in.n = 8;
    v = judge(&in);
    assert_int_equal(v->types[1].shape, MT_VERDICT_TOO_SHORT);
    assert_true(v->types[1].needed_ns > 0);
    assert_false(v->leak);
    mt_verdict_free(v);
    in.n = 0;
    v = judge(&in);
    assert_false(v->leak);
    mt_verdict_free(v);
}

static void unknown_values_are_left_out(void **state)
{
    struct mt_verdict_input in = begin();

    (void)state;
    add_steps(50, 2 * MIB);
    for (int i = 0; i < N; i++)
        if (i % 7 == 3)
            heap[i] = MT_VERDICT_UNKNOWN;
    expect(&in, MT_VERDICT_PUNCTUATED);
    for (int i = 0; i < N; i++)
        heap[i] = MT_VERDICT_UNKNOWN;
    in.n_types = 2;
    {
        struct mt_verdict *v = judge(&in);

        assert_false(v->leak);
        assert_int_equal(v->types[1].shape, MT_VERDICT_TOO_SHORT);
        mt_verdict_free(v);
    }
}

static void failures_are_told(void **state)
{
    struct mt_verdict_input in = begin();
    struct mt_verdict *v = NULL;
    uint64_t held = mt_memory_held();

    (void)state;
    assert_int_equal(mt_verdict_judge(NULL, &v), TRACER_EINVAL);
    in.n_types = MT_VERDICT_TYPES + 1;
    assert_int_equal(mt_verdict_judge(&in, &v), TRACER_EINVAL);
    in.n_types = 2;
    for (unsigned n = 1; n <= 2; n++) {
        mt_memory_fail_at(n);
        assert_int_equal(mt_verdict_judge(&in, &v), TRACER_ENOMEM);
        assert_null(v);
    }
    mt_memory_fail_at(0);
    assert_true(mt_memory_held() == held);
    mt_verdict_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_found_with_size_and_time),
        cmocka_unit_test(steps_are_found_under_collections),
        cmocka_unit_test(a_slope_is_no_staircase),
        cmocka_unit_test(what_stopped_is_no_leak),
        cmocka_unit_test(what_is_given_back_is_no_leak),
        cmocka_unit_test(a_torn_read_is_no_floor),
        cmocka_unit_test(lives_are_judged_apart),
        cmocka_unit_test(the_culprit_is_named),
        cmocka_unit_test(few_steps_have_their_culprit_too),
        cmocka_unit_test(a_rest_is_none_where_steps_go_on),
        cmocka_unit_test(the_end_is_foreseen),
        cmocka_unit_test(little_is_too_short),
        cmocka_unit_test(unknown_values_are_left_out),
        cmocka_unit_test(failures_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
