/* SPDX-License-Identifier: MIT */
/* Description: the views that show tables, differences and events, on files whose truth is known.
 */
#include "support/known_file.h"

static int64_t flat(int i)
{
    return 10 * MIB + 0 * i;
}

/* 10 MiB that wobble, three kept steps at 6, 12 and 18 s, and what is allocated and freed. */
static int64_t textbook(int i)
{
    int steps = (i >= 60) + (i >= 120) + (i >= 180);

    return 10 * MIB + steps * STEP + noise(200 * KIB) + (i % 7 == 3 ? 30 * MIB : 0);
}

static int64_t stairs_after_start(int i)
{
    return i < 1 ? MIB : 300 * MIB + i / 60 * STEP;
}

static void growth_between_marks_is_one_query(void **state)
{
    (void)state;
    add_series(4, stairs_after_start, "ws");
    add_series(7, flat, "ws");
    mark(5.5, "X");
    mark(12.5, "Y");
    assert_int_equal(number("SELECT grew FROM growth_between_marks WHERE from_mark = 'X' "
                            "AND to_mark = 'Y' ORDER BY grew DESC"),
                     2 * STEP);
    assert_int_equal(number("SELECT grew_ws FROM growth_between_marks WHERE from_mark = 'X' "
                            "AND to_mark = 'Y' AND type = 'private'"),
                     0);
    expect_text("SELECT type FROM growth_between_marks WHERE from_mark = 'X' AND to_mark = 'Y' "
                "ORDER BY grew DESC",
                "heap");
}

/* Two marks within one interval: only the sample after the second has seen the growth. */
static void marks_closer_than_the_interval_use_the_next_sample(void **state)
{
    (void)state;
    add_series(4, stairs_after_start, "ws");
    mark(5.92, "X");
    mark(5.97, "Y");
    assert_int_equal(number("SELECT grew FROM growth_between_marks WHERE from_mark = 'X' "
                            "AND to_mark = 'Y'"),
                     STEP);
}

static void deltas_add_up_to_levels(void **state)
{
    (void)state;
    add_series(4, textbook, "ws");
    assert_int_equal(number("SELECT count(*) FROM (SELECT d.sample, "
                            "sum(d.ws) OVER (ORDER BY d.sample) AS total, m.ws "
                            "FROM delta d JOIN memory m USING (sample, type)) "
                            "WHERE total <> ws"),
                     0);
    assert_int_equal(number("SELECT count(*) FROM memory a WHERE until_s < t_s"), 0);
}

static void vmmap_has_all_types_and_a_total(void **state)
{
    (void)state;
    add_series(4, flat, "ws");
    execute("INSERT INTO level(run, type, sample, size, committed, ws, blocks, largest) VALUES "
            "(1, 1, 1, 8000, 6000, 4000, 3, 5000), (1, 11, 1, 1000000, 0, 0, 2, 900000), "
            "(1, 9, 1, NULL, NULL, NULL, NULL, NULL)");
    expect_text("SELECT group_concat(type) FROM vmmap",
                "image,mapped_file,shareable,heap,stack,private,page_table,free,total");
    assert_int_equal(number("SELECT size FROM vmmap WHERE type = 'total'"), 10 * MIB + 8000);
    assert_int_equal(number("SELECT ws IS NULL FROM vmmap WHERE type = 'stack'"), 1);
    expect_text("SELECT group_concat(state || bytes) FROM (SELECT * FROM state_summary "
                "ORDER BY 1)",
                "MEM_COMMIT10491760,MEM_FREE1000000,MEM_RESERVE2000");
    expect_text("SELECT round(sum(percent_of_busy)) || round(sum(percent_of_total)) "
                "FROM usage_summary",
                "100.0100.0");
    expect_text("SELECT group_concat(type) FROM type_summary", "MEM_PRIVATE,MEM_IMAGE");
    expect_text("SELECT usage || bytes FROM largest_region WHERE usage = 'image'", "image5000");
}

/* base, bytes, type, protection, flags, file, first, last, continues */
static void region(int id, const char *rest)
{
    executef(
        "INSERT INTO region(id, run, confidence, offset, base, bytes, type, protection, flags, "
        "file, inode, first_sample, last_sample, continues) VALUES (%d, 1, 'A', 0, %s)",
        id, rest);
}

static void events_are_told_as_an_event_tracer_would(void **state)
{
    (void)state;
    add_series(4, flat, "ws");
    execute("INSERT INTO string VALUES (1, '/lib/a.so'), (2, '/data/b')");
    execute("INSERT INTO module(run, first_sample, last_sample, base, bytes, path) VALUES "
            "(1, 1, 10, 65536, 16384, 1)");
    region(1, "65536, 8192, 1, 5, 2, 1, 77, 1, 10, NULL");
    region(2, "1048576, 4096, 4, 3, 0, NULL, NULL, 2, 4, NULL");
    region(3, "1048576, 8192, 4, 3, 0, NULL, NULL, 5, 6, 2");
    region(4, "1048576, 8192, 4, 1, 0, NULL, NULL, 7, 8, 3");
    region(5, "2097152, 4096, 2, 1, 2, 2, 78, 3, NULL, NULL");
    region(6, "3145728, 4096, 3, 3, 1, NULL, NULL, 3, NULL, NULL");
    region(7, "4194304, 4096, 7, 0, 8, NULL, NULL, 3, NULL, NULL");
    expect_text("SELECT group_concat(kind || '@' || sample) FROM memory_event "
                "WHERE type = 'heap' AND base_address < '0x000000600000'",
                "VirtualAlloc@2,Grow@5,Protect@7,VirtualFree@9");
    region(8, "6291456, 12288, 4, 3, 0, NULL, NULL, 2, 4, NULL");
    region(9, "6291456, 4096, 4, 3, 2048, NULL, NULL, 5, 6, 8");   /* cut by other rights … */
    region(10, "6295552, 4096, 4, 1, 18432, NULL, NULL, 5, 6, 8"); /* … for the middle */
    region(11, "6299648, 4096, 4, 3, 34816, NULL, NULL, 5, 6, 8"); /* and joined again */
    region(12, "6291456, 12288, 4, 3, 18432, NULL, NULL, 7, 8, 9");
    execute("UPDATE region SET flags = flags | 32768 WHERE id = 10");
    expect_text("SELECT group_concat(kind || region_size || '@' || sample) FROM memory_event "
                "WHERE base_address >= '0x000000600000'",
                "VirtualAlloc12288@2,Protect4096@5,Protect12288@7,VirtualFree12288@9");
    expect_text("SELECT group_concat(kind || section_type || at_start) FROM memory_event "
                "WHERE page_type = 'IMAGE'",
                "MapViewFileIMAGE1,UnmapViewFileIMAGE0");
    expect_text("SELECT view_base || view_size || file_key || file_name FROM memory_event "
                "WHERE page_type = 'IMAGE'",
                "0x000000010000163844d/lib/a.so");
    expect_text("SELECT section_type || alloc_type || protection_mask FROM memory_event "
                "WHERE file_name = '/data/b'",
                "DATACOMMITR--");
    expect_text("SELECT page_type || section_type FROM memory_event WHERE type = 'shareable'",
                "MAPPEDPAGEFILE");
    expect_text("SELECT alloc_type || protection || page_type FROM memory_event "
                "WHERE type = 'private'",
                "RESERVENOACCESSPRIVATE");
    expect_text("SELECT pid || name || exe FROM memory_event", "42app/bin/app");
    expect_text("SELECT path || base_address FROM unloaded_module", "/lib/a.so0x000000010000");
    expect_text("SELECT group_concat(protect || regions) FROM protect_summary",
                "PAGE_NOACCESS1,PAGE_READONLY1,PAGE_READWRITE1");
}

static void stacks_and_costs_are_told(void **state)
{
    (void)state;
    add_series(4, flat, "ws");
    execute("INSERT INTO string VALUES (1, 'worker');"
            "INSERT INTO thread(run, first_sample, tid, name, stack_base, stack_bytes, "
            "guard_bytes) VALUES (1, 1, 7, 1, 65536, 12288, 4096);"
            "INSERT INTO region(run, first_sample, base, bytes, type, protection, flags, offset, "
            "thread, confidence, ws) VALUES (1, 1, 65536, 4096, 6, 0, 12, 0, 7, 'A', 0), "
            "(1, 1, 69632, 8192, 6, 3, 0, 0, 7, 'A', 4096)");
    expect_text("SELECT tid || name || '/' || stack_size || '/' || committed || '/' || resident "
                "FROM thread_stack",
                "7worker/12288/8192/4096");
    expect_text("SELECT ticks || '/' || own_bytes || '/' || cpu_us_per_tick FROM self_cost",
                "300/7/0.0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(growth_between_marks_is_one_query),
        TEST(marks_closer_than_the_interval_use_the_next_sample),
        TEST(deltas_add_up_to_levels),
        TEST(vmmap_has_all_types_and_a_total),
        TEST(events_are_told_as_an_event_tracer_would),
        TEST(stacks_and_costs_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
