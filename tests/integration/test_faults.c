/* SPDX-License-Identifier: MIT */
/* Description: the n-th allocation, open, write, sync or truncate fails, for every n, once or from
 * then on: no crash, no hang, no memory left behind, an error with words, a sound file. And the
 * process is killed at any moment: the file opens and is sound. */
#define _GNU_SOURCE
#include "support/host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/memory.h"
#include "record/vfs.h"

/* ---- a file layer over the recorder's own, in which calls fail ---- */

static sqlite3_vfs faulty, *beneath;
static sqlite3_io_methods faulty_methods;
static const sqlite3_io_methods *real_methods;
static atomic_int countdown; /* calls until the fault; 0 = none */
static atomic_bool for_good; /* and all calls after it */

static bool fault(void)
{
    int left = atomic_load(&countdown);

    if (left <= 0)
        return left < 0;
    atomic_store(&countdown, left > 1 ? left - 1 : atomic_load(&for_good) ? -1 : 0);
    return left == 1;
}

static int faulty_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    return fault() ? SQLITE_FULL : real_methods->xWrite(f, from, n, at);
}

static int faulty_sync(sqlite3_file *f, int flags)
{
    return fault() ? SQLITE_IOERR_FSYNC : real_methods->xSync(f, flags);
}

static int faulty_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return fault() ? SQLITE_IOERR_TRUNCATE : real_methods->xTruncate(f, n);
}

static int faulty_shm_map(sqlite3_file *f, int region, int n, int extend, void volatile **out)
{
    return fault() ? SQLITE_IOERR_SHMSIZE : real_methods->xShmMap(f, region, n, extend, out);
}

static int faulty_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *out)
{
    int rc;

    (void)vfs;
    if (fault()) {
        f->pMethods = NULL;
        return SQLITE_CANTOPEN;
    }
    rc = beneath->xOpen(beneath, path, f, flags, out);
    if (rc == SQLITE_OK) {
        real_methods = f->pMethods;
        faulty_methods = *real_methods;
        faulty_methods.xWrite = faulty_write;
        faulty_methods.xSync = faulty_sync;
        faulty_methods.xTruncate = faulty_truncate;
        faulty_methods.xShmMap = faulty_shm_map;
        f->pMethods = &faulty_methods;
    }
    return rc;
}

/* Found before the one of the same name that was registered first. */
static void insert_faulty_layer(void)
{
    beneath = sqlite3_vfs_find(mt_vfs_name());
    assert_non_null(beneath);
    faulty = *beneath;
    faulty.pNext = NULL;
    faulty.xOpen = faulty_open;
    assert_int_equal(sqlite3_vfs_register(&faulty, 0), SQLITE_OK);
    assert_ptr_equal(sqlite3_vfs_find(faulty.zName), &faulty);
}

/* ---- what happens meanwhile ---- */

static void expect_words(int error)
{
    if (error && !tracer_last_error()[0])
        fail_msg("%s without a word", tracer_error_name(error));
}

static void work(void)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;
    char *p;

    o.interval_ms = 1;
    o.commit_ms = 1;
    expect_words(tracer_start(host_db, &o, &t));
    if (!t)
        return;
    expect_words(tracer_mark(t, "one"));
    expect_words(tracer_sample(t));
    p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, 1 << 20);
    expect_words(tracer_flush(t));
    munmap(p, 1 << 20);
    expect_words(tracer_sample(t));
    expect_words(tracer_stop(t));
}

/* The file is sound, or there is none yet that could be read. */
static void expect_sound_file(int n)
{
    struct host_answer a = {0, "", 0};
    tracer_reader *r = NULL;

    if (tracer_reader_open(host_db, &r)) {
        assert_true(tracer_last_error()[0]);
        return;
    }
    if (tracer_reader_query(r, "PRAGMA integrity_check", NULL, 0, host_take_row, &a) ||
        strcmp(a.text, "ok") != 0)
        fail_msg("after fault %d: %s %s", n, a.text, tracer_last_error());
    tracer_reader_close(r);
}

static void every_nth_call_fails(bool stays)
{
    int n = 1;

    for (;; n++) {
        atomic_store(&for_good, stays);
        atomic_store(&countdown, n);
        work();
        if (atomic_load(&countdown) > 0)
            break; /* there were fewer calls than that */
        atomic_store(&countdown, 0);
        expect_sound_file(n);
        host_end(NULL);
        assert_int_equal(mkdir(host_dir, 0700), 0);
        if (n > 400)
            break;
    }
    atomic_store(&countdown, 0);
    print_message("%d faults\n", n - 1);
    assert_true(n > 20);
    work();
    assert_string_equal(host_ask("PRAGMA integrity_check").text, "ok");
    assert_int_equal(host_ask("SELECT count(*) FROM mark WHERE label = 'one'").n_rows, 1);
}

/* Once the file can be written again, nothing that was marked meanwhile is missing. */
static void marks_survive_a_full_disk(void **state)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer_stats stats = {.size = sizeof(stats)};
    tracer *t = NULL;
    char label[32];

    (void)state;
    o.interval_ms = 1;
    o.commit_ms = 1;
    assert_int_equal(tracer_start(host_db, &o, &t), TRACER_OK);
    atomic_store(&for_good, true);
    atomic_store(&countdown, 1);
    for (int i = 0; i < 200; i++) {
        snprintf(label, sizeof(label), "mark %d", i);
        assert_int_equal(tracer_mark(t, label), TRACER_OK);
        usleep(500);
    }
    assert_int_equal(tracer_get_stats(t, &stats), TRACER_OK);
    assert_int_equal(stats.state, TRACER_STATE_SUSPENDED);
    assert_true(stats.cost_cpu_ns < 1000000000);
    atomic_store(&countdown, 0);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    assert_int_not_equal(tracer_stop(t), TRACER_OK); /* the first deferred error */
    assert_int_equal(host_ask("SELECT count(DISTINCT label) FROM mark").integer, 200);
    assert_int_equal(host_ask("SELECT count(*) FROM mark").integer, 200);
}

/* The end can be written again, before the file is tried again: it does not look whole. */
static void a_sample_lost_before_the_end_is_told(void **state)
{
    tracer *t = NULL;

    (void)state;
    assert_int_equal(tracer_start(host_db, NULL, &t), TRACER_OK);
    assert_int_equal(tracer_sample(t), TRACER_OK);
    atomic_store(&for_good, false);
    atomic_store(&countdown, 1);
    assert_int_not_equal(tracer_sample(t), TRACER_OK);
    assert_int_not_equal(tracer_stop(t), TRACER_OK);
    assert_string_equal(host_ask("SELECT state FROM run").text, "stopped");
    assert_non_null(strstr(host_ask("SELECT state_detail FROM run").text,
                           "recording was suspended for a while"));
}

static void file_calls_fail_once(void **state)
{
    (void)state;
    every_nth_call_fails(false);
}

static void file_calls_fail_for_good(void **state)
{
    (void)state;
    every_nth_call_fails(true);
}

static void allocations_fail(void **state)
{
    tracer *t = NULL;
    uint64_t held;
    int refused = 0;

    (void)state;
    assert_int_equal(tracer_start(host_db, NULL, &t), TRACER_OK);
    assert_int_equal(tracer_stop(t), TRACER_OK);
    held = mt_memory_held();
    for (unsigned n = 1; n < 80; n++) {
        int error;

        t = NULL;
        mt_memory_fail_at(n);
        error = tracer_start(host_db, NULL, &t);
        mt_memory_fail_at(0);
        expect_words(error);
        refused += error != TRACER_OK;
        assert_int_equal(tracer_stop(t), TRACER_OK);
        assert_int_equal(mt_memory_held(), held);
    }
    assert_true(refused > 10);
    assert_string_equal(host_ask("PRAGMA integrity_check").text, "ok");
}

/* ---- killed ---- */

static void record_and_churn(int begun)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;

    o.interval_ms = 1;
    o.commit_ms = 2;
    if (tracer_start(host_db, &o, &t)) {
        print_message("%s\n", tracer_last_error());
        _exit(1);
    }
    for (unsigned i = 0;; i++) {
        char *p = mmap(NULL, 4096u << (i % 8), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);

        p[0] = 1;
        tracer_mark(t, "churn");
        if (i == 20)
            close(begun);
        if (i % 3)
            munmap(p, 4096u << (i % 8));
        usleep(300);
    }
}

static void killed_at_any_moment(void **state)
{
    (void)state;
    srand(7);
    for (int i = 0; i < 60; i++) {
        int status, begun[2];
        pid_t pid;
        char none;

        assert_int_equal(pipe(begun), 0);
        pid = fork();
        if (pid == 0) {
            close(begun[0]);
            record_and_churn(begun[1]);
        }
        close(begun[1]);
        if (i % 3) /* the others may be killed before they wrote anything */
            assert_int_equal(read(begun[0], &none, 1), 0);
        close(begun[0]);
        usleep(5000 + (unsigned)rand() % 60000);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        assert_true(WIFSIGNALED(status));
        expect_sound_file(i);
    }
    assert_int_equal(tracer_file_finish(host_db), TRACER_OK);
    assert_int_equal(host_ask("SELECT count(*) FROM run WHERE state <> 'interrupted'").integer, 0);
    assert_true(host_ask("SELECT count(*) FROM run").integer > (HOST_SANITIZED ? 0 : 30));
}

static int begin_faulty(void **state)
{
    static bool inserted;

    if (!inserted)
        insert_faulty_layer();
    inserted = true;
    return host_begin(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(allocations_fail, host_begin, host_end),
        cmocka_unit_test_setup_teardown(killed_at_any_moment, host_begin, host_end),
        cmocka_unit_test_setup_teardown(marks_survive_a_full_disk, begin_faulty, host_end),
        cmocka_unit_test_setup_teardown(a_sample_lost_before_the_end_is_told, begin_faulty,
                                        host_end),
        cmocka_unit_test_setup_teardown(file_calls_fail_once, begin_faulty, host_end),
        cmocka_unit_test_setup_teardown(file_calls_fail_for_good, begin_faulty, host_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
