/* SPDX-License-Identifier: MIT */
/* Description: labels of mappings say who owns them, with the label as owner. */
#include "support/fake_memory.h"

static struct mt_names *names;

static int begin(void **state)
{
    return fake_begin(state) || mt_names_new(built.strings, &names) ? -1 : 0;
}

static int end(void **state)
{
    mt_names_free(names);
    return fake_end(state);
}

static const struct mt_claim *claim_of(const char *rights, const char *name)
{
    built.n_regions = 0;
    build_region(0x10000, 0x20000, rights, name);
    fake_round();
    mt_names_collect(names, &fake_look);
    return fake_claim(0x10000, 0x20000);
}

static const struct {
    const char *name;
    uint8_t type;
} cases[] = {
    {"[anon: glibc: malloc]", MT_TYPE_HEAP},
    {"[anon: glibc: malloc arena]", MT_TYPE_HEAP},
    {"[anon: glibc: pthread stack: 77]", MT_TYPE_STACK},
    {"[anon:mimalloc]", MT_TYPE_HEAP},
    {"[anon:jemalloc_pg_overcommit]", MT_TYPE_HEAP},
    {"[anon:tcmalloc_region_NORMAL_page_8192_lfr_4]", MT_TYPE_HEAP},
    {"[anon: Go: heap]", MT_TYPE_MANAGED_HEAP},
    {"[anon:cpython:pymalloc]", MT_TYPE_MANAGED_HEAP},
    {"[anon:dalvik-main space (region space)]", MT_TYPE_MANAGED_HEAP},
    {"[anon:Ruby:nt_alloc_thread_stack_chunk]", MT_TYPE_STACK},
    {"[anon:Ruby:io_buffer_map_memory]", MT_TYPE_MANAGED_HEAP},
    {"[anon:memtracer]", MT_TYPE_TRACER},
    {"/memfd:java_heap (deleted)", MT_TYPE_MANAGED_HEAP},
    {"/memfd:doublemapper (deleted)", MT_TYPE_MANAGED_HEAP},
};

static void labels_have_their_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct mt_claim *c = claim_of("rw-p", cases[i].name);

        assert_non_null(c);
        assert_int_equal(c->type, cases[i].type);
        assert_int_equal(c->rank, MT_RANK_NAME);
        assert_string_equal(mt_strings_get(built.strings, c->owner, NULL), cases[i].name);
    }
}

static void labels_have_their_types_without_room_for_them(void **state)
{
    (void)state;
    build_fill_names();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct mt_claim *c = claim_of("rw-p", cases[i].name);

        assert_non_null(c);
        assert_int_equal(c->type, cases[i].type);
    }
    assert_null(claim_of("rw-p", "[anon:my pool]"));
    assert_null(claim_of("rw-p", "/memfd:x (deleted)"));
}

static void other_names_are_nobodys(void **state)
{
    static const char *const others[] = {
        "",      "[heap]", "[anon:my pool]", "/memfd:x (deleted)", "/usr/lib/libmimalloc.so.2.0",
        "[vdso]"};

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        for (int again = 0; again < 2; again++)
            assert_null(claim_of("rw-p", others[i]));
}

static void a_stacks_label_names_its_thread(void **state)
{
    (void)state;
    assert_int_equal(claim_of("rw-p", "[anon: glibc: pthread stack: 4711]")->thread, 4711);
    assert_int_equal(claim_of("rw-p", "[anon: glibc: unused stack]")->flags, MT_CLAIM_CACHED);
}

static void what_is_not_accessible_is_reserved(void **state)
{
    (void)state;
    assert_int_equal(claim_of("---p", "[anon:mimalloc]")->flags, MT_CLAIM_RESERVED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(labels_have_their_types, begin, end),
        cmocka_unit_test_setup_teardown(labels_have_their_types_without_room_for_them, begin, end),
        cmocka_unit_test_setup_teardown(other_names_are_nobodys, begin, end),
        cmocka_unit_test_setup_teardown(a_stacks_label_names_its_thread, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_accessible_is_reserved, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
