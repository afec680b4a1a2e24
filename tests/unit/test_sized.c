/* SPDX-License-Identifier: MIT */
/* Description: a struct of any size is taken when some version of a header can have had that size,
 * and refused with words when the size ends inside a field: for each struct that begins with its
 * size, by the functions that take it. What a size may be is the compiler's word, field by field.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "api/api_options.h"
#include "base/sized.h"
#include "memtracer/import.h"
#include "memtracer/reader.h"

struct pair {
    uint32_t size, number;
    const char *text;
};

static const struct mt_field pair_fields[] = {
    MT_FIELD(struct pair, size), MT_FIELD(struct pair, number), MT_FIELD(struct pair, text)};
static const struct mt_sized pair_kind = MT_SIZED(struct pair, pair_fields);

static int take_options(const void *given)
{
    static struct tracer t;

    return mt_options_take(&t, given);
}

static int take_import(const void *given)
{
    tracer_import *i = NULL;
    int error = tracer_import_open("never-written.db", given, &i);

    tracer_import_close(i);
    return error;
}

/* Options are looked at before the reader, which is missing. */
static int take_verdict(const void *given)
{
    const tracer_verdict *verdict = NULL;
    int error = tracer_reader_verdict(NULL, given, &verdict);

    return error == TRACER_EINVAL && strstr(tracer_last_error(), "reader or out") ? 0 : error;
}

static void expect_sizes(int (*take)(const void *), size_t struct_bytes, const size_t *ends,
                         size_t n_ends)
{
    uint32_t given[1024] = {0};

    for (uint32_t size = 0; size <= struct_bytes; size++) {
        bool fits = size == struct_bytes;

        for (size_t i = 0; i < n_ends; i++)
            fits = fits || size == ends[i];
        given[0] = size;
        assert_int_equal(take(given), fits ? TRACER_OK : TRACER_EINVAL);
        if (!fits)
            assert_non_null(strstr(tracer_last_error(), ".size is "));
    }
    given[0] = sizeof(given) + 1;
    assert_int_equal(take(given), TRACER_EINVAL);
    given[0] = (uint32_t)struct_bytes + 8;
    assert_int_equal(take(given), TRACER_OK);
    given[(struct_bytes + 7) / sizeof(given[0])] = 1;
    assert_int_equal(take(given), TRACER_EVERSION);
}

#define END(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

static void options_of_any_size(void **state)
{
    const size_t ends[] = {END(tracer_options, size),        END(tracer_options, flags),
                           END(tracer_options, interval_ms), END(tracer_options, commit_ms),
                           END(tracer_options, budget_ns),   END(tracer_options, max_file_bytes),
                           END(tracer_options, log),         END(tracer_options, log_user),
                           END(tracer_options, label),       END(tracer_options, pid),
                           END(tracer_options, reserved),    END(tracer_options, stack_min_bytes)};

    (void)state;
    expect_sizes(take_options, sizeof(tracer_options), ends, sizeof(ends) / sizeof(ends[0]));
}

static void import_options_of_any_size(void **state)
{
    const size_t ends[] = {
        END(tracer_import_options, size), END(tracer_import_options, interval_ms),
        END(tracer_import_options, label), END(tracer_import_options, limit_bytes),
        END(tracer_import_options, max_regions)};

    (void)state;
    expect_sizes(take_import, sizeof(tracer_import_options), ends, sizeof(ends) / sizeof(ends[0]));
}

static void verdict_options_of_any_size(void **state)
{
    const size_t ends[] = {
        END(tracer_verdict_options, size),          END(tracer_verdict_options, measure),
        END(tracer_verdict_options, run),           END(tracer_verdict_options, since_wall_ns),
        END(tracer_verdict_options, until_wall_ns), END(tracer_verdict_options, limit_bytes),
        END(tracer_verdict_options, type)};

    (void)state;
    expect_sizes(take_verdict, sizeof(tracer_verdict_options), ends,
                 sizeof(ends) / sizeof(ends[0]));
}

static void half_a_pointer_is_named_and_nothing_is_written(void **state)
{
    struct pair given = {offsetof(struct pair, text) + 1, 7, "x"}, out = {1, 2, "old"};

    (void)state;
    assert_int_equal(mt_sized_take(&pair_kind, &given, &out), TRACER_EINVAL);
    assert_non_null(strstr(tracer_last_error(), "inside field text"));
    assert_string_equal(out.text, "old");
    given.size = offsetof(struct pair, text);
    assert_int_equal(mt_sized_take(&pair_kind, &given, &out), TRACER_OK);
    assert_int_equal(out.size, sizeof(out));
    assert_int_equal(out.number, 7);
    assert_null(out.text);
    assert_int_equal(mt_sized_check(&pair_kind, NULL), TRACER_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_any_size),
        cmocka_unit_test(import_options_of_any_size),
        cmocka_unit_test(verdict_options_of_any_size),
        cmocka_unit_test(half_a_pointer_is_named_and_nothing_is_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
