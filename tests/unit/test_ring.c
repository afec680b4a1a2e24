/* SPDX-License-Identifier: MIT */
/* Description: the ring of events gives back what was put in, in order, loses what finds no room
 * and counts it; with several producers each one's events come out whole and in its order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "trace/ring.h"

#define PRODUCERS 3
#define EACH 40000u

static struct mt_ring *ring;

static int begin(void **state)
{
    (void)state;
    ring = calloc(1, sizeof(*ring));
    return ring ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    free(ring);
    return 0;
}

static struct mt_event event(uint32_t tid, uint64_t number)
{
    struct mt_event e = {.kind = MT_EVENT_MMAP, .tid = tid, .address = number, .n_frames = 2};

    e.more.frames[0] = number * 3;
    e.more.frames[1] = number * 5;
    return e;
}

static void what_comes_in_goes_out_in_order(void **state)
{
    (void)state;
    assert_null(mt_ring_peek(ring, 0));
    for (uint64_t lap = 0; lap < 3; lap++) {
        for (uint64_t i = 0; i < MT_RING_SLOTS; i++) {
            struct mt_event e = event(1, i);

            assert_true(mt_ring_push(ring, &e));
        }
        assert_int_equal(mt_ring_peek(ring, MT_RING_SLOTS - 1)->address, MT_RING_SLOTS - 1);
        for (uint64_t i = 0; i < MT_RING_SLOTS; i++) {
            assert_int_equal(mt_ring_peek(ring, 0)->address, i);
            assert_int_equal(mt_ring_peek(ring, 0)->more.frames[1], i * 5);
            mt_ring_release(ring);
        }
        assert_null(mt_ring_peek(ring, 0));
    }
    assert_int_equal(ring->lost, 0);
}

static void what_finds_no_room_is_counted(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < MT_RING_SLOTS + 7; i++) {
        struct mt_event e = event(1, i);

        assert_int_equal(mt_ring_push(ring, &e), i < MT_RING_SLOTS);
    }
    assert_int_equal(ring->lost, 7);
    assert_int_equal(mt_ring_peek(ring, 0)->address, 0);
    assert_null(mt_ring_peek(ring, MT_RING_SLOTS));
}

static void *produce(void *user)
{
    uint32_t tid = *(uint32_t *)user;

    for (uint64_t i = 0; i < EACH;) {
        struct mt_event e = event(tid, i);

        i += mt_ring_push(ring, &e);
    }
    return NULL;
}

static void producers_keep_their_order(void **state)
{
    uint32_t tids[PRODUCERS];
    uint64_t next[PRODUCERS] = {0}, n = 0;
    pthread_t ids[PRODUCERS];

    (void)state;
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        tids[i] = i;
        pthread_create(&ids[i], NULL, produce, &tids[i]);
    }
    while (n < PRODUCERS * EACH) {
        const struct mt_event *e = mt_ring_peek(ring, 0);

        if (!e)
            continue;
        assert_true(e->tid < PRODUCERS);
        assert_int_equal(e->address, next[e->tid]++);
        assert_int_equal(e->more.frames[0], e->address * 3);
        mt_ring_release(ring);
        n++;
    }
    for (uint32_t i = 0; i < PRODUCERS; i++)
        pthread_join(ids[i], NULL);
    assert_null(mt_ring_peek(ring, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_comes_in_goes_out_in_order, begin, end),
        cmocka_unit_test_setup_teardown(what_finds_no_room_is_counted, begin, end),
        cmocka_unit_test_setup_teardown(producers_keep_their_order, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
