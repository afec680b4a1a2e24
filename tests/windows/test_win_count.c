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
    int64_t now_ns, call_ns;  /* the time, and how long a call lasts */
    void (*on_call)(uint64_t base);
    bool fails;
} memory;

static PSAPI_WORKING_SET_EX_INFORMATION batch[WIN_BATCH_PAGES];
static struct win_counting counting;

/* The library's clock. */
int64_t __wrap_mt_os_monotonic_ns(void);
int64_t __wrap_mt_os_monotonic_ns(void)
{
    return memory.now_ns;
}

static bool working_set(void *user MT_UNUSED, PSAPI_WORKING_SET_EX_INFORMATION *pages, uint32_t n)
{
    memory.n_calls++;
    memory.n_asked += n;
    if (memory.on_call)
        memory.on_call((uintptr_t)pages[0].VirtualAddress);
    memory.now_ns += memory.call_ns;
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
    memory.now_ns = INT64_C(3600) * 1000000000;
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

/* Each look has time for one call. */
static void count_with_one_call(struct mt_interval *v, uint32_t *next)
{
    memory.call_ns = 5000;
    assert_int_equal(win_count(&counting, v, 1, next, memory.now_ns + 5000), 0);
}

/* No look is longer than its deadline and a call, and yet a large interval gets done: each page is
 * asked for once. */
static void a_large_interval_is_counted_over_several_looks(void **state)
{
    struct mt_interval v = interval(16, 4 * WIN_BATCH_PAGES, PRIVATE_FLAGS);
    uint32_t next = 0;

    (void)state;
    memory.page[17].Valid = 1;
    for (uint64_t i = 1; i < 4; i++) {
        count_with_one_call(&v, &next);
        assert_int_equal(next, 0);
        assert_int_equal(v.pages.known, 0);
        assert_int_equal(memory.n_calls, i);
        v.end += PAGE; /* it grows meanwhile */
    }
    count(&v, 1);
    assert_int_equal(memory.n_asked, (v.end - v.base) / PAGE);
    assert_int_equal(PAGES(v, RESIDENT), 1);
}

static void count_whole_after(struct mt_interval *v, int64_t seconds, bool full_depth)
{
    if (full_depth)
        win_count_forget(&counting);
    memory.now_ns += seconds * 1000000000;
    memory.n_asked = 0;
    count(v, 1);
    assert_int_equal(memory.n_asked, (v->end - v->base) / PAGE);
    v->pages.known = 0;
}

/* What is there now is not what was begun: another interval, a look in full depth, a later time. */
static void what_was_begun_is_not_taken_for_another(void **state)
{
    struct mt_interval v = interval(16, 4 * WIN_BATCH_PAGES, PRIVATE_FLAGS);
    struct mt_interval other = interval(17, 4, PRIVATE_FLAGS);
    struct mt_interval smaller = interval(16, 8, PRIVATE_FLAGS);
    uint32_t next = 0;

    (void)state;
    memory.page[18].Valid = 1;
    count_with_one_call(&v, &next);
    count(&other, 1);
    assert_int_equal(PAGES(other, RESIDENT), 1);
    count(&smaller, 1);
    assert_int_equal(PAGES(smaller, RESIDENT), 1);
    count_whole_after(&v, 0, true);
    count_with_one_call(&v, &next);
    count_whole_after(&v, 10, false);
}

/* ---- nothing is searched for a page ---- */

#define N_INTERVALS 2000u
#define PAGES_EACH 3u
static struct mt_interval *many; /* the first begins a page of memory, so does the one after all */
static unsigned n_protected;

/* Of the list, only memory pages that the interval being counted lies in may be looked at. */
static void hide_the_others(uint64_t base)
{
    char *begin = (char *)many, *end = (char *)(many + N_INTERVALS);
    uintptr_t now = (uintptr_t)&many[base / PAGE / PAGES_EACH - 1];
    char *low = (char *)(now / PAGE * PAGE);
    char *high = (char *)((now + sizeof(*many) + PAGE - 1) / PAGE * PAGE);
    DWORD old;

    if (low > begin)
        n_protected += VirtualProtect(begin, (size_t)(low - begin), PAGE_NOACCESS, &old) != 0;
    assert_true(VirtualProtect(low, PAGE, PAGE_READWRITE, &old));
    if (high + PAGE < end) /* the next one may begin in the page after it */
        n_protected +=
            VirtualProtect(high + PAGE, (size_t)(end - high) - PAGE, PAGE_NOACCESS, &old) != 0;
    assert_true(VirtualProtect(high - PAGE, 2 * PAGE, PAGE_READWRITE, &old));
}

/* A search from either end of the list would fault; the calls are as many as the intervals, each
 * page is asked for once. */
static void no_interval_is_searched_for_a_page(void **state)
{
    size_t bytes = N_INTERVALS * sizeof(*many) + 2 * PAGE;
    DWORD old;

    (void)state;
    many = VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    assert_non_null(many);
    for (uint32_t i = 0; i < N_INTERVALS; i++)
        many[i] = interval((i + 1) * PAGES_EACH, PAGES_EACH, PRIVATE_FLAGS);
    memory.on_call = hide_the_others;
    for (unsigned i = 0; i < MT_COUNT_OF(memory.page); i++)
        memory.page[i].Valid = 1;
    count(many, N_INTERVALS);
    assert_true(n_protected >= N_INTERVALS);
    assert_int_equal(memory.n_calls, N_INTERVALS);
    assert_int_equal(memory.n_asked, N_INTERVALS * PAGES_EACH);
    assert_true(VirtualProtect(many, bytes, PAGE_READWRITE, &old));
    assert_int_equal(PAGES(many[0], RESIDENT), PAGES_EACH);
    VirtualFree(many, 0, MEM_RELEASE);
}

/* ---- pages outside all intervals ---- */

static uint32_t asked_for; /* a bit a page */

static bool note_asked(void *user, PSAPI_WORKING_SET_EX_INFORMATION *pages, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        asked_for |= 1u << (uintptr_t)pages[i].VirtualAddress / PAGE;
    return working_set(user, pages, n);
}

/* All pages are in the working set: those below the first interval, between two and above the last
 * belong to nobody here. */
static void pages_outside_all_intervals_are_nobodys(void **state)
{
    static const struct win_calls noting = {NULL, note_asked, NULL, NULL};
    struct mt_interval v[2] = {interval(8, 4, PRIVATE_FLAGS), interval(20, 4, PRIVATE_FLAGS)};

    (void)state;
    counting.calls = &noting;
    for (unsigned i = 0; i < MT_COUNT_OF(memory.page); i++)
        memory.page[i].Valid = 1;
    count(v, 2);
    assert_int_equal(asked_for, 0xfu << 8 | 0xfu << 20);
    assert_int_equal(PAGES(v[0], RESIDENT), 4);
    assert_int_equal(PAGES(v[1], RESIDENT), 4);
}

/* ---- own blocks ---- */

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
    win_count_forget(&counting);
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
        cmocka_unit_test_setup(a_large_interval_is_counted_over_several_looks, begin),
        cmocka_unit_test_setup(what_was_begun_is_not_taken_for_another, begin),
        cmocka_unit_test_setup(no_interval_is_searched_for_a_page, begin),
        cmocka_unit_test_setup(pages_outside_all_intervals_are_nobodys, begin),
        cmocka_unit_test_setup(own_blocks_are_not_counted_every_time, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
