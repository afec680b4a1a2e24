/* SPDX-License-Identifier: MIT */
/* Description: series whose truth is written here, imported and judged: cause, leak, limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "memtracer/import.h"
#include "memtracer/reader.h"

#define SECOND INT64_C(1000000000)
#define MIB UINT64_C(1048576)
#define N 400
#define BIT(column) (1u << TRACER_COLUMN_##column)

static const char path[] = "test_reader_verdict.db";

/* What sample i of N is; `regions` and counters are set by the filler. */
typedef void (*fill_fn)(tracer_import *f, int i, tracer_type_bytes *t);

static uint64_t rise(int i)
{
    return 100 * MIB + (uint64_t)i * MIB / 4;
}

static void hold(tracer_type_bytes *t, uint64_t ws, uint64_t size)
{
    t->known = BIT(WS) | BIT(COMMITTED) | BIT(SIZE);
    t->ws_bytes = ws;
    t->committed_bytes = t->size_bytes = size;
}

static void count(tracer_import *f, const char *name, uint64_t value)
{
    assert_int_equal(tracer_import_counter(f, name, value), TRACER_OK);
}

static void in_use(tracer_import *f, int i, tracer_type_bytes *t)
{
    hold(t, rise(i), rise(i));
    count(f, "heap_in_use", rise(i) - MIB);
    count(f, "heap_free", MIB);
}

/* Each tenth sample is taken in the middle of a wave. */
static void e02_kept_by_the_allocator(tracer_import *f, int i, tracer_type_bytes *t)
{
    uint64_t used = i % 10 == 3 ? rise(i) - MIB : 20 * MIB;

    hold(t, rise(i), rise(i));
    count(f, "heap_in_use", used);
    count(f, "heap_free", rise(i) - used);
}

/* The last samples of a program that ends: its blocks are free, its pages still there. */
static void in_use_until_the_end(tracer_import *f, int i, tracer_type_bytes *t)
{
    uint64_t used = i >= N - 3 ? MIB : rise(i) - MIB;

    hold(t, rise(i), rise(i));
    count(f, "heap_in_use", used);
    count(f, "heap_free", rise(i) - used);
}

static void f12_file_pages(tracer_import *f, int i, tracer_type_bytes *t)
{
    (void)f;
    hold(t, rise(i), 1000 * MIB);
    t->known |= BIT(WS_SHAREABLE);
    t->ws_shareable_bytes = t->ws_bytes;
}

static void f01_address_space_alone(tracer_import *f, int i, tracer_type_bytes *t)
{
    (void)f;
    hold(t, 50 * MIB, rise(i));
}

static void f01_regions(tracer_import *f, int i, tracer_type_bytes *t)
{
    hold(t, 50 * MIB, rise(i));
    t->known |= BIT(BLOCKS);
    t->n_blocks = 100 + (uint64_t)i;
    count(f, "regions", 200 + (uint64_t)i);
}

static void e04_huge_pages(tracer_import *f, int i, tracer_type_bytes *t)
{
    (void)f;
    hold(t, rise(i), 1000 * MIB);
    t->known |= BIT(HUGE);
    t->huge_bytes = t->ws_bytes - 50 * MIB;
}

static void e03_lazily_freed(tracer_import *f, int i, tracer_type_bytes *t)
{
    (void)f;
    hold(t, rise(i), rise(i));
    t->known |= BIT(LAZY_FREE);
    t->lazy_free_bytes = t->ws_bytes - 50 * MIB;
}

static void f09_stacks(tracer_import *f, int i, tracer_type_bytes *t)
{
    hold(t, rise(i), 10 * rise(i));
    count(f, "threads", 12);
}

/* Resident falls while as much and more is swapped out. */
static void e17_swapped(tracer_import *f, int i, tracer_type_bytes *t)
{
    (void)f;
    hold(t, 100 * MIB - (uint64_t)i * MIB / 8, rise(i));
    t->known |= BIT(SWAP);
    t->swap_bytes = rise(i) - t->ws_bytes;
}

static void f10_given_back(tracer_import *f, int i, tracer_type_bytes *t)
{
    (void)f;
    hold(t, i < 40 ? rise(10 * i) : 80 * MIB, 300 * MIB);
}

static void f14_one_step_of_address_space(tracer_import *f, int i, tracer_type_bytes *t)
{
    (void)f;
    hold(t, 100 * MIB, (i < N / 3 ? 200 : 2000) * MIB);
}

static const struct {
    const char *name, *type;
    fill_fn fill;
    uint32_t cause;
    uint32_t leak;
} rows[] = {
    {"live growth", "heap", in_use, TRACER_CAUSE_LIVE, 1},
    {"in use until the end", "heap", in_use_until_the_end, TRACER_CAUSE_LIVE, 1},
    {"E02 retention", "heap", e02_kept_by_the_allocator, TRACER_CAUSE_RETENTION, 0},
    {"E03 lazy free", "private", e03_lazily_freed, TRACER_CAUSE_LAZY_FREE, 0},
    {"E04 huge pages", "private", e04_huge_pages, TRACER_CAUSE_HUGE_PAGES, 1},
    {"E17 swap", "private", e17_swapped, TRACER_CAUSE_LIVE, 1},
    {"F01 reservation", "private", f01_address_space_alone, TRACER_CAUSE_RESERVATION, 1},
    {"F01 regions", "private", f01_regions, TRACER_CAUSE_REGIONS, 1},
    {"F09 stacks", "stack", f09_stacks, TRACER_CAUSE_STACKS, 1},
    {"F10 given back", "heap", f10_given_back, TRACER_CAUSE_NONE, 0},
    {"F12 file pages", "mapped_file", f12_file_pages, TRACER_CAUSE_FILE, 0},
    {"F14 reserved step", "private", f14_one_step_of_address_space, TRACER_CAUSE_NONE, 0},
};

/* `lives` times the same series, one life after another. */
static void import(const char *type, fill_fn fill, int lives, const tracer_import_options *o)
{
    tracer_import *f = NULL;
    tracer_type_bytes t = {0};

    unlink(path);
    assert_int_equal(tracer_import_open(path, o, &f), TRACER_OK);
    assert_int_equal(tracer_import_type(f, type, &t.type), TRACER_OK);
    for (int i = 0; i < lives * N; i++) {
        if (i % N == 0)
            assert_int_equal(tracer_import_life(f, (i + 1) * SECOND - SECOND / 2), TRACER_OK);
        fill(f, i % N, &t);
        assert_int_equal(tracer_import_sample(f, (i + 1) * SECOND, &t, 1), TRACER_OK);
    }
    assert_int_equal(tracer_import_close(f), TRACER_OK);
}

static const tracer_verdict *judge(void)
{
    tracer_reader *r = NULL;
    const tracer_verdict *v = NULL;

    assert_int_equal(tracer_reader_open(path, &r), TRACER_OK);
    assert_int_equal(tracer_reader_verdict(r, NULL, &v), TRACER_OK);
    tracer_reader_close(r);
    return v;
}

static void each_cause_is_told(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        const tracer_verdict *v;

        import(rows[k].type, rows[k].fill, 1, NULL);
        v = judge();
        if (v->types[0]->cause != rows[k].cause || v->leak != rows[k].leak)
            fail_msg("%s: cause %s, leak %u", rows[k].name, tracer_cause_name(v->types[0]->cause),
                     v->leak);
        tracer_verdict_free(v);
    }
}

static void restarts_do_not_hide_growth(void **state)
{
    const tracer_verdict *v;

    (void)state;
    import("heap", in_use, 3, NULL);
    v = judge();
    assert_int_equal(v->leak, 1);
    assert_int_equal(v->n_lives, 3);
    assert_int_equal(v->hidden_by_restarts, 1);
    tracer_verdict_free(v);
}

/* 1 region a second from 200: 6,530 are there after 6,330 s. 0.25 MiB/s from 100 MiB: 1,000 MiB
 * after 3,600 s. */
static void the_first_limit_is_named(void **state)
{
    tracer_import_options o = {.size = sizeof(o), .max_regions = 6530};
    const tracer_verdict *v;

    (void)state;
    import("private", f01_regions, 1, &o);
    v = judge();
    assert_int_equal(v->limit, TRACER_LIMIT_REGIONS);
    assert_in_range(v->limit_wall_ns / SECOND, 6010, 6650);
    tracer_verdict_free(v);
    o.limit_bytes = 1000 * (int64_t)MIB;
    import("heap", in_use, 1, &o);
    v = judge();
    assert_int_equal(v->limit, TRACER_LIMIT_CGROUP);
    assert_in_range(v->limit_wall_ns / SECOND, 3420, 3780);
    tracer_verdict_free(v);
}

static void moments_that_no_difference_can_tell_are_refused(void **state)
{
    tracer_import *f = NULL;

    (void)state;
    unlink(path);
    assert_int_equal(tracer_import_open(path, NULL, &f), TRACER_OK);
    assert_int_equal(tracer_import_sample(f, INT64_MIN, NULL, 0), TRACER_EINVAL);
    assert_int_equal(tracer_import_life(f, INT64_MAX), TRACER_EINVAL);
    assert_non_null(strstr(tracer_last_error(), "146 years"));
    assert_int_equal(tracer_import_sample(f, 1 - (INT64_C(1) << 62), NULL, 0), TRACER_OK);
    assert_int_equal(tracer_import_mark(f, INT64_MIN, "x"), TRACER_EINVAL);
    assert_int_equal(tracer_import_sample(f, (INT64_C(1) << 62) - 1, NULL, 0), TRACER_OK);
    assert_int_equal(tracer_import_close(f), TRACER_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_is_told),
        cmocka_unit_test(restarts_do_not_hide_growth),
        cmocka_unit_test(the_first_limit_is_named),
        cmocka_unit_test(moments_that_no_difference_can_tell_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    unlink(path);
    return failed;
}
