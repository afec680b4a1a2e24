/* SPDX-License-Identifier: MIT */
/* Description: each name, flag and neighbourhood the kernel prints gets the type it has. The
 * right answers are the kernel's documented meaning of the names, not this code's. */
#include "support/build.h"

#include "classify/classify.h"

static void expect(uint32_t i, uint8_t type, char confidence)
{
    struct mt_rule_answer a = mt_rules_apply(&built, i);

    assert_string_equal(mt_type_name(a.type), mt_type_name(type));
    assert_int_equal(a.confidence, confidence);
}

static void names_tell_the_type(void **state)
{
    static const struct {
        const char *rights, *name;
        uint8_t type;
        char confidence;
    } rows[] = {
        {"r-xp", "[vdso]", MT_TYPE_IMAGE, 'A'},
        {"r--p", "[vvar_vclock]", MT_TYPE_IMAGE, 'A'},
        {"rw-p", "[stack]", MT_TYPE_STACK, 'A'},
        {"rw-p", "[stack:4711]", MT_TYPE_STACK, 'C'},
        {"rw-p", "[heap]", MT_TYPE_HEAP, 'B'},
        {"rw-p", "[anon:pool:a [b]", MT_TYPE_PRIVATE, 'B'},
        {"rw-s", "[anon_shmem:ring]", MT_TYPE_SHAREABLE, 'A'},
        {"rw-p", "[mystery]", MT_TYPE_PRIVATE, 'C'},
        {"rw-s", "/memfd:my pool [x] (deleted)", MT_TYPE_SHAREABLE, 'A'},
        {"rw-p", "/memfd:my pool [x] (deleted)", MT_TYPE_SHAREABLE, 'A'},
        {"rw-s", "/SYSV00000000 (deleted)", MT_TYPE_SHAREABLE, 'A'},
        {"rw-s", "/dev/zero (deleted)", MT_TYPE_SHAREABLE, 'A'},
        {"rw-p", "/dev/zero", MT_TYPE_PRIVATE, 'A'},
        {"rw-s", "/dev/shm/queue", MT_TYPE_SHAREABLE, 'A'},
        {"rw-p", "/anon_hugepage (deleted)", MT_TYPE_PRIVATE, 'A'},
        {"rw-s", "/anon_hugepage (deleted)", MT_TYPE_SHAREABLE, 'A'},
        {"rw-s", "/dev/nvidia0", MT_TYPE_DEVICE, 'B'},
        {"rw-s", "anon_inode:[io_uring]", MT_TYPE_DEVICE, 'A'},
        {"rw-s", "socket:[4242]", MT_TYPE_DEVICE, 'A'},
        {"rw-s", "/[aio] (deleted)", MT_TYPE_DEVICE, 'A'},
        {"rw-s", "/secretmem (deleted)", MT_TYPE_PRIVATE, 'A'},
        {"r-xp", "/usr/lib/libdemo.so", MT_TYPE_IMAGE, 'B'},
        {"r--p", "/srv/data/book", MT_TYPE_MAPPED_FILE, 'A'},
        {"rw-s", "/srv/d/report (deleted)", MT_TYPE_MAPPED_FILE, 'A'},
    };

    (void)state;
    for (uint32_t i = 0; i < MT_COUNT_OF(rows); i++) {
        build_region(0x100000 + i * 0x10000, 0x101000 + i * 0x10000, rows[i].rights, rows[i].name)
            ->inode = i + 1;
        expect(i, rows[i].type, rows[i].confidence);
    }
}

static void names_tell_the_type_without_room_for_them(void **state)
{
    mt_rules_keep_kinds(built.strings);
    build_fill_names();
    names_tell_the_type(state);
}

static void pieces_of_a_library_are_its_image(void **state)
{
    (void)state;
    build_region(0x1000, 0x2000, "r--p", "/lib/x.so");
    build_region(0x2000, 0x3000, "r-xp", "/lib/x.so");
    build_region(0x3000, 0x9000, "---p", "/lib/x.so");
    build_region(0x9000, 0xa000, "rw-p", "/lib/x.so");
    build_region(0xa000, 0xc000, "rw-p", "");
    build_region(0xd000, 0xe000, "rw-p", "");
    for (uint32_t i = 0; i < 4; i++)
        expect(i, MT_TYPE_IMAGE, 'B');
    expect(4, MT_TYPE_IMAGE, 'C');
    expect(5, MT_TYPE_PRIVATE, 'B');
}

static void a_data_file_beside_a_library_is_no_image(void **state)
{
    (void)state;
    build_region(0x1000, 0x2000, "r-xp", "/lib/x.so");
    build_region(0x2000, 0x3000, "r--p", "/srv/other");
    expect(1, MT_TYPE_MAPPED_FILE, 'A');
}

static void small_holes_below_memory_are_guards(void **state)
{
    (void)state;
    build_region(0x1000, 0x2000, "---p", "");
    build_region(0x2000, 0x802000, "rw-p", "");
    build_region(0x900000, 0x901000, "---p", "");
    build_region(0x1000000, 0x5000000, "---p", "");
    build_region(0x5000000, 0x5021000, "rw-p", "");
    expect(0, MT_TYPE_UNUSABLE, 'C');
    assert_int_equal(mt_rules_apply(&built, 0).claim_flags, MT_CLAIM_GUARD);
    expect(2, MT_TYPE_PRIVATE, 'C');
    expect(3, MT_TYPE_PRIVATE, 'C');
    assert_int_equal(mt_rules_apply(&built, 3).claim_flags, MT_CLAIM_RESERVED);
}

static void flags_tell_the_type(void **state)
{
    (void)state;
    build_region(0x1000, 0x2000, "rw-p", "")->flags |= MT_REGION_GROWSDOWN;
    build_region(0x3000, 0x4000, "rw-p", "")->flags |= MT_REGION_SHADOW_STACK;
    build_region(0x5000, 0x6000, "rw-s", "");
    build_region(0x7000, 0x8000, "rw-s", "/srv/pmem")->flags |= MT_REGION_DEVICE;
    expect(0, MT_TYPE_STACK, 'A');
    expect(1, MT_TYPE_STACK, 'B');
    expect(2, MT_TYPE_SHAREABLE, 'A');
    expect(3, MT_TYPE_DEVICE, 'A');
}

/* What Windows tells needs no name: a file mapped as data stays data, executable or not. */
static void what_the_system_tells_is_believed(void **state)
{
    static const struct {
        uint32_t flag;
        uint8_t type;
        char confidence;
    } rows[] = {
        {MT_REGION_IMAGE, MT_TYPE_IMAGE, 'A'},
        {MT_REGION_DATA, MT_TYPE_MAPPED_FILE, 'A'},
        {MT_REGION_SECTION, MT_TYPE_SHAREABLE, 'A'},
        {MT_REGION_PRIVATE, MT_TYPE_PRIVATE, 'B'},
        {MT_REGION_LOST, MT_TYPE_UNUSABLE, 'A'},
        {MT_REGION_PRIVATE | MT_REGION_GUARD, MT_TYPE_UNUSABLE, 'A'},
    };

    (void)state;
    for (uint32_t i = 0; i < MT_COUNT_OF(rows); i++) {
        uint64_t base = 0x100000 * (i + 1);

        build_region(base, base + 0x10000, "r-xp", "C:\\lib\\demo.dll")->flags = rows[i].flag;
        expect(i, rows[i].type, rows[i].confidence);
    }
    assert_int_equal(mt_rules_apply(&built, 5).claim_flags, MT_CLAIM_GUARD);
    assert_int_equal(mt_rules_apply(&built, 4).claim_flags, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_tell_the_type, build_begin, build_end),
        cmocka_unit_test_setup_teardown(names_tell_the_type_without_room_for_them, build_begin,
                                        build_end),
        cmocka_unit_test_setup_teardown(pieces_of_a_library_are_its_image, build_begin, build_end),
        cmocka_unit_test_setup_teardown(a_data_file_beside_a_library_is_no_image, build_begin,
                                        build_end),
        cmocka_unit_test_setup_teardown(small_holes_below_memory_are_guards, build_begin,
                                        build_end),
        cmocka_unit_test_setup_teardown(flags_tell_the_type, build_begin, build_end),
        cmocka_unit_test_setup_teardown(what_the_system_tells_is_believed, build_begin, build_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
