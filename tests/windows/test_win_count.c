/* SPDX-License-Identifier: MIT */
/* Description: what a working set tells of pages, fed by a fake with what Wine cannot show:
 * sharers, locked and large pages, calls that fail, deadlines; nobody looks at pages that would
 * fault. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "source/windows/win_source.h"

#define PAGE 4096u
#define ALL_KINDS                                                                                  \
    (1u << MT_PAGE_RESIDENT | 1u << MT_PAGE_ANONYMOUS | 1u << MT_PAGE_SHARED |                     \
     1u << MT_PAGE_LOCKED | 1u << MT_PAGE_HUGE | 1u << MT_PAGE_PRIVATE)

#define PRIVATE_FLAGS (MT_REGION_PRIVATE | MT_REGION_COMMITTED | MT_REGION_CHARGED)

/* The page numbers that are in the working set, and how, by the page's number in memory. */
static struct {
    PSAPI_WORKING_SET_EX_BLOCK page[32];
    uint64_t n_asked, n_calls, most_in_a_call;
    uint64_t lowest, highest; /* of what was asked */
    bool fails;
} memory;

static PSAPI_WORKING_SET_EX_INFORMATION batch[WIN_BATCH_PAGES];
static struct win_counting counting;

static bool working_set(void *user MT_UNUSED, PSAPI_WORKING_SET_EX_INFORMATION *pages, uint32_t n)
{
    memory.n_calls++;
    memory.n_asked += n;
    if (n > memory.most_in_a_call)
        memory.most_in_a_call = n;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t address = (uintptr_t)pages[i].VirtualAddress;

        if (address < memory.lowest)
            memory.lowest = address;
        if (address > memory.highest)
            memory.highest = address;
        pages[i].VirtualAttributes.Flags = 0;
        if (address / PAGE < MT_COUNT_OF(memory.page))
            pages[i].VirtualAttributes = memory.page[address / PAGE];
    }
    return !memory.fails;
}

static const struct win_calls calls = {NULL, working_set, NULL, NULL};

static int begin(void **state)
{
    (void)state;
    memset(&memory, 0, sizeof(memory));
    memory.lowest = UINT64_MAX;
    counting = (struct win_counting){
        .calls = &calls, .batch = batch, .page_bytes = PAGE, .known = ALL_KINDS};
    return 0;
}

static struct mt_interval interval(uint64_t first, uint64_t n, uint32_t flags)
{
    return (struct mt_interval){.base = first * PAGE,
                                .end = (first + n) * PAGE,
                                .region_flags = flags,
                                .protection = MT_PROT_READ | MT_PROT_WRITE,
                                .type = MT_TYPE_PRIVATE};
}

static void count(struct mt_interval *v, uint32_t n)
{
    uint32_t next = 0;

    assert_int_equal(win_count(&counting, v, n, &next, 0), 0);
    assert_int_equal(next, n);
}

#define PAGES(v, kind) ((v).pages.bytes[MT_PAGE_##kind] / PAGE)

static void each_kind_of_page_is_told_apart(void **state)
{
    struct mt_interval v = interval(0, 8, MT_REGION_DATA | MT_REGION_COMMITTED);

    (void)state;
    memory.page[1].Valid = 1; /* written to: private */
    memory.page[2].Valid = 1; /* shareable, ours alone */
    memory.page[2].Shared = 1;
    memory.page[2].ShareCount = 1;
    memory.page[3] = memory.page[2]; /* two have it */
    memory.page[3].ShareCount = 2;
    memory.page[4] = memory.page[2]; /* 7 is what it says of more */
    memory.page[4].ShareCount = 7;
    memory.page[5].Valid = 1;
    memory.page[5].Locked = 1;
    memory.page[6].Valid = 1;
    memory.page[6].LargePage = 1;
    memory.page[7].Locked = 1; /* without Valid the rest means nothing */
    count(&v, 1);
    assert_int_equal(v.pages.known, ALL_KINDS);
    assert_int_equal(PAGES(v, RESIDENT), 6);
    assert_int_equal(PAGES(v, ANONYMOUS), 3);
    assert_int_equal(PAGES(v, SHARED), 2);
    assert_int_equal(PAGES(v, LOCKED), 1);
    assert_int_equal(PAGES(v, HUGE), 1);
    assert_int_equal(PAGES(v, PRIVATE), 3); /* not charged: what is private now */
}

static void private_memory_is_what_is_charged(void **state)
{
    struct mt_interval v = interval(0, 8, PRIVATE_FLAGS);

    (void)state;
    memory.page[1].Valid = 1;
    count(&v, 1);
    assert_int_equal(PAGES(v, RESIDENT), 1);
    assert_int_equal(PAGES(v, PRIVATE), 8);
}

static void what_would_fault_is_not_asked_for(void **state)
{
    struct mt_interval v[3] = {interval(0, 8, MT_REGION_PRIVATE | MT_REGION_NORESERVE),
                               interval(8, 1, PRIVATE_FLAGS | MT_REGION_GUARD),
                               interval(9, 1, PRIVATE_FLAGS)};

    (void)state;
    for (int i = 0; i < 3; i++)
        v[i].protection = 0;
    count(v, 3);
    assert_int_equal(memory.n_calls, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(v[i].pages.known, ALL_KINDS);
        assert_int_equal(PAGES(v[i], RESIDENT), 0);
    }
    assert_int_equal(PAGES(v[0], PRIVATE), 0);
    assert_int_equal(PAGES(v[2], PRIVATE), 1);
}

static void G01_large_intervals_are_asked_for_in_batches(void **state)
{
    struct mt_interval v = interval(16, 2 * WIN_BATCH_PAGES + 1, PRIVATE_FLAGS);

    (void)state;
    count(&v, 1);
    assert_int_equal(memory.n_calls, 3);
    assert_int_equal(memory.n_asked, 2 * WIN_BATCH_PAGES + 1);
    assert_int_equal(memory.most_in_a_call, WIN_BATCH_PAGES);
    assert_int_equal(memory.lowest, v.base);
    assert_int_equal(memory.highest, v.end - PAGE);
}

/* 5 GiB: a number of pages times a size that does not fit into 32 bits. */
static void more_than_4_gib_are_counted_to_the_last_page(void **state)
{
    struct mt_interval v = interval(16, UINT64_C(5) << 18, PRIVATE_FLAGS);

    (void)state;
    count(&v, 1);
    assert_int_equal(memory.n_asked, UINT64_C(5) << 18);
    assert_int_equal(memory.highest, v.end - PAGE);
    assert_int_equal(PAGES(v, PRIVATE), UINT64_C(5) << 18);
}

static void a_failed_call_leaves_its_interval_unknown(void **state)
{
    struct mt_interval v[2] = {interval(0, 4, PRIVATE_FLAGS), interval(4, 4, PRIVATE_FLAGS)};

    (void)state;
    v[1].protection = 0;
    memory.fails = true;
    count(v, 2);
    assert_int_equal(v[0].pages.known, 0);
    assert_int_equal(v[1].pages.known, ALL_KINDS);
}

static void a_deadline_is_kept_and_the_rest_done_later(void **state)
{
    struct mt_interval v[2] = {interval(0, 4, PRIVATE_FLAGS), interval(4, 4, PRIVATE_FLAGS)};
    uint32_t next = 0;

    (void)state;
    assert_int_equal(win_count(&counting, v, 2, &next, 1), 0);
    assert_int_equal(next, 0);
    assert_int_equal(memory.n_calls, 0);
    assert_int_equal(win_count(&counting, v, 2, &next, 0), 0);
    assert_int_equal(next, 2);
}

static void own_blocks_are_not_counted_every_time(void **state)
{
    struct mt_interval v[2] = {interval(0, 4, PRIVATE_FLAGS), interval(4, 4, PRIVATE_FLAGS)};

    (void)state;
    v[0].type = MT_TYPE_TRACER;
    count(v, 2);
    assert_int_equal(memory.n_calls, 2);
    v[0].pages.known = v[1].pages.known = 0;
    count(v, 2);
    assert_int_equal(memory.n_calls, 3);
    assert_int_equal(PAGES(v[0], PRIVATE), 4);
    v[0].pages.known = v[1].pages.known = 0;
    win_count_forget_own(&counting);
    count(v, 2);
    assert_int_equal(memory.n_calls, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_kind_of_page_is_told_apart, begin),
        cmocka_unit_test_setup(private_memory_is_what_is_charged, begin),
        cmocka_unit_test_setup(what_would_fault_is_not_asked_for, begin),
        cmocka_unit_test_setup(G01_large_intervals_are_asked_for_in_batches, begin),
        cmocka_unit_test_setup(more_than_4_gib_are_counted_to_the_last_page, begin),
        cmocka_unit_test_setup(a_failed_call_leaves_its_interval_unknown, begin),
        cmocka_unit_test_setup(a_deadline_is_kept_and_the_rest_done_later, begin),
        cmocka_unit_test_setup(own_blocks_are_not_counted_every_time, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
