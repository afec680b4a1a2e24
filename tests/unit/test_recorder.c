/* SPDX-License-Identifier: MIT */
/* Description: samples made by hand go through the recorder; plain SQLite says what is there. */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "support/recorded.h"

static void a_stopped_file_is_one_plain_file(void **state)
{
    struct stat st;
    char wal[300];

    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, 10 * MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(stat(path, &st), 0);
    snprintf(wal, sizeof(wal), "%s-wal", path);
    assert_int_not_equal(stat(wal, &st), 0);
    assert_int_equal(number("PRAGMA application_id"), 0x6d747263);
    assert_int_equal(number("PRAGMA user_version"), 1);
    assert_int_equal(number("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode='delete'"),
                     1);
    assert_int_equal(number("SELECT auto_vacuum FROM pragma_auto_vacuum"), 2);
    assert_int_equal(number("SELECT count(*) FROM run WHERE state = 'stopped' AND "
                            "stop_wall_ns > 0 AND length(uuid) = 36"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM type"), 12);
    assert_int_equal(number("SELECT count(*) FROM sample_flag"), 11);
}

static void steady_ticks_extend_one_row(void **state)
{
    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, 10 * MIB);
    set_level(MT_TYPE_STACK, MIB);
    sample.cost_cpu_ns = 5;
    sample.cost_wall_ns = 7;
    for (int i = 0; i < 10; i++)
        assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    assert_int_equal(number("SELECT ticks FROM sample"), 10);
    assert_int_equal(number("SELECT until_ns FROM sample"), 900000000);
    assert_int_equal(number("SELECT cost_cpu_ns * 1000 + cost_wall_ns FROM sample"), 50070);
    set_level(MT_TYPE_HEAP, 11 * MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM sample"), 2);
    assert_int_equal(number("SELECT group_concat(ticks, '') FROM sample"), 102);
    assert_int_equal(number("SELECT count(*) FROM level"), 3);
    assert_int_equal(number("SELECT sum(ws) FROM delta WHERE type = 'heap'"), 11 * MIB);
}

static void lasting_flags_are_no_news_but_passing_ones_are(void **state)
{
    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    sample.flags = MT_SAMPLE_NO_PAGES;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(tick(), 0);
        sample.flags ^= MT_SAMPLE_LIST_KEPT; /* how it was seen is none either */
    }
    sample.flags = MT_SAMPLE_NO_PAGES | MT_SAMPLE_EXPLICIT;
    assert_int_equal(tick(), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM sample"), 3);
}

static void unknown_columns_are_null(void **state)
{
    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM level WHERE pss IS NULL AND charged IS NULL "
                            "AND largest IS NULL AND swap = 0 AND ws = size"),
                     1);
}

static struct mt_interval an_interval(uint64_t base, uint64_t end, uint8_t type)
{
    struct mt_interval v = {
        .base = base, .end = end, .type = type, .confidence = 'B', .protection = 3};

    return v;
}

static void regions_live_from_first_to_last_sample(void **state)
{
    struct mt_interval list[2] = {
        an_interval(0x1000, 0x3000, MT_TYPE_HEAP),
        an_interval(0xffffffffff600000, 0xffffffffff601000, MT_TYPE_IMAGE)};
    int64_t continued[2] = {0, 0}, ended[1], first_row;

    (void)state;
    list[0].owner = mt_strings_add(strings, "malloc arena", 12);
    list[1].region_flags = MT_REGION_FILE | MT_REGION_DELETED;
    list[1].claim_flags = MT_CLAIM_GUARD;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    sample.intervals = list;
    sample.n_intervals = 2;
    sample.continued = continued;
    assert_int_equal(tick(), 0);
    assert_true(list[0].row > 0 && list[1].row > 0);
    first_row = list[0].row;
    list[0].end = 0x5000;
    list[0].row = 0;
    continued[0] = ended[0] = first_row;
    sample.ended_regions = ended;
    sample.n_ended_regions = 1;
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT last_sample FROM region WHERE bytes = 8192"), 1);
    assert_int_equal(number("SELECT first_sample FROM region WHERE bytes = 16384"), 2);
    assert_int_equal(number("SELECT continues FROM region WHERE bytes = 16384"), first_row);
    assert_int_equal(number("SELECT flags FROM region WHERE base < 0"), 2 + 4 + 128);
    assert_int_equal(number("SELECT count(*) FROM region_now WHERE base_address IN "
                            "('0xffffffffff600000', '0x000000001000')"),
                     2);
    assert_int_equal(number("SELECT count(*) FROM memory_event WHERE kind = 'Grow' AND "
                            "region_size = 16384 AND owner = 'malloc arena' AND "
                            "protection = 'READWRITE' AND protection_mask = 'RW-'"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM memory_event WHERE kind LIKE '%Free'"), 0);
}

/* What a tick does after a rollback: the rows it remembers are gone, and it does not know. */
static void after_a_rollback_the_lists_are_whole_again(void **state)
{
    struct mt_interval list[2] = {an_interval(0x1000, 0x3000, MT_TYPE_HEAP),
                                  an_interval(0x8000, 0x9000, MT_TYPE_PRIVATE)};
    struct mt_thread threads[1] = {{.tid = 7}};

    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    sample.intervals = list;
    sample.n_intervals = 1;
    sample.threads = threads;
    sample.n_threads = 1;
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    assert_int_equal(mt_recorder_type(recorder, 32, "cache", "of pages"), 0);
    set_level(32, 5 * MIB);
    sample.n_intervals = 2;
    list[1].owner = mt_strings_add(strings, "x", 1);
    assert_int_equal(tick(), 0);
    mt_recorder_rollback(recorder);
    assert_int_equal(tick(), 0); /* nothing changed, and yet all of it must be written */
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM sample"), 2);
    assert_int_equal(number("SELECT count(*) FROM region_now"), 2);
    assert_int_equal(number("SELECT count(*) FROM region"), 2);
    assert_int_equal(number("SELECT count(*) FROM region_now WHERE owner = 'x'"), 1);
    assert_int_equal(number("SELECT count(*) FROM thread WHERE last_sample IS NULL"), 1);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'cache'"), 5 * MIB);
}

static void a_user_type_of_an_earlier_run_keeps_its_id(void **state)
{
    (void)state;
    opened();
    assert_int_equal(mt_recorder_type(recorder, 32, "cache", NULL), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    opened();
    assert_int_equal(mt_recorder_type(recorder, 32, "index", NULL), 0);
    set_level(32, 3 * MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'index'"), 3 * MIB);
    assert_int_equal(number("SELECT count(*) FROM type WHERE name = 'cache' AND id = 32"), 1);
}

/* A failed sample leaves nothing, and the next carries what it had. */
/* What a run lacked is still told when it has ended, by whatever end; each sentence once. */
static void sentences_of_states_stay(void **state)
{
    (void)state;
    opened();
    assert_int_equal(mt_recorder_state(recorder, "degraded", "no pages"), 0);
    assert_int_equal(mt_recorder_state(recorder, "degraded", "too many regions"), 0);
    assert_int_equal(mt_recorder_state(recorder, "degraded", "no pages"), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT state = 'stopped' AND state_detail = "
                            "'no pages; too many regions' FROM run"),
                     1);
    number("UPDATE run SET state = 'degraded', recorder_start_ns = 1"); /* as a kill leaves it */
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT state = 'interrupted' AND state_detail = 'no pages; too many "
                            "regions; the process ended without stopping its tracer' "
                            "FROM run WHERE id = 1"),
                     1);
    assert_int_equal(number("SELECT state_detail = '' FROM run WHERE id = 2"), 1);
}

static void a_failed_sample_is_made_up_for(void **state)
{
    sqlite3 *other;

    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    assert_int_equal(sqlite3_open(path, &other), 0);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", 0, 0, 0), 0);
    set_level(MT_TYPE_HEAP, 2 * MIB);
    set_level(MT_TYPE_STACK, 3 * MIB);
    assert_int_equal(tick(), TRACER_EDB);
    mt_recorder_rollback(recorder);
    sqlite3_exec(other, "ROLLBACK", 0, 0, 0);
    sqlite3_close(other);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'heap'"), 2 * MIB);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'stack'"), 3 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stopped_file_is_one_plain_file),
        TEST(steady_ticks_extend_one_row),
        TEST(lasting_flags_are_no_news_but_passing_ones_are),
        TEST(unknown_columns_are_null),
        TEST(regions_live_from_first_to_last_sample),
        TEST(after_a_rollback_the_lists_are_whole_again),
        TEST(a_user_type_of_an_earlier_run_keeps_its_id),
        TEST(sentences_of_states_stay),
        TEST(a_failed_sample_is_made_up_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
