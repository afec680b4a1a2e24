/* SPDX-License-Identifier: MIT */
/* Description: a source opens this process and others, outlives its main thread, says what is in
 * the way, and reads a /proc made by hand. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "memtracer/memtracer.h"
#include "source/linux/linux_source.h"

static struct mt_snapshot s;

static bool knows(const struct mt_counters *c, enum mt_counter counter)
{
    return c->known >> counter & 1u;
}

static uint64_t sum_size(void)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < s.n_regions; i++)
        if (!(s.regions[i].flags & MT_REGION_OUTSIDE))
            sum += s.regions[i].end - s.regions[i].base;
    return sum;
}

/* ---- this process ---- */

static void the_list_is_as_large_as_the_kernel_says(void **state)
{
    struct mt_source *source;
    struct mt_counters c;

    (void)state;
    assert_int_equal(mt_source_open_process(0, &source), TRACER_OK);
    for (unsigned pages = 0; pages < 2; pages++) {
        assert_int_equal(source->ops->list(source, &s, pages), TRACER_OK);
        assert_int_equal(source->ops->counters(source, &c), TRACER_OK);
        assert_true(knows(&c, MT_COUNTER_VM_SIZE));
        assert_int_equal(sum_size(), c.value[MT_COUNTER_VM_SIZE]);
    }
    assert_true(s.space_end > (uintptr_t)&c);
    source->ops->close(source);
}

static void counters_follow_what_happens(void **state)
{
    const size_t bytes = 400 * 4096;
    struct mt_source *source;
    struct mt_counters before, after;
    char *p;
    int fd;

    (void)state;
    assert_int_equal(mt_source_open_process(0, &source), TRACER_OK);
    assert_int_equal(source->ops->counters(source, &before), TRACER_OK);
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    memset(p, 1, bytes);
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(source->ops->counters(source, &after), TRACER_OK);
    assert_int_equal(after.value[MT_COUNTER_VM_SIZE] - before.value[MT_COUNTER_VM_SIZE], bytes);
    assert_true(after.value[MT_COUNTER_MINOR_FAULTS] > before.value[MT_COUNTER_MINOR_FAULTS]);
    assert_int_equal(after.value[MT_COUNTER_THREADS], 1);
    assert_true(knows(&after, MT_COUNTER_CPU_NS));
    assert_true(knows(&after, MT_COUNTER_VOLUNTARY_SWITCHES));
    if (knows(&after, MT_COUNTER_DESCRIPTORS))
        assert_int_equal(after.value[MT_COUNTER_DESCRIPTORS],
                         before.value[MT_COUNTER_DESCRIPTORS] + 1);
    close(fd);
    munmap(p, bytes);
    source->ops->close(source);
}

/* ---- a process whose main thread has ended ---- */

static int told[2]; /* the worker says how it went */

/* In a worker without a main thread: 'y' when this process can still be read. */
static void *read_without_main(void *arg)
{
    struct mt_source *source = NULL;
    struct mt_counters c = {.known = 0};
    char answer = 'y';

    (void)arg;
    usleep(100000);
    if (mt_source_open_process(0, &source) || source->ops->list(source, &s, true) ||
        source->ops->list(source, &s, false) || source->ops->counters(source, &c))
        answer = 'n';
    if (s.n_regions < 5 || !knows(&c, MT_COUNTER_VM_SIZE) || !knows(&c, MT_COUNTER_RSS_ANON) ||
        c.value[MT_COUNTER_VM_SIZE] != sum_size())
        answer = 'm';
    if (write(told[1], &answer, 1) != 1)
        _exit(1);
    for (;;)
        pause();
    return NULL;
}

static pid_t start_without_main(void)
{
    pid_t child;

    if (pipe2(told, O_CLOEXEC))
        return -1;
    child = fork();
    if (child == 0) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, read_without_main, NULL))
            _exit(1);
        pthread_exit(NULL);
    }
    return child;
}

static void A18_a_process_outlives_its_main_thread(void **state)
{
    pid_t child = start_without_main();
    struct mt_source *source;
    struct mt_counters c;
    char answer = 0;
    int status;

    (void)state;
    assert_true(child > 0);
    assert_int_equal(read(told[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    assert_int_equal(mt_source_open_process((uint32_t)child, &source), TRACER_OK);
    assert_int_equal(source->ops->list(source, &s, true), TRACER_OK);
    assert_true(s.n_regions > 5);
    assert_int_equal(source->ops->counters(source, &c), TRACER_OK);
    assert_int_equal(c.value[MT_COUNTER_VM_SIZE], sum_size());
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_int_equal(source->ops->list(source, &s, true), TRACER_ESTATE);
    assert_int_equal(source->ops->list(source, &s, false), TRACER_ESTATE);
    source->ops->close(source);
    close(told[0]);
    close(told[1]);
}

/* ---- other processes ---- */

static void a_process_that_ends_is_told(void **state)
{
    pid_t child = fork();
    struct mt_source *source;
    struct mt_counters c;
    int status;

    (void)state;
    if (child == 0)
        for (;;)
            pause();
    assert_int_equal(mt_source_open_process((uint32_t)child, &source), TRACER_OK);
    assert_int_equal(source->ops->list(source, &s, false), TRACER_OK);
    assert_int_equal(source->ops->counters(source, &c), TRACER_OK);
    assert_int_equal(c.value[MT_COUNTER_THREADS], 1);
    assert_true(knows(&c, MT_COUNTER_MINOR_FAULTS));
    kill(child, SIGKILL);
    usleep(50000); /* a zombie: no memory, but still a process */
    assert_int_equal(source->ops->list(source, &s, false), TRACER_ESTATE);
    waitpid(child, &status, 0);
    assert_int_equal(source->ops->list(source, &s, true), TRACER_ESTATE);
    assert_int_equal(source->ops->counters(source, &c), TRACER_ESTATE);
    source->ops->close(source);
    assert_int_equal(mt_source_open_process((uint32_t)child, &source), TRACER_ESTATE);
}

static void a_new_program_is_followed(void **state)
{
    int go[2], status;
    struct mt_source *source;
    bool found = false;
    pid_t child;
    char byte = 'x';

    (void)state;
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        if (read(go[0], &byte, 1) == 1)
            execl("/bin/sleep", "sleep", "60", (char *)NULL);
        _exit(1);
    }
    assert_int_equal(mt_source_open_process((uint32_t)child, &source), TRACER_OK);
    assert_int_equal(source->ops->list(source, &s, false), TRACER_OK);
    assert_int_equal(write(go[1], &byte, 1), 1);
    usleep(200000);
    assert_int_equal(source->ops->list(source, &s, false), TRACER_OK);
    for (uint32_t i = 0; i < s.n_regions; i++)
        if (strstr(mt_strings_get(s.strings, s.regions[i].name, NULL), "bin/"))
            found |= !strstr(mt_strings_get(s.strings, s.regions[i].name, NULL), "test_open");
    assert_true(found);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    source->ops->close(source);
    close(go[0]);
    close(go[1]);
}

/* In a child that is nobody: its parent belongs to root. */
static int open_parent_as_nobody(void)
{
    struct mt_source *source;

    if (setgid(65534) || setuid(65534))
        return 77;
    return mt_source_open_process((uint32_t)getppid(), &source) == TRACER_EDENIED &&
                   strstr(mt_error_detail(), "ptrace")
               ? 0
               : 1;
}

static void what_is_not_allowed_says_the_way_out(void **state)
{
    int status;
    pid_t child;

    (void)state;
    if (geteuid() != 0)
        skip();
    child = fork();
    if (child == 0)
        _exit(open_parent_as_nobody());
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- a /proc made by hand ---- */

static char root[] = "/tmp/memtracer-proc-XXXXXX";

static void cook(const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    if (!text) {
        mkdir(path, 0755);
        return;
    }
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void the_calling_thread_stands_for_the_process(void **state)
{
    struct mt_source *source;
    struct mt_counters c;

    (void)state;
    assert_int_equal(mt_linux_open(root, 0, &source), TRACER_OK);
    assert_int_equal(source->ops->list(source, &s, true), TRACER_OK);
    assert_int_equal(s.n_regions, 2);
    assert_int_equal(s.n_rejected, 1);
    assert_int_equal(s.flags, MT_SAMPLE_NO_PAGES | MT_SAMPLE_REJECTED);
    assert_int_equal(s.space_base, 8192);
    assert_int_equal(source->ops->counters(source, &c), TRACER_OK);
    assert_int_equal(c.value[MT_COUNTER_THREADS], 3);             /* of the leader */
    assert_int_equal(c.value[MT_COUNTER_VOLUNTARY_SWITCHES], 11); /* of the leader */
    assert_int_equal(c.value[MT_COUNTER_VM_SIZE], 96 * 1024);     /* of the thread */
    source->ops->close(source);
}

/* Text by text, as a process would change; an empty one is no process without memory. */
static void A17_lists_are_read_anew_and_none_is_empty(void **state)
{
    struct mt_source *source;

    (void)state;
    assert_int_equal(mt_linux_open(root, 0, &source), TRACER_OK);
    assert_int_equal(source->ops->list(source, &s, false), TRACER_OK);
    assert_int_equal(s.n_regions, 2);
    cook("thread-self/maps", "00400000-00401000 r-xp 00000000 08:02 7 /bin/x\n");
    assert_int_equal(source->ops->list(source, &s, false), TRACER_OK);
    assert_int_equal(s.n_regions, 1);
    cook("thread-self/maps", "");
    assert_int_equal(source->ops->list(source, &s, false), TRACER_EIO);
    source->ops->close(source);
}

static void smaps_teaches_which_devices_are_hugetlb(void **state)
{
    static const char maps[] = "10000000-10200000 rw-s 00000000 00:2a 7 /huge/pool\n"
                               "20000000-20200000 rw-s 00000000 08:02 7 /data/file\n"
                               "30000000-30200000 rw-p 00000000 00:10 8 /anon_hugepage (deleted)\n";
    struct mt_source *source;

    (void)state;
    cook("thread-self/maps", maps);
    cook("thread-self/smaps", "10000000-10200000 rw-s 00000000 00:2a 7 /huge/pool\n"
                              "Rss: 0 kB\nShared_Hugetlb: 2048 kB\nVmFlags: rd wr sh ht\n");
    assert_int_equal(mt_linux_open(root, 0, &source), TRACER_OK);
    assert_int_equal(source->ops->list(source, &s, true), TRACER_OK);
    assert_int_equal(s.flags, 0);
    assert_true(s.regions[0].flags & MT_REGION_HUGETLB);
    assert_int_equal(source->ops->list(source, &s, false), TRACER_OK);
    assert_true(s.regions[0].flags & MT_REGION_HUGETLB);
    assert_false(s.regions[1].flags & MT_REGION_HUGETLB);
    assert_true(s.regions[2].flags & MT_REGION_HUGETLB);
    source->ops->close(source);
}

static void A40_without_proc_nothing_is_supported(void **state)
{
    struct mt_source *source;

    (void)state;
    assert_int_equal(mt_linux_open("/tmp/memtracer-no-proc", 0, &source), TRACER_EUNSUPPORTED);
    assert_int_equal(mt_linux_open("/tmp/memtracer-no-proc", 1, &source), TRACER_EUNSUPPORTED);
    assert_int_equal(mt_linux_open(root, 99, &source), TRACER_ESTATE);
}

static int begin(void **state)
{
    struct mt_strings *strings;

    (void)state;
    if (!mkdtemp(root))
        return -1;
    cook("self", NULL);
    cook("thread-self", NULL);
    cook("sys", NULL);
    cook("sys/vm", NULL);
    cook("sys/vm/mmap_min_addr", "8192\n");
    cook("self/maps", "");
    cook("self/status", "State:\tZ (zombie)\nThreads:\t3\nvoluntary_ctxt_switches:\t11\n");
    cook("thread-self/status", "VmSize:\t96 kB\nThreads:\t9\nvoluntary_ctxt_switches:\t99\n");
    cook("thread-self/maps", "00400000-00401000 r-xp 00000000 08:02 7 /bin/x\n"
                             "00500000-00501000 rw-p\n"
                             "00600000-00617000 rw-p 00000000 00:00 0 [heap]\n");
    return mt_strings_new(4096, 1 << 20, &strings) || mt_snapshot_init(&s, strings, 4096);
}

static int end(void **state)
{
    static const char *const names[] = {"self/maps",
                                        "self/status",
                                        "thread-self/status",
                                        "thread-self/maps",
                                        "thread-self/smaps",
                                        "sys/vm/mmap_min_addr",
                                        "sys/vm",
                                        "sys",
                                        "self",
                                        "thread-self",
                                        ""};
    char path[256];

    (void)state;
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, names[i]);
        remove(path);
    }
    mt_strings_free(s.strings);
    mt_snapshot_release(&s);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_as_large_as_the_kernel_says),
        cmocka_unit_test(counters_follow_what_happens),
        cmocka_unit_test(A18_a_process_outlives_its_main_thread),
        cmocka_unit_test(a_process_that_ends_is_told),
        cmocka_unit_test(a_new_program_is_followed),
        cmocka_unit_test(what_is_not_allowed_says_the_way_out),
        cmocka_unit_test(the_calling_thread_stands_for_the_process),
        cmocka_unit_test(A17_lists_are_read_anew_and_none_is_empty),
        cmocka_unit_test(smaps_teaches_which_devices_are_hugetlb),
        cmocka_unit_test(A40_without_proc_nothing_is_supported),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
