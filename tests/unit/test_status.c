/* SPDX-License-Identifier: MIT */
/* Description: counters from text, each known only when it was there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "source/linux/status.h"

static void read_lines(const char *text, struct mt_counters *out)
{
    for (const char *end; *text; text = end + 1) {
        end = strchr(text, '\n');
        mt_status_line(text, (size_t)(end - text), out);
    }
}

static void status_by_key(void **state)
{
    struct mt_counters c = {.known = 0};

    (void)state;
    read_lines("Name:\tVmSize: 9 kB\nVmPeak:\t  900 kB\nVmSize:\t  800 kB\nRssAnon:\t     40 kB\n"
               "RssFile:\t      8 kB\nRssShmem:\t      0 kB\nVmPTE:\t 44 kB\nVmPMD:\t 12 kB\n"
               "VmSwap:\t 4 kB\nThreads:\t3\nvoluntary_ctxt_switches:\t150\n"
               "nonvoluntary_ctxt_switches:\t7\nSpeculation_Store_Bypass:\tvulnerable\n\n",
               &c);
    assert_int_equal(c.value[MT_COUNTER_VM_SIZE], 800 * 1024);
    assert_int_equal(c.value[MT_COUNTER_RSS_ANON], 40 * 1024);
    assert_int_equal(c.value[MT_COUNTER_RSS_FILE], 8 * 1024);
    assert_true(mt_status_knows(&c, MT_COUNTER_RSS_SHMEM));
    assert_int_equal(c.value[MT_COUNTER_RSS_SHMEM], 0);
    assert_int_equal(c.value[MT_COUNTER_PAGE_TABLE], 56 * 1024);
    assert_int_equal(c.value[MT_COUNTER_SWAP], 4096);
    assert_int_equal(c.value[MT_COUNTER_THREADS], 3);
    assert_int_equal(c.value[MT_COUNTER_VOLUNTARY_SWITCHES], 150);
    assert_int_equal(c.value[MT_COUNTER_FORCED_SWITCHES], 7);
    assert_false(mt_status_knows(&c, MT_COUNTER_MINOR_FAULTS));
}

static void what_is_absent_or_broken_is_unknown(void **state)
{
    struct mt_counters c = {.known = 0};

    (void)state;
    read_lines("State:\tZ (zombie)\nThreads:\t1\nVmSize:\nRssAnon:\tmany kB\n"
               "VmSwap:\t18446744073709551615 kB\n",
               &c);
    assert_int_equal(c.known, UINT64_C(1) << MT_COUNTER_THREADS);
}

static void stat_after_the_last_parenthesis(void **state)
{
    static const char line[] = "77 (a) R 9 (b ) S 1 77 77 0 -1 4194304 1234 5 67 8 250 50 0 0 20";
    struct mt_counters c = {.known = 0};

    (void)state;
    assert_true(mt_status_stat(line, strlen(line), 100, &c));
    assert_int_equal(c.value[MT_COUNTER_MINOR_FAULTS], 1234);
    assert_int_equal(c.value[MT_COUNTER_MAJOR_FAULTS], 67);
    assert_int_equal(c.value[MT_COUNTER_CPU_NS], 3000000000);
    c.known = 0;
    for (size_t n = 0; n < strlen("77 (a) R 9 (b ) S 1 77 77 0 -1 4194304 1234 5 67 8 250"); n++)
        assert_false(mt_status_stat(line, n, 100, &c));
    assert_false(mt_status_stat("no name", 7, 100, &c));
    assert_int_equal(c.known, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_by_key),
        cmocka_unit_test(what_is_absent_or_broken_is_unknown),
        cmocka_unit_test(stat_after_the_last_parenthesis),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
