/* SPDX-License-Identifier: MIT */
/* Description: what a budget does not reach keeps its last count and is marked old; the next looks
 * go on from there until all is counted; who asks waits for all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "memtracer/memtracer.h"
#include "sampler/sampler.h"
#include "sampler/stages.h"

#define N 10u
#define PAGE UINT64_C(4096)
#define ALL (1u << MT_PAGE_RESIDENT | 1u << MT_PAGE_ANONYMOUS | 1u << MT_PAGE_SWAP)

static struct tracer t;
static struct mt_work w;
static struct mt_interval items[2][N];
static struct mt_sample sample;

/* The process: what is resident in each interval, and how many a late call still counts. */
static uint64_t resident[N];
static unsigned quota, n_counted;

/* Faults that the process has had, and those of each time it is looked at. */
static uint64_t n_faults, faults_a_look;

static int fake_counters(struct mt_source *s, struct mt_counters *out)
{
    (void)s;
    out->known = UINT64_C(1) << MT_COUNTER_RSS_ANON | UINT64_C(1) << MT_COUNTER_RSS_FILE |
                 UINT64_C(1) << MT_COUNTER_RSS_SHMEM | UINT64_C(1) << MT_COUNTER_SWAP |
                 UINT64_C(1) << MT_COUNTER_MINOR_FAULTS | UINT64_C(1) << MT_COUNTER_MAJOR_FAULTS;
    memset(out->value, 0, sizeof(out->value));
    for (unsigned i = 0; i < N; i++)
        out->value[MT_COUNTER_RSS_ANON] += resident[i];
    out->value[MT_COUNTER_MINOR_FAULTS] = n_faults += faults_a_look;
    return TRACER_OK;
}

static int fake_count(struct mt_source *s, const struct mt_snapshot *snapshot,
                      struct mt_interval *v, uint32_t n, uint32_t *next, int64_t deadline_ns)
{
    (void)s;
    (void)snapshot;
    for (; *next < n; (*next)++) {
        if (v[*next].pages.known)
            continue;
        if (deadline_ns && quota == 0)
            return TRACER_OK;
        quota -= deadline_ns != 0;
        n_counted++;
        v[*next].pages.known = ALL;
        v[*next].pages.bytes[MT_PAGE_RESIDENT] = resident[v[*next].base / PAGE];
        v[*next].pages.bytes[MT_PAGE_ANONYMOUS] = resident[v[*next].base / PAGE];
    }
    return TRACER_OK;
}

static const struct mt_source_ops ops = {.counters = fake_counters, .count = fake_count};
static struct mt_source source = {&ops};

static int begin(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    memset(&w, 0, sizeof(w));
    memset(items, 0, sizeof(items));
    t.work = &w;
    w.source = &source;
    for (unsigned k = 0; k < 2; k++)
        w.intervals[k] = (struct mt_interval_list){.items = items[k], .n = N, .capacity = N};
    for (unsigned i = 0; i < N; i++)
        resident[i] = i * PAGE;
    n_faults = 1000;
    faults_a_look = 0;
    return 0;
}

/* One look at the same intervals; `may` of them can be counted in time. */
static void look(enum mt_depth depth, uint32_t flags, unsigned may)
{
    w.now = 1 - w.now;
    memset(items[w.now], 0, sizeof(items[w.now]));
    for (unsigned i = 0; i < N; i++) {
        items[w.now][i].base = i * PAGE;
        items[w.now][i].end = (i + 1) * PAGE;
    }
    quota = may;
    n_counted = 0;
    sample = (struct mt_sample){.depth = (uint8_t)depth, .flags = flags};
    fake_counters(&source, &w.counters[w.now]);
    mt_count_pages(&t, &sample);
}

static unsigned n_right(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < N; i++)
        n += items[w.now][i].pages.known == ALL &&
             items[w.now][i].pages.bytes[MT_PAGE_RESIDENT] == resident[i];
    return n;
}

static void a_whole_look_over_three_ticks(void **state)
{
    (void)state;
    look(MT_DEPTH_WHOLE, 0, N);
    assert_int_equal(sample.flags, 0);
    assert_int_equal(n_right(), N);
    for (unsigned i = 0; i < N; i++)
        resident[i] += PAGE;
    look(MT_DEPTH_WHOLE, 0, 4);
    assert_int_equal(sample.flags, MT_SAMPLE_PARTIAL);
    assert_int_equal(n_right(), 4);
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(items[w.now][i].stale, i >= 4);
        assert_int_equal(items[w.now][i].pages.known, ALL); /* carried over */
    }
    look(MT_DEPTH_PAGES, 0, 4);
    assert_int_equal(sample.flags, MT_SAMPLE_PARTIAL);
    assert_int_equal(n_right(), 8);
    look(MT_DEPTH_PAGES, 0, 4);
    assert_int_equal(sample.flags, 0);
    assert_int_equal(n_counted, 2);
    assert_int_equal(n_right(), N);
}

/* What changes in low addresses all the time does not keep high ones from being counted. */
static void nobody_waits_for_ever(void **state)
{
    (void)state;
    look(MT_DEPTH_WHOLE, 0, N);
    resident[9] += PAGE;
    for (unsigned i = 0; i < 8; i++) {
        resident[0] += PAGE;
        look(i ? MT_DEPTH_PAGES : MT_DEPTH_WHOLE, 0, 2);
        items[w.now][0].end++; /* the next look finds it changed */
    }
    assert_int_equal(items[w.now][9].pages.bytes[MT_PAGE_RESIDENT], resident[9]);
    assert_false(items[w.now][9].stale);
}

static void who_asks_waits_for_all(void **state)
{
    (void)state;
    look(MT_DEPTH_WHOLE, MT_SAMPLE_EXPLICIT, 0);
    assert_int_equal(sample.flags, MT_SAMPLE_EXPLICIT);
    assert_int_equal(n_right(), N);
}

/* Memory that moved within what had not changed is found by the kernel's sum. */
static void a_sum_that_is_off_makes_it_whole(void **state)
{
    (void)state;
    look(MT_DEPTH_WHOLE, 0, N);
    resident[5] += PAGE;
    look(MT_DEPTH_PAGES, 0, N);
    assert_int_equal(sample.depth, MT_DEPTH_WHOLE);
    assert_int_equal(n_right(), N);
}

/* What a busy host touches while it is looked at is no reason to look again: a sum may be off by as
 * many pages as were faulted in meanwhile, and by no more. */
static void churn_during_a_look_explains_a_sum(void **state)
{
    (void)state;
    look(MT_DEPTH_WHOLE, 0, N);
    resident[5] += 3 * PAGE;
    faults_a_look = 3;
    look(MT_DEPTH_PAGES, 0, N);
    assert_int_equal(sample.depth, MT_DEPTH_PAGES);
    assert_int_equal(n_counted, 0);
    assert_true(w.is_off); /* looked at again, though the host may fall silent */
    faults_a_look = 2;
    look(MT_DEPTH_PAGES, 0, N);
    assert_int_equal(sample.depth, MT_DEPTH_WHOLE);
    assert_int_equal(n_right(), N);
    assert_false(w.is_off);
}

/* What changed before without a change in shape is counted first, and all only when the sum is off
 * still; after eight quiet counts it is like others again. */
static void what_changed_before_is_counted_first(void **state)
{
    (void)state;
    look(MT_DEPTH_WHOLE, 0, N);
    resident[5] += PAGE;
    look(MT_DEPTH_PAGES, 0, 2 * N);
    assert_int_equal(sample.depth, MT_DEPTH_WHOLE);
    for (unsigned i = 0; i < 3; i++) {
        resident[5] += PAGE;
        look(MT_DEPTH_PAGES, 0, 2 * N);
        assert_int_equal(sample.depth, MT_DEPTH_PAGES);
        assert_int_equal(n_counted, 1);
        assert_int_equal(n_right(), N);
    }
    for (unsigned i = 0; i < 8; i++) {
        resident[6 + i % 2] += PAGE; /* two take turns: both become restless */
        look(MT_DEPTH_PAGES, 0, 2 * N);
        assert_int_equal(sample.depth, i < 2 ? MT_DEPTH_WHOLE : MT_DEPTH_PAGES);
        assert_int_equal(n_right(), N);
    }
    assert_int_equal(items[w.now][5].restless, 0);
    assert_int_equal(items[w.now][7].restless, 8);
}

static void a_partial_count_keeps_what_is_restless(void **state)
{
    (void)state;
    look(MT_DEPTH_WHOLE, 0, N);
    resident[2] += PAGE;
    resident[7] += PAGE;
    look(MT_DEPTH_PAGES, 0, N);
    resident[2] += PAGE;
    resident[7] += PAGE;
    look(MT_DEPTH_PAGES, 0, 1);
    assert_int_equal(sample.flags, MT_SAMPLE_PARTIAL);
    assert_int_equal(n_right(), N - 1);
    look(MT_DEPTH_PAGES, 0, 1);
    assert_int_equal(sample.flags, 0);
    assert_int_equal(n_right(), N);
    assert_true(items[w.now][2].restless && items[w.now][7].restless);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_whole_look_over_three_ticks, begin),
        cmocka_unit_test_setup(nobody_waits_for_ever, begin),
        cmocka_unit_test_setup(who_asks_waits_for_all, begin),
        cmocka_unit_test_setup(a_sum_that_is_off_makes_it_whole, begin),
        cmocka_unit_test_setup(churn_during_a_look_explains_a_sum, begin),
        cmocka_unit_test_setup(what_changed_before_is_counted_first, begin),
        cmocka_unit_test_setup(a_partial_count_keeps_what_is_restless, begin),
    };

    return cmocka_run_group_tests_name("counting", tests, NULL, NULL);
}
