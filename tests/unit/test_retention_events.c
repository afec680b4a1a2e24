/* SPDX-License-Identifier: MIT */
/* Description: exact events are bounded by keep_events and by the file's cap: the oldest go and are
 * counted as missing; what stays has its stacks, frames and files, which end with their last
 * event. */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "record/events.h"
#include "support/recorded.h"

#define FRAMES 8
#define EVENTS_A_STACK 10
#define EVENTS_A_FILE 5000
#define EVENTS_A_COMMIT 1000

static char place_path[32];

/* Code is in a file that changes now and then; the address says which. */
static bool place(void *user, uint64_t pc, struct mt_place *out)
{
    (void)user;
    snprintf(place_path, sizeof(place_path), "/lib/%d.so", (int)(pc >> 32));
    *out = (struct mt_place){place_path, "abc", pc & UINT32_MAX};
    return true;
}

/* Event i took i bytes at address i; frame k of its stack is at 100 * (its stack's number) + k. */
static void write_one(int64_t i)
{
    const struct mt_event_context context = {0, 1, place, NULL};
    struct mt_event e = {.t_ns = i * 1000,
                         .began_ns = i * 1000,
                         .kind = MT_EVENT_MALLOC,
                         .tid = 1,
                         .address = (uint64_t)i,
                         .bytes = (uint64_t)i,
                         .n_frames = FRAMES};

    for (int k = 0; k < FRAMES; k++)
        e.more.frames[k] = (uint64_t)(i / EVENTS_A_FILE) << 32 |
                           (uint64_t)(i % EVENTS_A_FILE / EVENTS_A_STACK * 100 + k);
    if (mt_recorder_event(recorder, &e, &context))
        fail_msg("%s", mt_error_detail());
}

static void write_events(int64_t n)
{
    for (int64_t i = 1; i <= n; i++) {
        write_one(i);
        if (i % EVENTS_A_COMMIT)
            continue;
        set_level(MT_TYPE_HEAP, i);
        assert_int_equal(tick(), 0);
        assert_int_equal(mt_recorder_commit(recorder), 0);
    }
    for (int i = 0; i < 50; i++) { /* what was begun comes to its end */
        set_level(MT_TYPE_HEAP, i);
        assert_int_equal(tick(), 0);
        assert_int_equal(mt_recorder_commit(recorder), 0);
    }
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
}

/* Of n events the newest are there, whole, and the others are counted. */
static void newest_are_whole(int64_t n)
{
    int64_t kept = number("SELECT count(*) FROM event");

    assert_int_equal(number("SELECT max(address) FROM event"), n);
    assert_int_equal(number("SELECT min(address) FROM event"), n - kept + 1);
    assert_int_equal(number("SELECT sum(events) FROM event_loss"), n - kept);
    assert_int_equal(number("SELECT count(*) FROM event_loss"), 1);
    assert_int_equal(number("SELECT max(t_ns) FROM event_loss"), (n - kept) * 1000);
    assert_int_equal(number("SELECT count(*) FROM event e JOIN stack_frame f USING (stack) "
                            "JOIN frame r ON r.id = f.frame JOIN code c ON c.id = r.code "
                            "JOIN string s ON s.id = c.path WHERE s.text = "
                            "'/lib/' || (address / 5000) || '.so' AND "
                            "r.offset = address % 5000 / 10 * 100 + f.depth"),
                     kept * FRAMES);
    assert_int_equal(number("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
}

/* No more is left than the search for what is unused may let lie: as much again as is used, and the
 * 4,096 events after which it begins. */
static void unused_is_gone(int64_t kept)
{
    int64_t stacks = (2 * kept + 4096 + EVENTS_A_COMMIT) / EVENTS_A_STACK + 10;

    assert_in_range(number("SELECT count(*) FROM stack"), 1, stacks);
    assert_in_range(number("SELECT count(*) FROM stack_frame"), 1, stacks * FRAMES);
    assert_in_range(number("SELECT count(*) FROM frame"), 1, stacks * FRAMES);
    assert_in_range(number("SELECT count(*) FROM code"), 1,
                    stacks * EVENTS_A_STACK / EVENTS_A_FILE + 2);
    assert_in_range(number("SELECT count(*) FROM string WHERE text LIKE '/lib/%'"), 1,
                    stacks * EVENTS_A_STACK / EVENTS_A_FILE + 2);
    assert_int_equal(number("SELECT count(*) FROM stack_frame WHERE stack NOT IN "
                            "(SELECT id FROM stack)"),
                     0);
}

static void the_oldest_go_beyond_keep_events(void **state)
{
    int64_t kept;

    (void)state;
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    number("UPDATE setting SET value = 3000 WHERE name = 'keep_events'");
    opened();
    write_events(60000);
    newest_are_whole(60000);
    kept = number("SELECT count(*) FROM event");
    assert_in_range(kept, 1, 3000);
    unused_is_gone(kept);
}

static void the_cap_takes_events_before_samples(void **state)
{
    const int64_t cap = 4 * MIB;
    struct stat s;

    (void)state;
    assert_int_equal(open_with((uint64_t)cap), 0);
    write_events(150000);
    assert_int_equal(stat(path, &s), 0);
    assert_true(s.st_size <= cap);
    newest_are_whole(150000);
    assert_true(number("SELECT count(*) FROM event") > 1024);
    assert_int_equal(number("SELECT count(*) FROM sample"), 200);
    unused_is_gone(number("SELECT count(*) FROM event"));
}

/* A next run goes on, with rows of its own; a rollback leaves the count right. */
static void runs_follow_and_what_was_rolled_back_does_not_count(void **state)
{
    (void)state;
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    number("UPDATE setting SET value = 2000 WHERE name = 'keep_events'");
    for (int run = 0; run < 2; run++) {
        opened();
        for (int64_t i = 1; i <= 5000; i++)
            write_one(i);
        mt_recorder_rollback(recorder);
        write_events(10000);
    }
    assert_in_range(number("SELECT count(*) FROM event"), 1, 2000);
    assert_int_equal(number("SELECT count(DISTINCT run) FROM event"), 1);
    assert_int_equal(number("SELECT count(*) FROM event_loss"), 2);
    assert_int_equal(
        number("SELECT sum(events) FROM event_loss") + number("SELECT count(*) FROM event"), 20000);
}

/* A stack that comes again after all its events went, and while it is looked for, is found. */
static void a_stack_that_comes_again_is_whole(void **state)
{
    (void)state;
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    number("UPDATE setting SET value = 1500 WHERE name = 'keep_events'");
    opened();
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 700; i++) {
            write_one(100000 + round * 700 + i);
            if (i % 50 == 0)
                write_one(1 + round % 7); /* old ones, now and then */
            if (i % 20 == 0)
                assert_int_equal(mt_recorder_commit(recorder), 0);
        }
    }
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM event e JOIN stack_frame f USING (stack) "
                            "JOIN frame r ON r.id = f.frame JOIN code c ON c.id = r.code "
                            "JOIN string s ON s.id = c.path WHERE s.text = "
                            "'/lib/' || (address / 5000) || '.so' AND "
                            "r.offset = address % 5000 / 10 * 100 + f.depth"),
                     number("SELECT count(*) * 8 FROM event"));
    assert_int_equal(number("SELECT count(*) FROM event WHERE stack NOT IN (SELECT id FROM stack)"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_oldest_go_beyond_keep_events),
        TEST(the_cap_takes_events_before_samples),
        TEST(runs_follow_and_what_was_rolled_back_does_not_count),
        TEST(a_stack_that_comes_again_is_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
