/* SPDX-License-Identifier: MIT */
/* Description: blocks that a SQLite of our own takes keep what is written into them, are aligned,
 * come from our own pages, are used again, and a request that cannot be met is refused. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "base/memory.h"

#define N_BLOCKS 500

struct kept {
    unsigned char *p;
    int bytes;
    unsigned char mark;
};

static struct kept blocks[N_BLOCKS];

/* Mostly small, some of pages of their own. */
static int any_size(void)
{
    int least = (int)(random() % 3 ? 1 : 100);

    return least + (int)(random() % (random() % 50 ? 3000 : 300000));
}

static void check(const struct kept *k)
{
    assert_int_equal((uintptr_t)k->p % 8, 0);
    assert_true((int)sqlite3_msize(k->p) >= k->bytes);
    for (int i = 0; i < k->bytes; i++)
        if (k->p[i] != k->mark)
            fail_msg("byte %d of %d was overwritten", i, k->bytes);
}

static void fill(struct kept *k, int bytes)
{
    assert_non_null(k->p);
    k->bytes = bytes;
    k->mark = (unsigned char)random();
    memset(k->p, k->mark, (size_t)bytes);
}

static void change(struct kept *k)
{
    int bytes = any_size();

    if (!k->p) {
        k->p = sqlite3_malloc(bytes);
    } else if (random() % 2) {
        check(k);
        k->bytes = bytes < k->bytes ? bytes : k->bytes;
        k->p = sqlite3_realloc(k->p, bytes);
        check(k); /* what was there, as far as it goes */
    } else {
        check(k);
        sqlite3_free(k->p);
        k->p = NULL;
        return;
    }
    fill(k, bytes);
}

static void blocks_do_not_touch_each_other(void **state)
{
    uint64_t before = mt_memory_held(), after;

    (void)state;
    srandom(1);
    for (int i = 0; i < 200000; i++)
        change(&blocks[random() % N_BLOCKS]);
    after = mt_memory_held();
    assert_true(after > before);
    for (int i = 0; i < N_BLOCKS; i++) {
        if (blocks[i].p)
            check(&blocks[i]);
        sqlite3_free(blocks[i].p);
        blocks[i].p = NULL;
    }
    assert_int_equal(sqlite3_memory_used(), 0);
}

/* The same work once more needs nothing more. */
static void blocks_are_used_again(void **state)
{
    static void *taken[300];
    uint64_t held = 0;

    (void)state;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 300; i++) {
            taken[i] = sqlite3_malloc(1 + i * 20);
            assert_non_null(taken[i]);
        }
        for (int i = 0; i < 300; i++)
            sqlite3_free(taken[i]);
        if (round == 0)
            held = mt_memory_held();
    }
    assert_int_equal(mt_memory_held(), held);
}

static void no_memory_is_an_error(void **state)
{
    void *p = sqlite3_malloc(200000), *q;

    (void)state;
    assert_non_null(p);
    mt_memory_fail_at(1);
    assert_null(sqlite3_malloc(200000));
    mt_memory_fail_at(1);
    q = sqlite3_realloc(p, 400000);
    assert_null(q); /* p is as it was */
    memset(p, 1, 200000);
    sqlite3_free(p);
    mt_memory_fail_at(0);
}

static void sqlite_works_with_it(void **state)
{
    sqlite3 *db;
    sqlite3_stmt *s;

    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                           "WHERE i < 20000) SELECT sum(length(x)) FROM (SELECT i, "
                           "hex(zeroblob(i % 700)) AS x FROM n ORDER BY x)",
                           -1, &s, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int64(s, 0), 2 * (28 * (699 * 700 / 2) + 399 * 400 / 2 + 400));
    sqlite3_finalize(s);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_do_not_touch_each_other),
        cmocka_unit_test(blocks_are_used_again),
        cmocka_unit_test(no_memory_is_an_error),
        cmocka_unit_test(sqlite_works_with_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
