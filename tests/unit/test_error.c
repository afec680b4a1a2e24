/* SPDX-License-Identifier: MIT */
/* Description: every code has a name and a sentence; the detail is kept whole, also when the new
 * one is made of the old one, and holds no control characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"

static void a_detail_may_quote_the_one_before(void **state)
{
    (void)state;
    assert_int_equal(mt_error_set(TRACER_EIO, "%s", "disk gone"), TRACER_EIO);
    assert_int_equal(mt_error_set(TRACER_EDB, "cannot write: %s", mt_error_detail()), TRACER_EDB);
    assert_string_equal(mt_error_detail(), "cannot write: disk gone");
}

static void control_characters_are_replaced(void **state)
{
    (void)state;
    mt_error_set(TRACER_EIO, "%s", "a\033[31mb\nc\x7f");
    assert_string_equal(mt_error_detail(), "a?[31mb?c?");
}

static void a_long_detail_is_cut(void **state)
{
    char text[2 * MT_ERROR_DETAIL_BYTES];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    mt_error_set(TRACER_EIO, "%s", text);
    assert_int_equal(strlen(mt_error_detail()), MT_ERROR_DETAIL_BYTES - 1);
}

static void every_code_has_words(void **state)
{
    (void)state;
    for (int code = TRACER_EOVERLAP; code <= TRACER_OK; code++) {
        assert_non_null(mt_error_name(code));
        assert_string_not_equal(mt_error_sentence(code), mt_error_sentence(1));
    }
    assert_null(mt_error_name(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_detail_may_quote_the_one_before),
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(a_long_detail_is_cut),
        cmocka_unit_test(every_code_has_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
