/* SPDX-License-Identifier: MIT */
/* Description: regions, threads and marks of a thinned recording are those that the test handed
 * over, each where it was; there are no more of them than the bounds allow. */
#include "support/thinned.h"

/* Each list of regions that a sample saw is, after thinning, seen there and nowhere else. */
static void regions_are_seen_where_they_were(void **state)
{
    enum { N = 4000, LIVE = 20 };
    static struct mt_interval list[LIVE];
    static int64_t born[N];
    int64_t ended, wrong;

    (void)state;
    keep_newest(200);
    for (int i = 0; i < N; i++) {
        struct mt_interval *v = &list[i % LIVE];

        ended = v->row;
        *v = (struct mt_interval){.base = (uint64_t)(i + 1) << 20,
                                  .end = ((uint64_t)(i + 1) << 20) + 4096,
                                  .type = MT_TYPE_PRIVATE,
                                  .confidence = 'B',
                                  .protection = 3};
        sample.intervals = list;
        sample.n_intervals = i < LIVE ? (uint32_t)i + 1 : LIVE;
        sample.ended_regions = &ended;
        sample.n_ended_regions = ended != 0;
        set_level(MT_TYPE_PRIVATE, noise((unsigned)i, 999));
        assert_int_equal(tick(), 0);
        born[i] = i;
        commit();
    }
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_true(number("SELECT count(*) FROM sample") < N / 4);
    assert_true(number("SELECT count(*) FROM region") < N);
    wrong = number("SELECT count(*) FROM sample s WHERE (SELECT count(*) FROM region r WHERE "
                   "r.first_sample <= s.id AND ifnull(r.last_sample, s.id) >= s.id) <> "
                   "min(20, s.t_ns / 100000000 + 1)");
    assert_int_equal(wrong, 0);
    wrong = number("SELECT count(*) FROM sample s JOIN region r ON r.first_sample <= s.id AND "
                   "ifnull(r.last_sample, s.id) >= s.id WHERE (r.base >> 20) - 1 NOT BETWEEN "
                   "s.t_ns / 100000000 - 19 AND s.t_ns / 100000000");
    assert_int_equal(wrong, 0);
    assert_int_equal(born[N - 1], N - 1);
}

/* Two regions are joined into one that lives between two samples which stay: both are freed. */
static void memory_that_lived_on_in_what_is_thinned_is_freed(void **state)
{
    static struct mt_interval list[2];
    int64_t ended, merged, continued;

    (void)state;
    keep_newest(200);
    sample.intervals = list;
    for (int i = 0; i < 4000; i++) {
        ended = i % 4 == 2 || i % 4 == 3 ? list[0].row : 0;
        merged = i % 4 == 2 ? list[1].row : 0;
        continued = i % 4 == 2 ? list[0].row : 0;
        sample.n_intervals = i % 4 == 3 ? 0 : i % 4 == 2 ? 1 : 2;
        for (uint32_t k = 0; k < sample.n_intervals && i % 4 != 1; k++)
            list[k] = (struct mt_interval){.base = (uint64_t)(k + 1) << 20,
                                           .end = (uint64_t)(k + 2 + (i % 4 == 2)) << 20,
                                           .type = MT_TYPE_PRIVATE,
                                           .confidence = 'B',
                                           .protection = 3};
        sample.ended_regions = &ended;
        sample.n_ended_regions = ended != 0;
        sample.merged_regions = &merged;
        sample.n_merged_regions = merged != 0;
        sample.continued = continued ? &continued : NULL;
        set_level(MT_TYPE_PRIVATE, noise((unsigned)i, 999));
        assert_int_equal(tick(), 0);
        commit();
    }
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_true(number("SELECT count(*) FROM region WHERE flags & 32768") > 0);
    assert_int_equal(number("SELECT count(*) FROM region r WHERE flags & 32768 AND NOT EXISTS "
                            "(SELECT 1 FROM region n WHERE n.first_sample > r.last_sample AND "
                            "n.first_sample = (SELECT min(id) FROM sample "
                            "WHERE id > r.last_sample) AND n.bytes = 2097152)"),
                     0);
}

/* 1,000 threads a tick with a name of their own, which are gone at the next. */
static void threads_by_the_thousand_do_not_break_the_cap(void **state)
{
    enum { N = 150, THREADS = 1000, CAP = 8 * 1024 * 1024 };
    static struct mt_thread threads[THREADS];
    static int64_t ended[THREADS];

    (void)state;
    mt_strings_free(strings);
    assert_int_equal(mt_strings_new(N * THREADS + 8, 16 * (N * THREADS), &strings), 0);
    assert_int_equal(open_with(CAP), 0);
    sample.threads = threads;
    sample.n_threads = THREADS;
    sample.ended_threads = ended;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < THREADS; k++) {
            char name[16];
            int n = snprintf(name, sizeof(name), "w%d", i * THREADS + k);

            ended[k] = threads[k].row;
            threads[k] = (struct mt_thread){.tid = (uint32_t)(i * THREADS + k + 1),
                                            .name = mt_strings_add(strings, name, (size_t)n)};
        }
        sample.n_ended_threads = i ? THREADS : 0;
        set_level(MT_TYPE_STACK, noise((unsigned)i, 1000));
        assert_int_equal(tick(), 0);
        commit();
        assert_true(mt_recorder_file_bytes(recorder) <= CAP);
    }
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM thread WHERE last_sample IS NULL"), THREADS);
    assert_int_equal(number("SELECT count(*) FROM thread h JOIN string n ON n.id = h.name "
                            "WHERE n.text <> 'w' || (h.tid - 1)"),
                     0);
    assert_int_equal(
        number("SELECT count(*) FROM thread WHERE name NOT IN (SELECT id FROM string)"), 0);
}

static void marks_are_bounded_and_the_newest_stay(void **state)
{
    (void)state;
    keep_newest(1000);
    set_level(MT_TYPE_HEAP, MIB);
    for (int i = 0; i < 20000; i++) {
        char label[16];

        snprintf(label, sizeof(label), "m%d", i);
        if (i % 100 == 0) {
            set_level(MT_TYPE_HEAP, MIB + i);
            assert_int_equal(tick(), 0);
        }
        assert_int_equal(mt_recorder_mark(recorder, sample.t_ns - 1, sample.wall_ns, 1, label), 0);
        if (i % 100 == 99)
            commit();
    }
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_true(number("SELECT count(*) FROM mark") <= 1100);
    assert_int_equal(number("SELECT count(*) FROM mark WHERE id > 20000 - 250"), 250);
    assert_int_equal(number("SELECT count(*) FROM mark WHERE label <> 'm' || (id - 1)"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(regions_are_seen_where_they_were),
        TEST(memory_that_lived_on_in_what_is_thinned_is_freed),
        TEST(threads_by_the_thousand_do_not_break_the_cap),
        TEST(marks_are_bounded_and_the_newest_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
