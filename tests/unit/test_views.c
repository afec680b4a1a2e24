/* SPDX-License-Identifier: MIT */
/* Description: the views on files whose truth is known, because the test made them. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "memtracer/reader.h"

#define KIB INT64_C(1024)
#define MIB INT64_C(1048576)
#define TICK_NS INT64_C(100000000)
#define STEP INT64_C(54280192)
#define N 300

static sqlite3 *db;
static unsigned seed;

static void execute(const char *sql)
{
    char *text = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &text))
        fail_msg("%s: %s", sql, text);
}

static void executef(const char *format, ...)
{
    char sql[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(sql, sizeof(sql), format, args);
    va_end(args);
    execute(sql);
}

static int64_t number(const char *sql)
{
    sqlite3_stmt *s;
    int64_t out = -12345;

    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL))
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL)
        out = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return out;
}

static void expect_text(const char *sql, const char *expected)
{
    sqlite3_stmt *s;
    const char *text;

    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL))
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    text = sqlite3_step(s) == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    assert_string_equal(text ? text : "(nothing)", expected);
    sqlite3_finalize(s);
}

static int setup(void **state)
{
    (void)state;
    seed = 1;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    execute(tracer_schema_sql());
    execute("INSERT INTO type VALUES (1, 'image', ''), (2, 'mapped_file', ''), "
            "(3, 'shareable', ''), (4, 'heap', ''), "
            "(6, 'stack', ''), (7, 'private', ''), (9, 'page_table', ''), "
            "(11, 'free', '');"
            "INSERT INTO run(id, uuid, label, state, host, os, pid, recorder_pid, exe, name, "
            "start_wall_ns, start_monotonic_ns, page_bytes, interval_ms, commit_ms, budget_ns, "
            "flags, version, sqlite_version) VALUES (1, 'u', 'l', 'stopped', 'h', 'o', 42, 42, "
            "'/bin/app', 'app', 0, 0, 4096, 100, 1000, 0, 0, '0', '0');");
#define MT_SETTING(name, value, description)                                                       \
    executef("INSERT INTO setting VALUES ('%s', %d, '')", #name, value);
#include "record/setting.def"
#undef MT_SETTING
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return sqlite3_close(db);
}

static int64_t noise(int64_t most)
{
    seed = seed * 1103515245u + 12345u;
    return (int64_t)(seed >> 8) % (2 * most + 1) / 4096 * 4096 - most / 4096 * 4096;
}

static void add_sample(int id)
{
    executef("INSERT INTO sample VALUES (%d, 1, %lld, %lld, %lld, 1, 0, 4, 0, 1, 10, 10, 7)", id,
             (long long)((id - 1) * TICK_NS), (long long)((id - 1) * TICK_NS),
             (long long)((id - 1) * TICK_NS));
}

/* A level row only where the value changes, as the recorder does. */
static void add_series(int type, int64_t (*value)(int i), const char *column)
{
    int64_t last = -1;

    execute("BEGIN");
    for (int i = 0; i < N; i++) {
        int64_t v = value(i);

        if (type == 4)
            add_sample(i + 1);
        if (v != last)
            executef("INSERT INTO level(run, type, sample, size, committed, %s, blocks, largest) "
                     "VALUES (1, %d, %d, %lld, %lld, %lld, 1, %lld)",
                     column, type, i + 1, (long long)v, (long long)v, (long long)v, (long long)v);
        last = v;
    }
    execute("COMMIT");
}

static void mark(double t_s, const char *label)
{
    executef("INSERT INTO mark(run, t_ns, wall_ns, tid, label) VALUES (1, %lld, 0, 1, '%s')",
             (long long)(t_s * 1e9), label);
}

static int64_t flat(int i)
{
    return 10 * MIB + 0 * i;
}

static int64_t linear(int i)
{
    return 10 * MIB + i * 100 * KIB;
}

static int64_t noisy_linear(int i)
{
    return linear(i) + noise(300 * KIB);
}

static int64_t very_noisy_linear(int i)
{
    return linear(i) + noise(3 * MIB);
}

static int64_t sawtooth(int i)
{
    return 10 * MIB + i % 20 * MIB;
}

static int64_t rising_peaks(int i)
{
    return 10 * MIB + i % 20 * MIB * (1 + i / 20);
}

static int64_t one_jump(int i)
{
    return 10 * MIB + (i > 100) * 50 * MIB;
}

static int64_t warm_stairs(int i)
{
    return 10 * MIB + (i / 20 < 5 ? i / 20 : 5) * 5 * MIB;
}

static int64_t given_back(int i)
{
    return 10 * MIB + (i < 280 ? i / 40 : 0) * 5 * MIB;
}

static int64_t noisy(int i)
{
    return 10 * MIB + noise(MIB) + 0 * i;
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

static int64_t small_stairs(int i)
{
    return 10 * MIB + i / 40 * 64 * KIB;
}

static int64_t filling_stairs(int i)
{
    return 10 * MIB + i / 60 * 40 * MIB + (i % 60 < 8 ? i % 60 : 8) * 5 * MIB;
}

static void textbook_gives_three_rows_with_their_marks(void **state)
{
    (void)state;
    add_series(4, textbook, "ws");
    add_series(7, flat, "ws");
    mark(5.95, "command 1");
    mark(11.95, "command 2");
    mark(17.95, "command 3");
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth"), 3);
    expect_text("SELECT group_concat(type || step || mark || round(t_s, 1)) FROM punctuated_growth",
                "heap1command 16.0,heap2command 212.0,heap3command 318.0");
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth "
                            "WHERE abs(bytes - 54280192) < 500000"),
                     3);
    expect_text("SELECT type || shape || steps FROM leak_suspects", "heapsteps3");
}

static void a_series_without_resident_bytes_is_judged_by_committed(void **state)
{
    (void)state;
    add_series(4, textbook, "charged");
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth"), 3);
    assert_int_equal(number("SELECT abs(grew - 3 * 54280192) < 40000000 FROM which_kind_grew"), 1);
}

static void shapes_are_told_apart(void **state)
{
    static const struct {
        const char *name;
        int64_t (*value)(int);
        int steps;
        const char *suspect;
    } cases[] = {
        {"flat", flat, 0, "(nothing)"},
        {"noisy", noisy, 0, "(nothing)"},
        {"linear", linear, 0, "steady"},
        {"noisy linear", noisy_linear, 0, "steady"},
        {"very noisy linear", very_noisy_linear, 0, "steady"},
        {"sawtooth", sawtooth, 0, "(nothing)"},
        {"rising peaks", rising_peaks, 0, "(nothing)"},
        {"one jump", one_jump, 0, "(nothing)"},
        {"warm-up in stairs", warm_stairs, 0, "(nothing)"},
        {"stairs given back", given_back, 0, "(nothing)"},
        {"stairs after start-up", stairs_after_start, 4, "steps"},
        {"small stairs", small_stairs, 7, "steps"},
        {"stairs that fill slowly", filling_stairs, 4, "steps"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        execute("DELETE FROM sample; DELETE FROM level");
        add_series(4, cases[i].value, "ws");
        print_message("%s\n", cases[i].name);
        assert_int_equal(number("SELECT count(*) FROM punctuated_growth"), cases[i].steps);
        expect_text("SELECT shape FROM leak_suspects", cases[i].suspect);
    }
}

/* A quiet process: nothing changes but the steps, so each is one sample of many ticks. */
static void quiet_steps_are_seen_as_often_as_their_ticks_say(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        executef("INSERT INTO sample VALUES (%d, 1, %d, 0, %d, 50, 0, 4, 0, 1, 10, 10, 7)", i + 1,
                 i * 1000, i * 1000 + 999);
        executef("INSERT INTO level(run, type, sample, ws) VALUES (1, 4, %d, %lld)", i + 1,
                 (long long)(10 * MIB + i * STEP));
    }
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth WHERE bytes = 54280192"), 3);
}

static void settings_decide_what_a_step_is(void **state)
{
    (void)state;
    add_series(4, small_stairs, "ws");
    execute("UPDATE setting SET value = 65537 WHERE name = 'min_step_bytes'");
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth"), 0);
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
                "WHERE type = 'heap'",
                "VirtualAlloc@2,Grow@5,Protect@7,VirtualFree@9");
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
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(textbook_gives_three_rows_with_their_marks),
        TEST(a_series_without_resident_bytes_is_judged_by_committed),
        TEST(shapes_are_told_apart),
        TEST(quiet_steps_are_seen_as_often_as_their_ticks_say),
        TEST(settings_decide_what_a_step_is),
        TEST(growth_between_marks_is_one_query),
        TEST(marks_closer_than_the_interval_use_the_next_sample),
        TEST(deltas_add_up_to_levels),
        TEST(vmmap_has_all_types_and_a_total),
        TEST(events_are_told_as_an_event_tracer_would),
        TEST(stacks_and_costs_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
