/* SPDX-License-Identifier: MIT */
/* Description: the disk loses power at a random moment: what is left is sound and has all that was
 * committed before the last sync of the log. */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <unistd.h>

#include "support/power_cut.h"
#include "support/recorded.h"

static int64_t committed, safe;

/* The log is on the disk: so is what was committed before. */
static void note_safe(void)
{
    safe = committed;
}

static int64_t ask(const char *db_path, const char *sql)
{
    return number_in(db_path, sql);
}

static void empty(const char *where)
{
    static const char *const names[] = {"a.db", "a.db-wal", "a.db-shm", "a.db-journal"};
    char name[260];

    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s/%s", where, names[i]);
        unlink(name);
    }
    assert_int_equal(rmdir(where), 0);
}

static void check(bool torn)
{
    char after[200], db_path[260];

    snprintf(after, sizeof(after), "%s/after", folder);
    assert_int_equal(mkdir(after, 0700), 0);
    power_cut(after, torn);
    snprintf(db_path, sizeof(db_path), "%s/a.db", after);
    if (ask(db_path, "SELECT count(*) FROM sqlite_schema") > 0) {
        assert_int_equal(ask(db_path, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
                         1);
        if (safe)
            assert_true(ask(db_path, "SELECT max(ws) FROM level WHERE type = 4") >= safe);
    } else {
        assert_int_equal(safe, 0);
    }
    empty(after);
}

/* With a small cap the log is taken over often, so that syncs lie everywhere. */
static void lose_power(long ticks, bool torn)
{
    committed = safe = 0;
    power_plug_in();
    power_on_sync = note_safe;
    assert_int_equal(open_with(600 * 1024), 0);
    sample.t_ns = 0;
    for (long i = 1; i <= ticks; i++) {
        set_level(MT_TYPE_HEAP, i);
        set_level(MT_TYPE_STACK, i * 7919 % 1000);
        assert_int_equal(tick(), 0);
        assert_int_equal(mt_recorder_commit(recorder), 0);
        committed = i;
    }
    check(torn);
    power_on_sync = NULL;
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
}

static void many(bool torn)
{
    const char *full = getenv("MEMTRACER_FULL");
    int seeds = full && full[0] == '1' ? 500 : 40;

    for (int seed = 0; seed < seeds; seed++) {
        srandom((unsigned)seed);
        lose_power(random() % 600, torn);
        assert_int_equal(folder_remove(), 0);
        assert_int_equal(folder_make(), 0);
        snprintf(path, sizeof(path), "%s/a.db", folder);
    }
}

static void unsynced_writes_are_dropped_in_order(void **state)
{
    (void)state;
    many(false);
}

static void unsynced_writes_are_reordered_and_torn(void **state)
{
    (void)state;
    many(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unsynced_writes_are_dropped_in_order),
        TEST(unsynced_writes_are_reordered_and_torn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
