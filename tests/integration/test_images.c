/* SPDX-License-Identifier: MIT */
/* Description: view image_private on this very program: a table of addresses that the loader filled
 * in, read-only since, is private as relocations; a written page of text is private as written
 * text; each segment has the anonymous bytes the kernel counts in smaps. */
#define _GNU_SOURCE
#include "support/host.h"

#include <stdbool.h>
#include <sys/mman.h>

#define PAGE 4096
#define ENTRIES 8192

static const char word[] = "planted";

#define E8 word, word, word, word, word, word, word, word
#define E64 E8, E8, E8, E8, E8, E8, E8, E8
#define E512 E64, E64, E64, E64, E64, E64, E64, E64
#define E4096 E512, E512, E512, E512, E512, E512, E512, E512

/* 64 KiB that hold addresses: in a position-independent program the loader writes them all. */
static const char *const planted[ENTRIES] = {E4096, E4096};

__attribute__((noinline, aligned(PAGE))) static int patched(int x)
{
    return x * 3 + 1;
}

static volatile int last = ENTRIES - 1; /* unknown to the compiler, which keeps the table */
static char program[512];

/* Anonymous bytes of this program's own mappings with these rights. */
static int64_t anonymous_by_smaps(const char *rights)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[1024];
    int64_t sum = 0, kb;
    bool mine = false;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        if (strchr(line, '/'))
            mine = strstr(line, program) && strstr(line, rights);
        else if (strspn(line, "0123456789abcdef") > 7)
            mine = false;
        if (mine && sscanf(line, "Anonymous: %ld", &kb) == 1)
            sum += kb * 1024;
    }
    fclose(f);
    return sum;
}

static int64_t private_of(const char *segment)
{
    char sql[800];

    snprintf(sql, sizeof(sql),
             "SELECT private FROM image_private WHERE module = '%s' AND segment = '%s'", program,
             segment);
    return host_ask(sql).integer;
}

static void write_to_text(void)
{
    char *page = (char *)((uintptr_t)patched & ~(uintptr_t)(PAGE - 1));

    assert_int_equal(mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    *(volatile char *)page = *page;
    assert_int_equal(mprotect(page, PAGE, PROT_READ | PROT_EXEC), 0);
}

static void private_pages_by_segment_and_reason(void **state)
{
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    tracer *t;
    char sql[800];

    (void)state;
    assert_true(n > 0);
    assert_string_equal(planted[last], "planted");
    write_to_text();
    assert_int_equal(patched(2), 7);
    t = host_start(3600000);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    assert_true(private_of("relro") >= (int64_t)sizeof(planted));
    assert_int_equal(private_of("relro"), anonymous_by_smaps(" r--p "));
    assert_int_equal(private_of("data"), anonymous_by_smaps(" rw-p "));
    assert_int_equal(private_of("text"), PAGE);
    assert_int_equal(private_of("rodata"), 0);
    snprintf(sql, sizeof(sql),
             "SELECT why FROM image_private WHERE module = '%s' AND segment = 'relro'", program);
    assert_non_null(strstr(host_ask(sql).text, "read-only (RELRO)"));
    snprintf(sql, sizeof(sql),
             "SELECT why FROM image_private WHERE module = '%s' AND segment = 'text'", program);
    assert_non_null(strstr(host_ask(sql).text, "text written"));
    tracer_stop(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        HOST_EXACT(private_pages_by_segment_and_reason), host_begin, host_end)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
