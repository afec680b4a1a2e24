/* SPDX-License-Identifier: MIT */
/* Description: a library with a table of addresses and an array, both writable: view image_private
 * tells pages that the loader relocated from those the program wrote, page by page, and the sum is
 * the anonymous bytes the kernel counts; unknown when the library's file is gone or another one. */
#define _GNU_SOURCE
#include "support/host.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#define PAGE 4096
#define TABLE_PAGES 4
#define ENTRY 16 /* bytes: an address and a number */

static const char *const libraries[] = {PLANTED_LIBRARIES};
static const char *original;
static char library[300];
static void *handle;
static volatile unsigned char *table, *array;

/* By another name first: what is mapped stays what it is. */
static void copy_file(const char *from, const char *to)
{
    char fresh[300], block[4096];
    FILE *in = fopen(from, "rb"), *out;
    size_t n;

    snprintf(fresh, sizeof(fresh), "%s/new", host_dir);
    out = fopen(fresh, "wb");
    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(block, 1, sizeof(block), in)) > 0)
        assert_int_equal(fwrite(block, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(rename(fresh, to), 0);
}

static void load(const char *from)
{
    original = from;
    snprintf(library, sizeof(library), "%s/planted.so", host_dir);
    copy_file(from, library);
    handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    table = dlsym(handle, "planted_table");
    array = dlsym(handle, "planted_array");
    assert_non_null((const void *)(uintptr_t)table);
    assert_non_null((const void *)(uintptr_t)array);
}

static void unload(void)
{
    dlclose(handle);
    unlink(library);
}

/* Anonymous bytes of the library's writable pages that have its file. */
static int64_t anonymous_by_smaps(int pid)
{
    char path[64], line[1024];
    int64_t sum = 0, kb;
    bool mine = false;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        if (strspn(line, "0123456789abcdef") > 7)
            mine = strstr(line, library) && strstr(line, " rw-p ");
        if (mine && sscanf(line, "Anonymous: %ld", &kb) == 1)
            sum += kb * 1024;
    }
    fclose(f);
    return sum;
}

static int64_t data(const char *column)
{
    char sql[1000];

    snprintf(sql, sizeof(sql),
             "SELECT sum(%s) FROM image_private WHERE module LIKE '%s%%' AND segment = 'data'",
             column, library);
    return host_ask(sql).integer;
}

static void assert_data(int64_t relocated, int64_t written, int64_t unknown)
{
    assert_int_equal(data("relocated"), relocated);
    assert_int_equal(data("written"), written);
    assert_int_equal(data("unknown"), unknown);
}

static void pages_by_reason(void **state)
{
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        int64_t first;
        tracer *t;

        load(libraries[i]);
        t = host_start(3600000);
        assert_int_equal(tracer_sample(t), TRACER_OK);
        first = anonymous_by_smaps(getpid());
        assert_true(first >= TABLE_PAGES * PAGE);
        assert_data(first, 0, 0);
        for (int k = 1; k <= 3; k++)
            array[k * PAGE] ^= 1;
        assert_int_equal(tracer_sample(t), TRACER_OK);
        assert_data(first, 3 * PAGE, 0);
        assert_int_equal(anonymous_by_smaps(getpid()), first + 3 * PAGE);
        table[PAGE + 5 * ENTRY + 8] ^= 1; /* a number between addresses */
        assert_int_equal(tracer_stop(t), TRACER_OK);
        assert_data(first - PAGE, 4 * PAGE, 0);
        unload();
        host_end(state);
        host_begin(state);
    }
}

static void unknown_when_the_file_is_not_the_mapped_one(void **state)
{
    int64_t first;
    tracer *t;

    (void)state;
    load(libraries[0]);
    t = host_start(3600000);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    first = anonymous_by_smaps(getpid());
    copy_file(original, library); /* another inode */
    assert_int_equal(tracer_sample(t), TRACER_OK);
    assert_int_equal(data("private"), first);
    assert_data(0, 0, first);
    assert_int_equal(unlink(library), 0);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    assert_data(0, 0, first);
    tracer_stop(t);
    unload();
}

static void of_another_process(void **state)
{
    tracer_options o = {.size = sizeof(o), .interval_ms = 3600000};
    int64_t first;
    int ready[2];
    tracer *t;
    pid_t pid;
    char c;

    (void)state;
    load(libraries[0]);
    assert_int_equal(pipe(ready), 0);
    first = anonymous_by_smaps(getpid());
    pid = fork();
    if (pid == 0) {
        array[0] ^= 1;
        array[PAGE] ^= 1;
        c = write(ready[1], "", 1) == 1;
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    o.pid = (uint32_t)pid;
    assert_int_equal(tracer_start(host_db, &o, &t), TRACER_OK);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    assert_int_equal(anonymous_by_smaps(pid), first + 2 * PAGE);
    assert_data(first, 2 * PAGE, 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    unload();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(HOST_EXACT(pages_by_reason), host_begin, host_end),
        cmocka_unit_test_setup_teardown(HOST_EXACT(unknown_when_the_file_is_not_the_mapped_one),
                                        host_begin, host_end),
        cmocka_unit_test_setup_teardown(HOST_EXACT(of_another_process), host_begin, host_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
