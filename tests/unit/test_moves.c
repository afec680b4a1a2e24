/* SPDX-License-Identifier: MIT */
/* Description: memory that gets another type midway is judged as one: series whose truth is
 * written here, imported and judged. */
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

static const char path[] = "test_moves.db";
static const char *const names[] = {"heap", "private", "managed_heap"};

/* What each type holds in sample i. */
typedef void (*levels_fn)(int i, uint64_t *out);

static const tracer_verdict *judge(levels_fn levels)
{
    const tracer_verdict *v;
    tracer_reader *r;
    tracer_import *f;
    tracer_type_bytes t[3];

    unlink(path);
    assert_int_equal(tracer_import_open(path, NULL, &f), TRACER_OK);
    memset(t, 0, sizeof(t));
    for (int k = 0; k < 3; k++)
        assert_int_equal(tracer_import_type(f, names[k], &t[k].type), TRACER_OK);
    for (int i = 0; i < N; i++) {
        uint64_t held[3] = {0};

        levels(i, held);
        for (int k = 0; k < 3; k++) {
            t[k].known = 1u << TRACER_COLUMN_WS;
            t[k].ws_bytes = held[k];
        }
        assert_int_equal(tracer_import_sample(f, i * SECOND, t, 3), TRACER_OK);
    }
    assert_int_equal(tracer_import_close(f), TRACER_OK);
    assert_int_equal(tracer_reader_open(path, &r), TRACER_OK);
    assert_int_equal(tracer_reader_verdict(r, NULL, &v), TRACER_OK);
    tracer_reader_close(r);
    return v;
}

static const tracer_type_verdict *find(const tracer_verdict *v, const char *name)
{
    for (uint32_t k = 0; k < v->n_types; k++)
        if (!strcmp(v->types[k]->type, name))
            return v->types[k];
    fail_msg("no type %s", name);
    return NULL;
}

/* 0.25 MiB a second come as private, and every `period` seconds are found to be heap. */
static void grow_and_move(int i, int period, uint64_t *out)
{
    uint64_t private = (uint64_t)(i % period) * MIB / 4;

    out[0] = 20 * MIB + (uint64_t)i * MIB / 4 - private;
    out[1] = 5 * MIB + private;
}

static void moves_once(int i, uint64_t *out)
{
    uint64_t grown = (uint64_t)i * MIB / 4;

    out[0] = 20 * MIB + (i >= 210 ? grown : 0);
    out[1] = 5 * MIB + (i >= 210 ? 0 : grown);
}

static void moves_each_minute(int i, uint64_t *out)
{
    grow_and_move(i, 57, out); /* the last time in the last sample */
}

/* private → heap → managed_heap. */
static void moves_on(int i, uint64_t *out)
{
    uint64_t grown = (uint64_t)i * MIB / 4;

    out[0] = 20 * MIB + (i >= 120 && i < 260 ? grown : 0);
    out[1] = 5 * MIB + (i < 120 ? grown : 0);
    out[2] = 8 * MIB + (i >= 260 ? grown : 0);
}

static void growth_has_one_type_and_begins_at_its_beginning(void **state)
{
    static const struct {
        levels_fn levels;
        const char *type;
    } cases[] = {{moves_once, "heap"}, {moves_each_minute, "heap"}, {moves_on, "managed_heap"}};

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const tracer_verdict *v = judge(cases[c].levels);
        const tracer_type_verdict *t = v->types[v->type];

        assert_int_equal(v->leak, 1);
        assert_string_equal(t->type, cases[c].type);
        assert_int_equal(t->shape, TRACER_SHAPE_LINEAR);
        assert_in_range(t->onset_wall_ns / SECOND, 0, 8);
        assert_in_range(t->kept_bytes, 90 * MIB, 101 * MIB);
        for (uint32_t k = 0; k < v->n_types; k++)
            if (k != v->type && v->types[k]->growing)
                fail_msg("case %zu: %s grows too", c, v->types[k]->type);
        tracer_verdict_free(v);
    }
}

/* 40 MiB are given back, and in the same second 20 MiB of another kind are taken. */
static void frees_and_takes_less(int i, uint64_t *out)
{
    out[0] = (i < 200 ? 20 : 40) * MIB;
    out[1] = (i < 200 ? 45 : 5) * MIB;
}

static void what_is_freed_is_not_moved(void **state)
{
    const tracer_verdict *v = judge(frees_and_takes_less);

    (void)state;
    assert_int_equal(find(v, "heap")->shape, TRACER_SHAPE_JUMP);
    assert_int_equal(find(v, "heap")->typical_step_bytes, 20 * MIB);
    assert_int_equal(find(v, "private")->peak_bytes, 45 * MIB);
    tracer_verdict_free(v);
}

/* 10 MiB that were always there are found to be heap; above them is a sawtooth that stays. At the
 * move it is 1.75 MiB high. */
static void moves_from_under_waves(int i, uint64_t *out)
{
    out[0] = (i < 207 ? 20 : 30) * MIB;
    out[1] = (i < 207 ? 15 : 5) * MIB + (uint64_t)(i % 20) * MIB / 4;
}

static void a_move_takes_no_waves(void **state)
{
    const tracer_verdict *v = judge(moves_from_under_waves);

    (void)state;
    assert_int_equal(v->leak, 0);
    assert_in_range(find(v, "heap")->swing_bytes, 0, 7 * MIB / 4);
    assert_int_equal(find(v, "private")->shape, TRACER_SHAPE_SAWTOOTH);
    tracer_verdict_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_has_one_type_and_begins_at_its_beginning),
        cmocka_unit_test(what_is_freed_is_not_moved),
        cmocka_unit_test(a_move_takes_no_waves),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    unlink(path);
    return failed;
}
