/* SPDX-License-Identifier: MIT */
/* Description: what the tracer itself touches grows with the process by at most 1 KB a mapping, as
 * lib/README.md says; by the kernel's count of this process's anonymous pages. */
#define _GNU_SOURCE
#include "support/host.h"

#include <sys/mman.h>

#define MAPPINGS 20000
#define OTHERS (2 << 20) /* SQLite's cache and the like, once */
#define LOOKS 40         /* thousands of new mappings are examined over several */

static int64_t kernel_anonymous_bytes(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long long kib = -1;

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "RssAnon: %lld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

/* Rights alternate page by page, so that the kernel joins none; nothing is touched. */
static void make_mappings(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, MAPPINGS * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(p, MAP_FAILED);
    for (size_t i = 0; i < MAPPINGS; i += 2)
        assert_int_equal(mprotect(p + i * page, page, PROT_READ), 0);
}

static int64_t look(tracer *t)
{
    for (int i = 0; i < LOOKS; i++)
        assert_int_equal(tracer_sample(t), 0);
    return kernel_anonymous_bytes();
}

static void own_memory_is_bounded_by_the_mappings(void **state)
{
    int64_t before, grown;
    tracer *t;

    (void)state;
    if (kernel_anonymous_bytes() < 0)
        skip(); /* a kernel before 4.5 */
    t = host_start(3600000);
    before = look(t);
    make_mappings();
    grown = look(t) - before;
    assert_int_equal(tracer_stop(t), 0);
    assert_true(host_ask("SELECT max(regions) FROM sample").integer > MAPPINGS);
    if (grown > MAPPINGS * 1024 + OTHERS || grown < MAPPINGS * 512)
        fail_msg("%lld bytes for %d mappings", (long long)grown, MAPPINGS);
    print_message("%lld bytes a mapping\n", (long long)(grown / MAPPINGS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(HOST_EXACT(own_memory_is_bounded_by_the_mappings),
                                        host_begin, host_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
