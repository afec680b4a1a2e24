/* SPDX-License-Identifier: MIT */
/* Description: the views that judge growth, on files whose truth is known. */
#include "support/known_file.h"

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

static int64_t freed_textbook(int i)
{
    return i < N - 4 ? textbook(i) : i < N - 2 ? 30 * MIB : 12 * KIB;
}

static int64_t freed_linear(int i)
{
    return i < N - 1 ? linear(i) : 12 * KIB;
}

/* A tidy program frees all before it ends, and a run has one more sample then; while it runs, the
 * same fall is a release like others. */
static void what_a_program_frees_at_its_end_was_kept(void **state)
{
    static const char ended[] = "UPDATE run SET stop_wall_ns = 30000000000";

    (void)state;
    add_series(4, freed_textbook, "ws");
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth"), 0);
    execute(ended);
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth "
                            "WHERE abs(bytes - 54280192) < 500000"),
                     3);
    execute("DELETE FROM sample; DELETE FROM level");
    add_series(4, given_back, "ws"); /* earlier than at the end */
    expect_text("SELECT shape FROM leak_suspects", "(nothing)");
    execute("DELETE FROM sample; DELETE FROM level");
    add_series(4, freed_linear, "ws");
    add_series(7, flat, "ws");
    expect_text("SELECT type || shape FROM leak_suspects", "heapsteady");
    /* 100 KiB a tenth of a second are 3,686,400,000 bytes an hour */
    assert_int_equal(number("SELECT bytes_per_hour BETWEEN 3600000000 AND 3770000000 "
                            "FROM leak_suspects"),
                     1);
}

/* Of 23 samples one is left, which is none of those that divide the run evenly: the steps are
 * still there. */
static void thinning_takes_no_step(void **state)
{
    (void)state;
    add_series(4, textbook, "ws");
    mark(5.95, "command 1");
    mark(11.95, "command 2");
    mark(17.95, "command 3");
    execute("UPDATE sample SET id = -id");
    execute("UPDATE sample SET id = 23 * -id + 7");
    execute("UPDATE level SET sample = -sample");
    execute("UPDATE level SET sample = 23 * -sample + 7");
    expect_text("SELECT group_concat(type || step || mark) FROM punctuated_growth",
                "heap1command 1,heap2command 2,heap3command 3");
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth "
                            "WHERE abs(bytes - 54280192) < 500000"),
                     3);
}

static void a_series_without_resident_bytes_is_judged_by_committed(void **state)
{
    (void)state;
    add_series(4, textbook, "charged");
    assert_int_equal(number("SELECT count(*) FROM punctuated_growth"), 3);
    assert_int_equal(number("SELECT abs(grew - 3 * 54280192) < 40000000 FROM which_kind_grew"), 1);
}

/* The third block is seen while it is filled, and its program did not run for seven ticks then. */
static int64_t caught_while_filling(int i)
{
    int steps = (i >= 25) + (i >= 50) + (i >= 75);

    return 10 * MIB + steps * STEP - (i >= 75 && i < 82) * 19 * MIB;
}

static void a_step_that_is_caught_while_it_is_filled_is_one(void **state)
{
    (void)state;
    add_series(4, caught_while_filling, "ws");
    execute("DELETE FROM sample WHERE id > 90");
    mark(2.45, "command 1");
    mark(4.95, "command 2");
    mark(7.45, "command 3");
    expect_text("SELECT group_concat(step || ' ' || mark || ' ' || bytes) FROM punctuated_growth",
                "1 command 1 54280192,2 command 2 54280192,3 command 3 54280192");
}

/* The same seen by seven looks that did not get to all pages of the third block. */
static void a_step_that_is_not_counted_whole_yet_is_one(void **state)
{
    (void)state;
    add_series(4, caught_while_filling, "ws");
    execute("DELETE FROM sample WHERE id > 100");
    assert_int_equal(number("SELECT count(*) FROM floor_step WHERE is_step"), 4);
    execute("UPDATE sample SET flags = 16 WHERE id BETWEEN 75 AND 82");
    expect_text("SELECT group_concat(bytes) FROM floor_step WHERE is_step",
                "54280192,54280192,54280192");
    execute("UPDATE sample SET flags = 0 WHERE id IN (75, 82)"); /* what rose was seen wholly */
    assert_int_equal(number("SELECT count(*) FROM floor_step WHERE is_step"), 3);
    execute("UPDATE sample SET flags = 0 WHERE id IN (77, 79)"); /* and there was a rest */
    assert_int_equal(number("SELECT count(*) FROM floor_step WHERE is_step"), 4);
}

static void a_moment(int id, int64_t t_ns, int64_t ws, int flags)
{
    executef("INSERT INTO sample VALUES (%d, 1, %lld, %lld, %lld, 1, 0, 4, %d, 1, 10, 10, 7)", id,
             (long long)t_ns, (long long)t_ns, (long long)t_ns, flags);
    executef("INSERT INTO level(run, type, sample, ws) VALUES (1, 4, %d, %lld)", id, (long long)ws);
}

/* Six calls within a second, each asked about, and the timer's look in the middle of the fourth. */
static void the_timer_does_not_hide_steps_that_were_asked_about(void **state)
{
    int id = 1;

    (void)state;
    a_moment(id++, 0, 10 * MIB, 512);
    for (int i = 1; i <= 6; i++) {
        executef("INSERT INTO mark(run, t_ns, wall_ns, tid, label) VALUES (1, %d, 0, 1, 'call %d')",
                 i * 100000000, i);
        if (i == 4)
            a_moment(id++, i * TICK_NS + 20000000, (10 + i * 4) * MIB, 0);
        a_moment(id++, i * TICK_NS + 50000000, (10 + i * 4) * MIB, 512);
    }
    a_moment(id, 7 * TICK_NS, 34 * MIB, 512);
    expect_text("SELECT group_concat(mark || ' ' || (bytes / 1048576)) FROM punctuated_growth",
                "call 1 4,call 2 4,call 3 4,call 4 4,call 5 4,call 6 4");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(textbook_gives_three_rows_with_their_marks),
        TEST(what_a_program_frees_at_its_end_was_kept),
        TEST(thinning_takes_no_step),
        TEST(a_series_without_resident_bytes_is_judged_by_committed),
        TEST(a_step_that_is_caught_while_it_is_filled_is_one),
        TEST(a_step_that_is_not_counted_whole_yet_is_one),
        TEST(the_timer_does_not_hide_steps_that_were_asked_about),
        TEST(shapes_are_told_apart),
        TEST(quiet_steps_are_seen_as_often_as_their_ticks_say),
        TEST(settings_decide_what_a_step_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
