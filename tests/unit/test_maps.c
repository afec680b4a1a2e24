/* SPDX-License-Identifier: MIT */
/* Description: what a line of maps says is kept to the bit; what is no line is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "source/linux/maps.h"

static struct mt_region r;
static const char *name;
static size_t name_bytes;

static bool parse(const char *line)
{
    return mt_maps_parse(line, strlen(line), &r, &name, &name_bytes);
}

static void assert_name(const char *expected)
{
    assert_int_equal(name_bytes, strlen(expected));
    assert_memory_equal(name, expected, name_bytes);
}

static void every_field_is_kept(void **state)
{
    (void)state;
    assert_true(parse("7f2000001000-7f2000002000 rwxs 0000e000 103:02 18446744073709551614 /a b "));
    assert_int_equal(r.base, 0x7f2000001000);
    assert_int_equal(r.end, 0x7f2000002000);
    assert_int_equal(r.protection, MT_PROT_READ | MT_PROT_WRITE | MT_PROT_EXECUTE);
    assert_int_equal(r.flags, MT_REGION_SHARED | MT_REGION_FILE);
    assert_int_equal(r.offset, 0xe000);
    assert_int_equal(r.device, 0x103u << 20 | 2);
    assert_true(r.inode == UINT64_MAX - 1);
    assert_int_equal(r.pages.known, 0);
    assert_name("/a b ");
}

static void a_device_that_does_not_fit_is_unknown(void **state)
{
    (void)state;
    assert_true(parse("1000-2000 r--p fffffffffffff000 fffff:fffff 4294967296 /x"));
    assert_int_equal(r.device, 0);
    assert_true(r.offset == 0xfffffffffffff000);
    assert_int_equal(r.inode, 4294967296);
}

static void a_name_decides_what_stands_behind(void **state)
{
    static const struct {
        const char *tail;
        uint32_t flags;
    } cases[] = {
        {"r--p 0 00:00 0   /bin/inode-zero", MT_REGION_FILE},
        {"r--p 0 00:0e 9   anon_inode:[io_uring]", MT_REGION_FILE},
        {"rw-s 0 00:08 9   socket:[77]", MT_REGION_FILE | MT_REGION_SHARED},
        {"rw-s 0 00:01 9   /memfd:x (deleted)",
         MT_REGION_FILE | MT_REGION_SHARED | MT_REGION_DELETED},
        {"rw-s 0 00:01 9   [anon_shmem:ring (deleted)]", MT_REGION_SHARED},
        {"rw-p 0 00:00 0   [heap]", 0},
        {"rw-p 0 00:00 0", 0},
        {"rw-p 0 00:00 0 ", 0},
        {"rw-- 0 00:00 0 ", 0},
        {"r--p 0 08:02 5", MT_REGION_FILE},
        {"--xp 0 00:00 0   [vsyscall]", MT_REGION_OUTSIDE},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[128] = "1000-2000 ";

        strncat(line, cases[i].tail, sizeof(line) - 11);
        assert_true(parse(line));
        assert_int_equal(r.flags, cases[i].flags);
    }
    assert_true(parse("ffffffffff600000-ffffffffff601000 r-xp 00000000 00:00 0 [new name]"));
    assert_int_equal(r.flags, MT_REGION_OUTSIDE);
    assert_int_equal(r.end - r.base, 4096);
}

static void what_is_no_line_is_refused(void **state)
{
    static const char *const lines[] = {
        "",
        " ",
        "1000-2000",
        "1000-2000 ",
        "1000-2000 rw-p",
        "1000-2000 rw-p 0000000000",
        "1000-2000 r-xp 0000000000                    /bin/other",
        "1000-2000 r-xp 0 00:00",
        "1000-2000 r-xp 0 00:00 x",
        "1000-2000 r-xp 0 00:00 7x",
        "1000-2000 rq-p 0 00:00 0",
        "1000-2000 rw-q 0 00:00 0",
        "2000-1000 rw-p 0 00:00 0",
        "1000-1000 rw-p 0 00:00 0",
        "10000000000000000-20000000000000000 rw-p 0 00:00 0",
        "1000-2000 rw-p 0 00:00 18446744073709551616",
        "Rss:                  64 kB",
        "Anonymous:            64 kB",
        "ab-cd: 4 kB",
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_false(parse(lines[i]));
}

/* Every beginning of a good line is either refused or a good line without its name. */
static void no_cut_line_reads_past_its_end(void **state)
{
    static const char line[] = "7f2000001000-7f2000002000 r-xp 00001000 08:02 47 /lib/x";

    (void)state;
    for (size_t n = 0; n < sizeof(line); n++) {
        char copy[sizeof(line)];

        memset(copy, '7', sizeof(copy));
        memcpy(copy, line, n);
        if (mt_maps_parse(copy, n, &r, &name, &name_bytes))
            assert_true(n >= strlen("7f2000001000-7f2000002000 r-xp 00001000 08:02 4"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_kept),
        cmocka_unit_test(a_device_that_does_not_fit_is_unknown),
        cmocka_unit_test(a_name_decides_what_stands_behind),
        cmocka_unit_test(what_is_no_line_is_refused),
        cmocka_unit_test(no_cut_line_reads_past_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
