/* SPDX-License-Identifier: MIT */
/* Description: a host that gives up its rights while it is recorded (setuid to nobody, as servers
 * do) is no longer dumpable, and fresh opens in /proc are refused; what was opened before goes on,
 * so memory mapped later is still counted page by page and malloc's blocks are still found. */
#define _GNU_SOURCE
#include "support/nobody.h"

#include <sys/mman.h>

#define MIB ((size_t)1 << 20)
#define MAPPED (24 * MIB)
#define TOUCHED (16 * MIB)
#define BLOCK (8 * MIB)

enum { FINE, CANNOT, NOT_PRIVATE, NOT_TOUCHED, NOT_HEAP, NOT_STOPPED };

static int map_as_nobody(tracer *t)
{
    tracer_type_bytes before = host_row(t, TRACER_TYPE_PRIVATE), after;
    char *p;

    if (!nobody_become())
        return CANNOT;
    p = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, MAPPED, MADV_NOHUGEPAGE);
    memset(p, 1, TOUCHED);
    after = host_row(t, TRACER_TYPE_PRIVATE);
    if (after.size_bytes - before.size_bytes != MAPPED)
        return NOT_PRIVATE;
    return after.ws_bytes - before.ws_bytes == TOUCHED ? FINE : NOT_TOUCHED;
}

static int allocate_as_nobody(tracer *t)
{
    uint64_t before = host_row(t, TRACER_TYPE_HEAP).size_bytes, grown;
    char *p = malloc(BLOCK);

    *(volatile char *)p = 1;
    grown = host_row(t, TRACER_TYPE_HEAP).size_bytes - before;
    free(p);
    return grown >= BLOCK && grown < BLOCK + MIB ? FINE : NOT_HEAP;
}

static int give_up_rights(void)
{
    tracer *t = host_start(3600000);
    int result = map_as_nobody(t);

    if (result == FINE)
        result = allocate_as_nobody(t);
    return tracer_stop(t) == TRACER_OK || result ? result : NOT_STOPPED;
}

static void A20_rights_given_up_do_not_end_the_sight(void **state)
{
    (void)state;
    assert_int_equal(nobody_status(give_up_rights, 0777), FINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        HOST_EXACT(A20_rights_given_up_do_not_end_the_sight), host_begin, host_end)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
