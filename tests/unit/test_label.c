/* SPDX-License-Identifier: MIT */
/* Description: a text that does not fit ends before a character of UTF-8, never inside one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/label.h"

static void check(const char *text, size_t room, const char *expected)
{
    char out[16];

    memset(out, '#', sizeof(out));
    mt_label_copy(out, room, text);
    assert_string_equal(out, expected);
    assert_int_equal(out[room], '#');
}

static void what_fits_is_whole(void **state)
{
    (void)state;
    check("", 1, "");
    check("abc", 4, "abc");
    check("a\xc3\xbc", 4, "a\xc3\xbc");
    check("\xff\xfe", 3, "\xff\xfe");
}

static void no_character_is_split(void **state)
{
    (void)state;
    check("abcd", 4, "abc");
    check("ab\xc3\xbc", 4, "ab");             /* 2 bytes, 1 fits */
    check("a\xe2\x82\xac", 4, "a");           /* 3 bytes, 2 fit */
    check("a\xf0\x9f\x98\x80", 5, "a");       /* 4 bytes, 3 fit */
    check("\xf0\x9f\x98\x80", 1, "");         /* none fits */
    check("\xc3\xbc\xc3\xbc", 3, "\xc3\xbc"); /* between two */
    check("a\xe2\x82\xac\xe2\x82\xac", 6, "a\xe2\x82\xac");
}

static void other_bytes_are_cut_anywhere(void **state)
{
    (void)state;
    check("\x80\x80\x80\x80\x80\x80", 6, "\x80\x80\x80\x80\x80");
    check("\xff\xff\xff\xff", 3, "\xff\xff");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_whole),
        cmocka_unit_test(no_character_is_split),
        cmocka_unit_test(other_bytes_are_cut_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
