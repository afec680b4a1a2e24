/* SPDX-License-Identifier: MIT */
/* Description: the disk loses power at a random write: what is left is sound, has all that was
 * committed before the last sync of the log, and lacks no more than the last commit interval. */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os.h"
#include "support/power_cut.h"
#include "support/recorded.h"

#define TICK_NS INT64_C(100000000)
#define TICKS_A_SECOND 10

int64_t __wrap_mt_os_monotonic_ns(void);

static int64_t clock_ns, now_tick;
static int64_t committed, safe;
static struct {
    long at, n; /* of writes */
    bool torn, done;
    int64_t safe, tick;
} cut;

/* The recorder's clock goes on with the ticks. */
int64_t __wrap_mt_os_monotonic_ns(void)
{
    return clock_ns;
}

/* The log is on the disk: so is what was committed before. */
static void note_safe(void)
{
    safe = committed;
}

static const char *after(void)
{
    static char name[200];

    snprintf(name, sizeof(name), "%s/after", folder);
    return name;
}

static void cut_now(void)
{
    cut.done = true;
    cut.safe = safe;
    cut.tick = now_tick;
    assert_int_equal(mkdir(after(), 0700), 0);
    power_cut(after(), cut.torn);
}

static void count_write(void)
{
    if (++cut.n == cut.at && !cut.done)
        cut_now();
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

static void check(int64_t most_lost)
{
    char db_path[260];
    int64_t last;

    snprintf(db_path, sizeof(db_path), "%s/a.db", after());
    if (ask(db_path, "SELECT count(*) FROM sqlite_schema") > 0) {
        assert_int_equal(ask(db_path, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
                         1);
        last = ask(db_path, "SELECT max(ws) FROM level WHERE type = 4");
        if (cut.safe)
            assert_true(last >= cut.safe);
        if (cut.tick > most_lost)
            assert_in_range(last, cut.tick - most_lost, cut.tick);
    } else {
        assert_int_equal(cut.safe, 0);
        assert_true(cut.tick <= most_lost);
    }
    empty(after());
}

static void record(long ticks, int commit_ticks)
{
    struct mt_run_info info = {.pid = mt_os_process_id(),
                               .interval_ms = 100,
                               .commit_ms = (uint32_t)commit_ticks * 100,
                               .start_wall_ns = INT64_C(1700000000000000000),
                               .facts = &facts,
                               .max_file_bytes = 600 * 1024};

    assert_int_equal(mt_recorder_open(path, &info, strings, &recorder), 0);
    sample.t_ns = 0;
    for (now_tick = 1; now_tick <= ticks; now_tick++) {
        clock_ns += TICK_NS;
        set_level(MT_TYPE_HEAP, now_tick);
        set_level(MT_TYPE_STACK, now_tick * 7919 % 1000);
        assert_int_equal(tick(), 0);
        if (now_tick % commit_ticks)
            continue;
        assert_int_equal(mt_recorder_commit(recorder), 0);
        committed = now_tick;
    }
    now_tick = ticks;
}

/* With a small cap the log is taken over often, so that syncs lie everywhere. */
static void lose_power(long ticks, int commit_ticks, bool torn)
{
    int64_t most_lost =
        commit_ticks < TICKS_A_SECOND ? TICKS_A_SECOND + commit_ticks : commit_ticks;

    committed = safe = now_tick = 0;
    memset(&cut, 0, sizeof(cut));
    cut.torn = torn;
    cut.at = 1 + random() % (ticks + 40);
    power_plug_in();
    power_on_sync = note_safe;
    power_on_write = count_write;
    record(ticks, commit_ticks);
    power_on_write = NULL;
    if (!cut.done)
        cut_now();
    check(most_lost);
    power_on_sync = NULL;
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
}

static void many(bool torn)
{
    static const int commit_ticks[] = {10, 2, 10, 30};
    const char *full = getenv("MEMTRACER_FULL");
    int seeds = full && full[0] == '1' ? 500 : 40;

    for (int seed = 0; seed < seeds; seed++) {
        srandom((unsigned)seed);
        lose_power(30 + random() % 1500, commit_ticks[seed % 4], torn);
        assert_int_equal(folder_remove(), 0);
        assert_int_equal(folder_make(), 0);
        snprintf(path, sizeof(path), "%s/a.db", folder);
    }
}

static void D16_unsynced_writes_are_dropped_in_order(void **state)
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
        TEST(D16_unsynced_writes_are_dropped_in_order),
        TEST(unsynced_writes_are_reordered_and_torn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
