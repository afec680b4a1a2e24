/* SPDX-License-Identifier: MIT */
/* Description: blocks of runtimes by their headers, as CPython 3.11, Ruby 3.1, LuaJIT 2.1, V8 11
 * and musl 1.2 write them, side by side with malloc's in one region; headers that lie are
 * refused. */
#include "support/fake_memory.h"

#define BASE UINT64_C(0x7f5e40000000)
#define MIB UINT64_C(0x100000)

static struct mt_chunks *chunks;

static int begin(void **state)
{
    return fake_begin(state) || mt_chunks_new(&chunks) ? -1 : 0;
}

static int end(void **state)
{
    mt_chunks_free(chunks);
    return fake_end(state);
}

static void collect(uint64_t bytes)
{
    build_region(BASE, BASE + bytes, "rw-p", "");
    fake_round();
    mt_chunks_collect(chunks, &fake_look);
}

static void expect(uint64_t from, uint64_t to, const char *owner, char confidence)
{
    const struct mt_claim *c = fake_claim(BASE + from, BASE + to);

    assert_non_null(c);
    assert_string_equal(mt_strings_get(built.strings, c->owner, NULL), owner);
    assert_int_equal(c->confidence, confidence);
}

static void poke_python_pool(uint64_t at, uint32_t size_class, uint32_t last_offset)
{
    fake_poke(at, 3);
    fake_poke(at + 32, (uint64_t)size_class << 32);
    fake_poke(at + 40, (uint64_t)last_offset << 32 | 48);
}

static void python_arenas_behind_a_block_of_malloc(void **state)
{
    (void)state;
    fake_look.runtimes = 1u << MT_RUNTIME_CPYTHON;
    fake_poke(BASE + 8, 0x41002);
    poke_python_pool(BASE + 0x44000, 5, 16384 - 96);
    poke_python_pool(BASE + MIB + 0x44000, 0, 16384 - 16);
    collect(0x41000 + 2 * MIB);
    expect(0, 0x41000, "malloc block", MT_CONFIDENCE_B);
    expect(0x41000, 0x41000 + 2 * MIB, "python arenas", MT_CONFIDENCE_B);
}

static void a_pool_whose_numbers_disagree_is_none(void **state)
{
    (void)state;
    fake_look.runtimes = 1u << MT_RUNTIME_CPYTHON;
    poke_python_pool(BASE, 5, 16384 - 80);
    collect(MIB);
    assert_int_equal(fake_set.n_claims, 0);
}

static void ruby_pages_of_both_sizes(void **state)
{
    (void)state;
    fake_look.runtimes = 1u << MT_RUNTIME_RUBY;
    fake_poke(BASE, 0x10000);
    fake_poke(0x10018, BASE + 24);
    fake_poke(BASE + 0x10000, 0x10100);
    fake_poke(0x10118, BASE + 0x10000 + 40);
    fake_poke(BASE + 0x14000, 0x10200);
    fake_poke(0x10218, BASE + 0x14000 + 24);
    collect(0x18000);
    expect(0, 0x18000, "ruby heap", MT_CONFIDENCE_B);
}

static void luajit_large_objects_and_a_segment(void **state)
{
    (void)state;
    fake_look.runtimes = 1u << MT_RUNTIME_LUAJIT;
    fake_poke(BASE, 1);
    fake_poke(BASE + 8, (0x30000 - 32) | 2);
    fake_poke(BASE + 0x30000 + 8, 0x400 | 3);
    fake_poke(BASE + 0x30400 + 8, 0x1000 | 1);
    collect(0x50000);
    expect(0, 0x30000, "luajit heap", MT_CONFIDENCE_B);
    expect(0x30000, 0x50000, "luajit heap", MT_CONFIDENCE_C);
}

static void v8_pages_know_their_area(void **state)
{
    (void)state;
    fake_look.runtimes = 1u << MT_RUNTIME_V8;
    fake_poke(BASE, 0x1c2000);
    fake_poke(BASE + 24, BASE + 0x110);
    fake_poke(BASE + 32, BASE + 0x1c2000);
    collect(0x1c2000);
    expect(0, 0x1c2000, "v8 heap", MT_CONFIDENCE_B);
}

static void musl_groups_are_known_by_their_descriptor(void **state)
{
    (void)state;
    fake_poke(BASE, 0x10000);
    fake_poke(0x10010, BASE);
    fake_poke(0x10020, UINT64_C(4) << 12 | 63 << 6);
    collect(0x4000);
    expect(0, 0x4000, "malloc group", MT_CONFIDENCE_B);
}

static void without_the_runtime_its_headers_are_data(void **state)
{
    (void)state;
    poke_python_pool(BASE, 5, 16384 - 96);
    collect(MIB);
    assert_int_equal(fake_set.n_claims, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(python_arenas_behind_a_block_of_malloc),
        T(a_pool_whose_numbers_disagree_is_none),
        T(ruby_pages_of_both_sizes),
        T(luajit_large_objects_and_a_segment),
        T(v8_pages_know_their_area),
        T(musl_groups_are_known_by_their_descriptor),
        T(without_the_runtime_its_headers_are_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
