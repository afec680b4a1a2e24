/* SPDX-License-Identifier: MIT */
/* Description: a program that links libmemtracer-stacks itself and asks with TRACER_F_STACKS gets
 * exactly its large calls, with their stacks; a second tracer of the process is refused them; what
 * cannot be had is refused. */
#define _GNU_SOURCE
#include "support/host.h"

#include <stdlib.h>
#include <sys/mman.h>

#define MIN_BYTES 50000u

/* What a second tracer maps for itself is a call as well, but not this file's. */
#define OWN_EVENTS                                                                                 \
    " FROM event e JOIN call_site c ON c.stack = e.stack WHERE c.path LIKE '%/test_stacks_linked'"

static int start_with_stacks(const char *name, uint32_t pid, tracer **out)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    char path[320];

    snprintf(path, sizeof(path), "%s/%s", host_dir, name);
    o.flags = TRACER_F_STACKS;
    o.stack_min_bytes = MIN_BYTES;
    o.interval_ms = 50;
    o.pid = pid;
    return tracer_start(path, &o, out);
}

static void large_calls_are_recorded(void **state)
{
    void *volatile p;
    tracer *t = NULL, *second = NULL;

    (void)state;
    assert_int_equal(start_with_stacks("host.db", 0, &t), TRACER_OK);
    assert_int_equal(start_with_stacks("second.db", 0, &second), TRACER_ESTATE);
    p = malloc(MIN_BYTES - 1);
    free(p);
    p = malloc(MIN_BYTES);
    p = realloc(p, (size_t)4 * MIN_BYTES);
    free(p);
    p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(p, 4096);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    assert_int_equal(host_ask("SELECT count(*)" OWN_EVENTS).integer, 5);
    assert_int_equal(host_ask("SELECT sum(e.bytes)" OWN_EVENTS).integer,
                     MIN_BYTES + 8 * MIN_BYTES + 2 * 4096);
    assert_int_equal(host_ask("SELECT count(*) FROM event_loss").integer, 0);
}

static void it_can_be_started_again(void **state)
{
    void *volatile p;
    tracer *t = NULL;

    (void)state;
    p = malloc(MIN_BYTES); /* before anybody looks: nobody knows it */
    assert_int_equal(start_with_stacks("host.db", 0, &t), TRACER_OK);
    free(p);
    p = calloc(2, MIN_BYTES);
    free(p);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    assert_int_equal(host_ask("SELECT count(*)" OWN_EVENTS).integer, 2);
}

static void another_process_is_refused(void **state)
{
    tracer *t = NULL;

    (void)state;
    assert_int_equal(start_with_stacks("host.db", 1, &t), TRACER_EUNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(HOST_EXACT(large_calls_are_recorded), host_begin, host_end),
        cmocka_unit_test_setup_teardown(HOST_EXACT(it_can_be_started_again), host_begin, host_end),
        cmocka_unit_test_setup_teardown(another_process_is_refused, host_begin, host_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
