/* SPDX-License-Identifier: MIT */
/* Description: words of pagemap by their bits; ranges of words to the intervals they lie in. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "memtracer/memtracer.h"
#include "source/linux/pagemap.h"

#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define FILE_PAGE (UINT64_C(1) << 61)
#define GUARD (UINT64_C(1) << 58)
#define ONCE (UINT64_C(1) << 56)

static void words_by_their_bits(void **state)
{
    static const uint64_t words[] = {
        PRESENT | FILE_PAGE,        /* of a file, mapped twice */
        PRESENT | FILE_PAGE | ONCE, /* of a file, mapped once */
        PRESENT | ONCE,             /* copied on write */
        PRESENT,                    /* and shared with a child */
        SWAPPED | 0x1234,           /* swapped */
        SWAPPED | GUARD,            /* a guard marker: neither swap nor memory */
        SWAPPED | GUARD,
        0,
    };
    struct mt_pages p = {.known = 0};

    (void)state;
    mt_pagemap_tally(words, 8, 4096, &p);
    assert_int_equal(p.bytes[MT_PAGE_RESIDENT], 4 * 4096);
    assert_int_equal(p.bytes[MT_PAGE_ANONYMOUS], 2 * 4096);
    assert_int_equal(p.bytes[MT_PAGE_SHARED], 2 * 4096);
    assert_int_equal(p.bytes[MT_PAGE_SWAP], 4096);
    assert_int_equal(p.bytes[MT_PAGE_GUARD], 2 * 4096);
    mt_pagemap_tally(words, 1, 65536, &p);
    assert_int_equal(p.bytes[MT_PAGE_RESIDENT], 4 * 4096 + 65536);
}

/* An address of 47 bits: its entry is 254 GiB into the file, which is a hole but for that. */
static void A30_offsets_have_64_bits(void **state)
{
    static uint64_t entries[MT_PAGEMAP_ENTRIES];
    FILE *file = tmpfile();
    struct mt_pace pace = {.held_ns = 0};
    uint64_t word = PRESENT | ONCE;
    struct mt_pagemap map;
    struct mt_interval v = {.base = UINT64_C(0x7f7f00001000)};
    uint64_t page;

    (void)state;
    assert_non_null(file);
    mt_pagemap_init(&map, fileno(file), entries, &pace);
    page = map.page_bytes;
    v.base = v.base / page * page;
    v.end = v.base + page;
    assert_int_equal(pwrite(fileno(file), &word, 8, (off_t)(v.base / page * 8)), 8);
    assert_int_equal(mt_pagemap_count(&map, v.base, v.end, &v, 1), TRACER_OK);
    assert_int_equal(v.pages.bytes[MT_PAGE_RESIDENT], page);
    fclose(file);
}

/* A pagemap of 20,000 pages, every third of them present, against intervals with holes. */
static void reads_cross_intervals_and_holes(void **state)
{
    static uint64_t entries[MT_PAGEMAP_ENTRIES];
    enum { PAGES = 20000 };
    FILE *file = tmpfile();
    struct mt_pace pace = {.held_ns = 0};
    struct mt_pagemap map;
    uint64_t page;
    struct mt_interval v[4] = {{.base = 3, .end = 4},
                               {.base = 4, .end = 8193},
                               {.base = 8200, .end = 8201},
                               {.base = 9000, .end = 19999}};

    (void)state;
    assert_non_null(file);
    for (uint64_t i = 0; i < PAGES; i++) {
        uint64_t word = i % 3 == 0 ? PRESENT | ONCE : 0;

        assert_int_equal(fwrite(&word, sizeof(word), 1, file), 1);
    }
    fflush(file);
    mt_pagemap_init(&map, fileno(file), entries, &pace);
    page = map.page_bytes;
    for (unsigned i = 0; i < 4; i++) {
        v[i].base *= page;
        v[i].end *= page;
    }
    assert_int_equal(mt_pagemap_count(&map, v[0].base, v[3].end, v, 4), TRACER_OK);
    assert_int_equal(v[0].pages.bytes[MT_PAGE_RESIDENT], page);
    assert_int_equal(v[1].pages.bytes[MT_PAGE_RESIDENT], 2729 * page); /* 6, 9 … 8190, 8193 out */
    assert_int_equal(v[2].pages.bytes[MT_PAGE_RESIDENT], 0);
    assert_int_equal(v[3].pages.bytes[MT_PAGE_RESIDENT], 3667 * page); /* 9000 … 19998 */
    /* the file ends before the range: an error, not zeros */
    assert_int_equal(mt_pagemap_count(&map, 19000 * page, 21000 * page, v, 4), TRACER_EIO);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_by_their_bits),
        cmocka_unit_test(A30_offsets_have_64_bits),
        cmocka_unit_test(reads_cross_intervals_and_holes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
