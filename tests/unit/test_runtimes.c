/* SPDX-License-Identifier: MIT */
/* Description: windows and shapes of runtimes, allocators and the brk area. */
#include "support/fake_memory.h"

static void load(const char *path)
{
    fake_set.modules[fake_set.n_modules++].path = mt_strings_add(built.strings, path, strlen(path));
}

static void collect(void)
{
    fake_round();
    mt_runtimes_collect(&fake_look);
    mt_allocator_collect(&fake_look);
    mt_heap_brk_collect(&fake_look);
}

static uint64_t sum_of(uint8_t type)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < fake_set.n_claims; i++)
        if (fake_set.claims[i].type == type)
            sum += fake_set.claims[i].end - fake_set.claims[i].base;
    return sum;
}

/* Of one rank the later claim wins: the archive lies under several. */
static uint64_t sum_of_owner(const char *owner)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < fake_set.n_claims; i++)
        if (!strcmp(mt_strings_get(built.strings, fake_set.claims[i].owner, NULL), owner))
            sum += fake_set.claims[i].end - fake_set.claims[i].base;
    return sum;
}

/* A kernel before 4.5 names Go's heap after the thread whose stack pointer is in it. */
static void go_heap_is_no_stack(void **state)
{
    (void)state;
    build_region(0xc000000000, 0xc000100000, "rw-p", "[stack:4711]");
    build_region(0xc000100000, 0xc004000000, "---p", "");
    build_region(0xc008000000, 0xc009000000, "rw-p", "");
    collect();
    assert_int_equal(fake_claim(0xc000000000, 0xc000100000)->type, MT_TYPE_MANAGED_HEAP);
    assert_int_equal(fake_claim(0xc000100000, 0xc004000000)->flags, MT_CLAIM_RESERVED);
    assert_null(fake_claim(0xc008000000, 0xc009000000));
}

static void java_heap_includes_archives_mapped_into_it(void **state)
{
    const char *archive = "/usr/lib/jvm/java-17/lib/server/classes.jsa";

    (void)state;
    load("/usr/lib/jvm/java-17/lib/server/libjvm.so");
    build_region(0x400000, 0x401000, "r-xp", "/usr/bin/java");
    build_region(0xf0000000, 0xffe00000, "rw-p", "");
    build_region(0xffe00000, 0xffe75000, "rw-p", archive);
    build_region(0xffe75000, 0xfff00000, "rw-p", "");
    build_region(0xfff00000, 0xfff78000, "rw-p", archive);
    build_region(0xfff78000, 0x100000000, "rw-p", "");
    collect();
    assert_int_equal(sum_of_owner("java heap"), UINT64_C(262144) * 1024);
}

static void without_a_runtime_nothing_is_managed(void **state)
{
    (void)state;
    load("/usr/lib/libc.so.6");
    build_region(0xf0000000, 0x100000000, "rw-p", "");
    build_region(0x7f0000000000, 0x7f0000040000, "rwxp", "");
    collect();
    assert_int_equal(fake_set.n_claims, 0);
}

static void code_made_at_run_time_is_the_runtimes(void **state)
{
    (void)state;
    load("/opt/node/bin/node");
    build_region(0x7f0000000000, 0x7f0000041000, "rwxp", "");
    build_region(0x7f0000041000, 0x7f0000042000, "rw-p", "");
    collect();
    assert_int_equal(fake_claim(0x7f0000000000, 0x7f0000041000)->confidence, MT_CONFIDENCE_B);
    assert_null(fake_claim(0x7f0000041000, 0x7f0000042000));
}

static void jemallocs_mappings_are_not_reserved(void **state)
{
    (void)state;
    fake_look.allocator = MT_ALLOCATOR_JEMALLOC;
    build_region(0x7f8b4fe00000, 0x7f8b52000000, "rw-p", "")->flags |=
        MT_REGION_NORESERVE | MT_REGION_FLAGS_KNOWN;
    build_region(0x7f8b60000000, 0x7f8b60100000, "rw-p", "")->flags |= MT_REGION_FLAGS_KNOWN;
    collect();
    assert_int_equal(sum_of(MT_TYPE_HEAP), UINT64_C(34816) * 1024);
}

static void flags_are_remembered_over_lists_without_them(void **state)
{
    struct mt_flags *flags;
    struct mt_region *r;

    (void)state;
    assert_int_equal(mt_flags_new(&flags), 0);
    fake_look.flags = flags;
    fake_look.allocator = MT_ALLOCATOR_JEMALLOC;
    r = build_region(0x7f8b4fe00000, 0x7f8b52000000, "rw-p", "");
    r->flags |= MT_REGION_NORESERVE | MT_REGION_FLAGS_KNOWN;
    mt_flags_remember(flags, &fake_look);
    r->flags = 0;
    r->base -= 0x200000;
    mt_flags_remember(flags, &fake_look);
    collect();
    assert_int_equal(sum_of(MT_TYPE_HEAP), 0x2400000);
    mt_flags_free(flags);
}

static void the_sanitizers_shadow_is_not_heap(void **state)
{
    (void)state;
    fake_look.allocator = MT_ALLOCATOR_ASAN;
    build_region(0x7fff7000, 0x8fff7000, "rw-p", "")->flags |=
        MT_REGION_NORESERVE | MT_REGION_NODUMP | MT_REGION_STACK_HINT | MT_REGION_FLAGS_KNOWN;
    build_region(0x602000000000, 0x602000010000, "rw-p", "")->flags |= MT_REGION_FLAGS_KNOWN;
    collect();
    assert_int_equal(sum_of(MT_TYPE_HEAP), 0x10000);
}

static void a_heap_cut_by_protection_stays_one_type(void **state)
{
    (void)state;
    build_region(0x558391971000, 0x558391993000, "rw-p", "[heap]");
    build_region(0x558391993000, 0x558391994000, "r--p", "[heap]");
    build_region(0x558391994000, 0x5583919a2000, "rw-p", "[heap]");
    collect();
    assert_int_equal(sum_of(MT_TYPE_HEAP), 196 * 1024);
    assert_int_equal(fake_set.claims[0].confidence, MT_CONFIDENCE_A);
    fake_look.allocator = MT_ALLOCATOR_JEMALLOC;
    collect();
    assert_int_equal(fake_set.claims[0].confidence, MT_CONFIDENCE_B);
}

static void device_windows_of_a_gpu_are_nobodys(void **state)
{
    (void)state;
    load("/usr/bin/python3.11");
    build_region(0x200000000, 0x200200000, "---p", "");
    build_region(0x200200000, 0x200400000, "rw-s", "/dev/nvidiactl");
    build_region(0x205a00000, 0x205c00000, "rw-s", "/dev/zero (deleted)");
    build_region(0x206400000, 0x300200000, "---p", "");
    collect();
    assert_int_equal(fake_set.n_claims, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(go_heap_is_no_stack, fake_begin, fake_end),
        cmocka_unit_test_setup_teardown(java_heap_includes_archives_mapped_into_it, fake_begin,
                                        fake_end),
        cmocka_unit_test_setup_teardown(without_a_runtime_nothing_is_managed, fake_begin, fake_end),
        cmocka_unit_test_setup_teardown(code_made_at_run_time_is_the_runtimes, fake_begin,
                                        fake_end),
        cmocka_unit_test_setup_teardown(jemallocs_mappings_are_not_reserved, fake_begin, fake_end),
        cmocka_unit_test_setup_teardown(flags_are_remembered_over_lists_without_them, fake_begin,
                                        fake_end),
        cmocka_unit_test_setup_teardown(the_sanitizers_shadow_is_not_heap, fake_begin, fake_end),
        cmocka_unit_test_setup_teardown(a_heap_cut_by_protection_stays_one_type, fake_begin,
                                        fake_end),
        cmocka_unit_test_setup_teardown(device_windows_of_a_gpu_are_nobodys, fake_begin, fake_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
