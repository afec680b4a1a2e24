/* SPDX-License-Identifier: MIT */
/* tests: a series in memory whose truth is known, because the test wrote it, and its verdict. */
#ifndef TESTS_SUPPORT_KNOWN_SERIES_H
#define TESTS_SUPPORT_KNOWN_SERIES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "memtracer/memtracer.h"
#include "read/verdict/verdict.h"

#define SECOND INT64_C(1000000000)
#define MIB INT64_C(1048576)
#define N 600

static int64_t t_ns[N];
static int64_t heap[N];
static int64_t quiet[N];
static const int64_t *const values[] = {quiet, heap};

/* A fixed sequence, so that every run sees the same noise: -pages … pages. */
static inline int64_t noise(int64_t pages)
{
    static uint32_t state = 12345;

    state = state * 1664525u + 1013904223u;
    return ((int64_t)(state >> 8) % (2 * pages + 1) - pages) * 4096;
}

static inline struct mt_verdict_input begin(void)
{
    for (int i = 0; i < N; i++) {
        t_ns[i] = (i + 1) * SECOND;
        quiet[i] = 7 * MIB;
        heap[i] = 100 * MIB + noise(4);
    }
    return (struct mt_verdict_input){
        .n = N, .t_ns = t_ns, .n_types = 2, .values = values, .page_bytes = 4096};
}

static inline struct mt_verdict *judge(const struct mt_verdict_input *in)
{
    struct mt_verdict *v = NULL;

    assert_int_equal(mt_verdict_judge(in, &v), 0);
    assert_non_null(v);
    return v;
}

static inline void expect(const struct mt_verdict_input *in, enum mt_verdict_class shape)
{
    struct mt_verdict *v = judge(in);

    assert_string_equal(mt_verdict_name(v->shape), mt_verdict_name(shape));
    assert_int_equal(v->leak, mt_verdict_is_leak(shape));
    assert_true(v->confidence >= 0 && v->confidence <= 1);
    mt_verdict_free(v);
}

#endif
