/* SPDX-License-Identifier: MIT */
/* Description: lines of smaps are read by key in any order; absent and impossible is unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "source/linux/smaps.h"

#define KIND(name) (1u << MT_PAGE_##name)

static struct mt_region read_record(const char *const *lines, unsigned n)
{
    struct mt_region r = {.base = 0x100000, .end = 0x200000};
    struct mt_smaps s = {.region = NULL};

    mt_smaps_open(&s, &r);
    for (unsigned i = 0; i < n; i++)
        assert_true(mt_smaps_line(&s, lines[i], strlen(lines[i])));
    mt_smaps_open(&s, NULL);
    return r;
}

#define READ(...)                                                                                  \
    read_record((const char *const[]){__VA_ARGS__},                                                \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void keys_in_any_order_and_glued(void **state)
{
    struct mt_region r = READ("Swap: 8 kB", "Rss:12 kB", "KernelPageSize:       64 kB",
                              "Shared_Dirty:\t4 kB", "NewText: some words 5", "Shared_Clean: 8 kB",
                              "AnonHugePages: 0 kB", "FilePmdMapped: 4 kB", "LazyFree: 4");

    (void)state;
    assert_int_equal(r.pages.known,
                     KIND(SWAP) | KIND(RESIDENT) | KIND(SHARED) | KIND(HUGE) | KIND(LAZY_FREE));
    assert_int_equal(r.pages.bytes[MT_PAGE_SWAP], 8192);
    assert_int_equal(r.pages.bytes[MT_PAGE_RESIDENT], 12288);
    assert_int_equal(r.pages.bytes[MT_PAGE_SHARED], 12288);
    assert_int_equal(r.pages.bytes[MT_PAGE_HUGE], 4096);
    assert_int_equal(r.pages.bytes[MT_PAGE_LAZY_FREE], 4096);
    assert_int_equal(r.kernel_page_bytes, 65536);
    assert_int_equal(r.flags, 0);
}

static void impossible_values_are_unknown(void **state)
{
    struct mt_region r =
        READ("Rss: 1024 kB", "Swap:18014396678257232 kB", "Pss: 99999999999999999999999 kB",
             "Anonymous: 1028 kB", "Shared_Clean: 1000 kB", "Shared_Dirty: 1000 kB",
             "Private_Hugetlb: -4 kB", "LazyFree:");

    (void)state;
    assert_int_equal(r.pages.known, KIND(RESIDENT));
    assert_int_equal(r.pages.bytes[MT_PAGE_RESIDENT], 1 << 20);
}

static void flags_by_their_two_letters(void **state)
{
    struct mt_region r =
        READ("Rss: 8 kB", "Locked: 4 kB",
             "VmFlags: rd wr sh mr mw me ms ?? ac nr ht pf mm gd nh lo gu dd um mg ss");
    struct mt_region empty = READ("Rss: 8 kB", "VmFlags:");
    struct mt_region blank = READ("Rss: 8 kB", "VmFlags: ");
    struct mt_region plain = READ("Rss: 8 kB", "VmFlags: rd wr ac ");

    (void)state;
    assert_int_equal(r.flags, MT_REGION_FLAGS_KNOWN | MT_REGION_CHARGED | MT_REGION_NORESERVE |
                                  MT_REGION_HUGETLB | MT_REGION_DEVICE | MT_REGION_MIXED |
                                  MT_REGION_GROWSDOWN | MT_REGION_STACK_HINT | MT_REGION_LOCKED |
                                  MT_REGION_GUARD_HINT | MT_REGION_NODUMP | MT_REGION_UFFD |
                                  MT_REGION_MERGEABLE | MT_REGION_SHADOW_STACK);
    assert_true(r.pages.known & KIND(LOCKED));
    assert_int_equal(r.pages.bytes[MT_PAGE_LOCKED], 8192);
    assert_int_equal(empty.flags, 0);
    assert_int_equal(blank.flags, 0);
    assert_false(empty.pages.known & KIND(LOCKED));
    assert_int_equal(plain.flags, MT_REGION_FLAGS_KNOWN | MT_REGION_CHARGED);
    assert_true(plain.pages.known & KIND(LOCKED));
    assert_int_equal(plain.pages.bytes[MT_PAGE_LOCKED], 0);
}

static void what_has_no_key_is_refused(void **state)
{
    struct mt_smaps s = {.region = NULL};
    static const char *const lines[] = {"", "words without a colon", "7f00-zz r-xp 0 08:02 5 /x",
                                        "7fzz-7f00 r-xp 0 08:02 5"};

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        assert_false(mt_smaps_line(&s, lines[i], strlen(lines[i])));
    assert_true(mt_smaps_line(&s, "Rss: 4 kB", 9));
    assert_true(mt_smaps_line(&s, "New_Key-2: 4 kB", 15));
    assert_true(mt_smaps_line(&s, "Weird Name: 4 kB", 16));
}

/* The header's range is that of the whole address space, 42 TB: nothing in the record says how much
 * of it is mapped, and nothing is made up. */
static void A42_a_rollup_has_no_size(void **state)
{
    static const char *const lines[] = {
        "Rss:               49072 kB", "Pss:                4446 kB",
        "Pss_Anon:           2308 kB", "Anonymous:          2308 kB",
        "Swap:                  0 kB", "Locked:                0 kB"};
    struct mt_region r = {.base = 0x555500000000, .end = 0x7ffd10021000};
    const struct mt_region header = r;
    struct mt_smaps s = {.region = NULL};

    (void)state;
    mt_smaps_open(&s, &r);
    for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_true(mt_smaps_line(&s, lines[i], strlen(lines[i])));
    mt_smaps_open(&s, NULL);
    assert_int_equal(r.pages.bytes[MT_PAGE_RESIDENT], UINT64_C(50249728));
    assert_int_equal(r.pages.bytes[MT_PAGE_PSS], UINT64_C(4552704));
    assert_int_equal(r.base, header.base);
    assert_int_equal(r.end, header.end);
    assert_int_equal(r.flags, 0);
}

/* Reads a record's text, by its lines or at once where it can. */
static struct mt_region read_text(struct mt_smaps *s, const char *text, bool at_once)
{
    struct mt_region r = {.base = 0x100000, .end = 0x40000000};
    const char *end = text + strlen(text);

    mt_smaps_open(s, &r);
    if (at_once)
        text += mt_smaps_body(s, text, strlen(text));
    while (text < end) {
        const char *newline = strchr(text, '\n');

        assert_true(mt_smaps_line(s, text, (size_t)(newline - text)));
        text = newline + 1;
    }
    mt_smaps_open(s, NULL);
    return r;
}

static bool is_read_at_once(struct mt_smaps *s, const char *text)
{
    struct mt_region r = {.base = 0x100000, .end = 0x40000000};

    bool at_once;

    mt_smaps_open(s, &r);
    at_once = mt_smaps_body(s, text, strlen(text)) > 0;
    mt_smaps_open(s, NULL);
    return at_once;
}

#define RECORD(rss, anonymous, swap)                                                               \
    "Size:               1024 kB\nKernelPageSize:        4 kB\nRss:            " rss               \
    " kB\nPss:                 100 kB\nAnonymous:      " anonymous " kB\nSwap:           " swap    \
    " kB\nLocked:                0 kB\nVmFlags: rd wr lo\n"

static void a_record_like_the_last_is_read_at_once(void **state)
{
    struct mt_smaps s = {.region = NULL};
    struct mt_region r;

    (void)state;
    assert_false(is_read_at_once(&s, RECORD("      12", "       8", "       0")));
    read_text(&s, RECORD("      12", "       8", "       0"), false);
    assert_true(is_read_at_once(&s, RECORD("     512", "99999999", "      40")));
    r = read_text(&s, RECORD("     512", "99999999", "      40"), true);
    assert_int_equal(r.pages.bytes[MT_PAGE_RESIDENT], 512 * 1024);
    assert_int_equal(r.pages.bytes[MT_PAGE_SWAP], 40 * 1024);
    assert_int_equal(r.pages.bytes[MT_PAGE_LOCKED], 512 * 1024);
    assert_int_equal(r.kernel_page_bytes, 4096);
    assert_false(r.pages.known & KIND(ANONYMOUS)); /* more than the region is large */
    assert_true(r.pages.known & KIND(PSS));
}

static void a_record_of_another_shape_is_not(void **state)
{
    static const char record[] = RECORD("      12", "       8", "       0");
    static const char *const others[] = {
        RECORD("  123456789", "       8", "       0"), /* wider */
        "Size:               1024 kB\nKernelPageSize:        4 kB\nKSM:            "
        "      12 kB\nPss:                 100 kB\nAnonymous:             8 kB\nSwap:       "
        "           0 kB\nLocked:                0 kB\nVmFlags: rd wr lo\n",
        "Rss:                  12 kB\nVmFlags: rd\n",
        "",
    };
    struct mt_region r = {.base = 0x100000, .end = 0x40000000};
    struct mt_smaps s = {.region = NULL};
    char cut[sizeof(record)];

    (void)state;
    read_text(&s, record, false);
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(is_read_at_once(&s, others[i]));
    for (size_t n = 0; n < strlen(record) - strlen(" rd wr lo\n"); n++) {
        memcpy(cut, record, n);
        cut[n] = '\0';
        assert_false(is_read_at_once(&s, cut));
    }
    assert_true(is_read_at_once(&s, record));
    mt_smaps_open(&s, &r);
    mt_smaps_line(&s, "Rss: 4 kB", 9);
    assert_int_equal(mt_smaps_body(&s, record, strlen(record)), 0); /* in the middle of one */
    mt_smaps_open(&s, NULL);
}

static void a_record_of_too_many_lines_teaches_nothing(void **state)
{
    static const char line[] = "Shared_Clean: 4 kB\n", flags[] = "VmFlags: rd\n";
    static char text[2048];
    unsigned n = 0;
    struct mt_smaps s = {.region = NULL};

    (void)state;
    for (; n <= MT_SMAPS_FIELDS; n++)
        memcpy(text + n * (sizeof(line) - 1), line, sizeof(line));
    memcpy(text + n * (sizeof(line) - 1), flags, sizeof(flags));
    assert_int_equal(read_text(&s, text, false).pages.bytes[MT_PAGE_SHARED],
                     (MT_SMAPS_FIELDS + 1) * 4096);
    assert_false(is_read_at_once(&s, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_in_any_order_and_glued),
        cmocka_unit_test(impossible_values_are_unknown),
        cmocka_unit_test(flags_by_their_two_letters),
        cmocka_unit_test(what_has_no_key_is_refused),
        cmocka_unit_test(A42_a_rollup_has_no_size),
        cmocka_unit_test(a_record_like_the_last_is_read_at_once),
        cmocka_unit_test(a_record_of_another_shape_is_not),
        cmocka_unit_test(a_record_of_too_many_lines_teaches_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
