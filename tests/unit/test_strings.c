/* SPDX-License-Identifier: MIT */
/* Description: equal bytes have one id, any bytes are kept, a full table answers with the
 * beginning that says what a name is of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/strings.h"

static void equal_bytes_have_one_id(void **state)
{
    struct mt_strings *s;
    size_t n;
    uint32_t a, b;

    (void)state;
    assert_int_equal(mt_strings_new(100, 4096, &s), 0);
    a = mt_strings_add(s, "tab\there \xff\n", 11);
    b = mt_strings_addf(s, "thread %d", 7);
    assert_int_equal(mt_strings_add(s, "tab\there \xff\n", 11), a);
    assert_int_equal(mt_strings_add(s, "thread 7", 8), b);
    assert_memory_equal(mt_strings_get(s, a, &n), "tab\there \xff\n", 12);
    assert_int_equal(n, 11);
    assert_int_equal(mt_strings_add(s, "", 0), 0);
    assert_string_equal(mt_strings_get(s, 99999, NULL), "");
    mt_strings_free(s);
}

static void a_full_table_says_so(void **state)
{
    struct mt_strings *s;
    char text[32];
    uint32_t id = 0;

    (void)state;
    assert_int_equal(mt_strings_new(50, 4096, &s), 0);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "name %d", i);
        id = mt_strings_add(s, text, strlen(text));
    }
    assert_string_equal(mt_strings_get(s, id, NULL), "(name table full)");
    assert_string_equal(mt_strings_get(s, mt_strings_add(s, "name 0", 6), NULL), "name 0");
    assert_int_equal(mt_strings_count(s), 50);
    mt_strings_free(s);
}

static const char *in_full_table(struct mt_strings *s, const char *name)
{
    uint32_t id = mt_strings_add(s, name, strlen(name));

    assert_int_equal(mt_strings_stands_in(s, id), strcmp(mt_strings_get(s, id, NULL), name) != 0);
    return mt_strings_get(s, id, NULL);
}

static void a_full_table_keeps_beginnings(void **state)
{
    static const char *const kinds[] = {"/", "/dev/", "/dev/zero", "[anon:", "/dev/zero"};
    struct mt_strings *s;

    (void)state;
    assert_int_equal(mt_strings_new(50, 4096, &s), 0);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        mt_strings_keep_kind(s, kinds[i]);
    assert_false(mt_strings_has_refused(s));
    assert_string_equal(in_full_table(s, "/srv/first"), "/srv/first");
    for (int i = 0; i < 50; i++)
        mt_strings_addf(s, "name %d", i);
    assert_true(mt_strings_has_refused(s));
    assert_string_equal(in_full_table(s, "/srv/first"), "/srv/first");
    assert_string_equal(in_full_table(s, "/srv/second"), "/ (name table full)");
    assert_string_equal(in_full_table(s, "/dev/zero"), "/dev/zero");
    assert_string_equal(in_full_table(s, "/dev/zero (deleted)"), "/dev/zero (name table full)");
    assert_string_equal(in_full_table(s, "/dev/zer"), "/dev/ (name table full)");
    assert_string_equal(in_full_table(s, "[anon:x]"), "[anon: (name table full)");
    assert_string_equal(in_full_table(s, "worker 7"), "(name table full)");
    assert_string_equal(in_full_table(s, ""), "");
    mt_strings_free(s);
}

/* Text may end before places do. */
static void names_that_are_too_long_keep_beginnings(void **state)
{
    char text[200] = "/memfd:";
    struct mt_strings *s;

    (void)state;
    assert_int_equal(mt_strings_new(50, 128, &s), 0);
    mt_strings_keep_kind(s, "/memfd:");
    memset(text + 7, 'x', sizeof(text) - 8);
    text[sizeof(text) - 1] = '\0';
    assert_string_equal(in_full_table(s, text), "/memfd: (name table full)");
    assert_string_equal(in_full_table(s, "/memfd:x"), "/memfd:x");
    mt_strings_free(s);
}

static void many_names_stay_apart(void **state)
{
    struct mt_strings *s;
    char text[32];

    (void)state;
    assert_int_equal(mt_strings_new(20000, 1 << 20, &s), 0);
    for (int i = 0; i < 15000; i++) {
        snprintf(text, sizeof(text), "/lib/%d.so", i);
        assert_int_equal(mt_strings_add(s, text, strlen(text)), i + 2);
    }
    assert_string_equal(mt_strings_get(s, 7002, NULL), "/lib/7000.so");
    mt_strings_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bytes_have_one_id),
        cmocka_unit_test(a_full_table_says_so),
        cmocka_unit_test(a_full_table_keeps_beginnings),
        cmocka_unit_test(names_that_are_too_long_keep_beginnings),
        cmocka_unit_test(many_names_stay_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
