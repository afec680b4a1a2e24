/* SPDX-License-Identifier: MIT */
/* Description: full disks, quotas, foreign hands on the file, locks that fail, clocks that jump:
 * the recorder says so and goes on. The id in a name is the case of the case log. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memtracer/reader.h"
#include "record/vfs.h"
#include "support/recorded.h"

/* ---- a file layer whose writes and locks fail while `write_fault` and `lock_fault` say so ---- */

static sqlite3_vfs layer, *beneath;
static sqlite3_io_methods methods;
static const sqlite3_io_methods *real;
static int write_fault, lock_fault;
static bool no_shm;

static int layer_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    return write_fault ? write_fault : real->xWrite(f, from, n, at);
}

static int layer_lock(sqlite3_file *f, int level)
{
    return lock_fault ? lock_fault : real->xLock(f, level);
}

static int layer_shm_map(sqlite3_file *f, int region, int n, int extend, void volatile **out)
{
    return no_shm ? SQLITE_IOERR_SHMOPEN : real->xShmMap(f, region, n, extend, out);
}

static int layer_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    int rc = beneath->xOpen(beneath, name, f, flags, out);

    (void)vfs;
    if (rc)
        return rc;
    real = f->pMethods;
    methods = *real;
    methods.xWrite = layer_write;
    methods.xLock = layer_lock;
    methods.xShmMap = layer_shm_map;
    f->pMethods = &methods;
    return SQLITE_OK;
}

static void plug_in(void)
{
    write_fault = lock_fault = SQLITE_OK;
    no_shm = false;
    if (beneath)
        return;
    beneath = sqlite3_vfs_find(mt_vfs_name());
    layer = *beneath;
    layer.pNext = NULL;
    layer.xOpen = layer_open;
    assert_int_equal(sqlite3_vfs_register(&layer, 0), SQLITE_OK);
}

static void fails_then_goes_on(const char *word)
{
    for (int i = 2; i < 50; i++) {
        assert_int_equal(one(i), TRACER_EDB);
        assert_non_null(strstr(mt_error_detail(), word));
    }
    write_fault = lock_fault = SQLITE_OK;
    assert_int_equal(one(50), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    sound();
    assert_int_equal(number("SELECT group_concat(ws, '') FROM level"), 150);
}

static void D10_full_disk_and_quota_end_when_there_is_room(void **state)
{
    (void)state;
    plug_in();
    opened();
    assert_int_equal(one(1), 0);
    write_fault = SQLITE_FULL; /* ENOSPC and EDQUOT alike, see posix/vfs.c */
    fails_then_goes_on("no space left");
}

/* A tmpfs of 1 MiB that fills up for real; without the right to mount: skipped. */
static void D10_a_small_disk_fills_up_and_is_emptied(void **state)
{
    char filler[160];
    int fd, error = 0;

    (void)state;
    if (mount("none", folder, "tmpfs", 0, "size=1m"))
        skip();
    opened();
    assert_int_equal(one(1), 0);
    snprintf(filler, sizeof(filler), "%s/filler", folder);
    fd = open(filler, O_CREAT | O_WRONLY, 0600);
    while (write(fd, facts.os, sizeof(facts.os)) > 0)
        ;
    close(fd);
    for (int i = 2; i < 1000 && !error; i++)
        error = one(i);
    assert_int_equal(error, TRACER_EDB);
    assert_non_null(strstr(mt_error_detail(), "no space left"));
    unlink(filler);
    assert_int_equal(one(4711), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    sound();
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'heap'"), 4711);
    assert_int_equal(umount(folder), 0);
}

/* The file system becomes read-only and writable again. */
static void D10_a_read_only_remount_is_survived(void **state)
{
    (void)state;
    if (mount("none", folder, "tmpfs", 0, "size=4m"))
        skip();
    plug_in();
    opened();
    assert_int_equal(one(1), 0);
    write_fault = SQLITE_READONLY; /* open descriptors keep a real one from happening */
    fails_then_goes_on("cannot be written");
    assert_int_equal(umount(folder), 0);
}

static void D05_locks_that_fail_are_told_and_wal_is_not_taken_for_granted(void **state)
{
    (void)state;
    plug_in();
    no_shm = true; /* a file system that has no shared memory: no WAL */
    opened();
    assert_int_equal(one(1), 0);
    assert_int_equal(number("SELECT count(*) FROM pragma_journal_mode WHERE "
                            "journal_mode = 'delete'"),
                     1);
    lock_fault = SQLITE_IOERR_LOCK;
    fails_then_goes_on("disk or file system failed");
}

static void D19_a_replaced_file_is_noticed_and_left_alone(void **state)
{
    char other[160];
    struct stat before, after;

    (void)state;
    opened();
    assert_int_equal(one(1), 0);
    snprintf(other, sizeof(other), "%s/b", folder);
    write_text(other, "of somebody else", 16);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(one(2), TRACER_EDB);
    assert_non_null(strstr(mt_error_detail(), "deleted or moved"));
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), TRACER_EDB);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, 16);
    assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
}

/* The log of a recording that was moved away lies beside a new file: it is not taken for its own.
 */
static void D19_an_orphan_log_is_not_applied_to_a_fresh_file(void **state)
{
    char away[160];
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        if (open_recorder())
            _exit(1);
        for (int i = 1; i < 10; i++)
            one(i);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    snprintf(away, sizeof(away), "%s/away", folder);
    assert_int_equal(rename(path, away), 0);
    opened();
    assert_int_equal(one(4711), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    sound();
    assert_int_equal(number("SELECT count(*) FROM run"), 1);
    assert_int_equal(number("SELECT sum(ws) FROM level"), 4711);
}

/* Another program writes rows of its own between ours. */
static void D04_another_writer_in_the_file_is_waited_for(void **state)
{
    sqlite3 *shell;

    (void)state;
    opened();
    assert_int_equal(sqlite3_open(path, &shell), 0);
    for (int i = 1; i <= 20; i++) {
        assert_int_equal(one(i), 0);
        sqlite3_busy_timeout(shell, 2000);
        assert_int_equal(sqlite3_exec(shell,
                                      "CREATE TABLE IF NOT EXISTS note(x);"
                                      "INSERT INTO note VALUES (1)",
                                      0, 0, 0),
                         0);
    }
    sqlite3_close(shell);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    sound();
    assert_int_equal(number("SELECT (SELECT count(*) FROM note) * 100 + count(*) FROM level"),
                     2020);
}

/* What another container would see: a run of a pid that is dead here, held by a live recorder. */
static void D07_a_lock_says_that_it_is_recorded_whatever_pid_and_clock_say(void **state)
{
    struct mt_recorder *first;

    (void)state;
    opened();
    first = recorder;
    number("UPDATE run SET recorder_pid = 999999999, host = 'elsewhere', recorder_start_ns = 5");
    assert_int_equal(open_recorder(), TRACER_ESTATE);
    assert_non_null(strstr(mt_error_detail(), "being recorded"));
    recorder = first;
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    number("UPDATE run SET state = 'recording', recorder_pid = 1, recorder_start_ns = NULL");
    opened(); /* pid 1 lives, but holds no lock: it does not record */
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
}

/* Closing the file elsewhere in the process must not drop our locks. */
static void D07_a_host_that_reads_the_file_does_not_unlock_it(void **state)
{
    int status, fd;
    pid_t child;

    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, 1);
    assert_int_equal(tick(), 0); /* a transaction is open */
    fd = open(path, O_RDONLY);
    close(fd);
    child = fork();
    if (child == 0) {
        sqlite3 *db;
        int rc = sqlite3_open(path, &db);

        rc = rc ? rc : sqlite3_exec(db, "UPDATE run SET label = 'x'", 0, 0, 0);
        _exit(rc == SQLITE_BUSY ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
}

static void two_recorders_of_two_processes_do_not_share_a_file(void **state)
{
    int status;
    pid_t child;

    (void)state;
    opened();
    assert_int_equal(one(1), 0);
    child = fork();
    if (child == 0)
        _exit(open_recorder() == TRACER_ESTATE ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT count(*) FROM run"), 1);
}

/* The wall clock goes back by a day: order and durations are those of the monotonic one. */
static void a_wall_clock_that_goes_back_changes_no_order(void **state)
{
    (void)state;
    opened();
    assert_int_equal(one(1), 0);
    sample.wall_ns -= INT64_C(86400) * 1000000000;
    assert_int_equal(one(2), 0);
    assert_int_equal(one(3), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT group_concat(ws, '') FROM (SELECT ws FROM memory "
                            "WHERE type = 'heap' ORDER BY t_s)"),
                     123);
}

static void D14_the_file_gives_pages_back_from_its_creation_on(void **state)
{
    (void)state;
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("PRAGMA auto_vacuum"), 2);
}

static void D21_any_bytes_but_nul_are_a_path(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "%s/caf\xe9 \xc3\xa9 '%%;.db", folder);
    opened();
    assert_int_equal(one(5), 0);
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(number("SELECT ws FROM vmmap WHERE type = 'heap'"), 5);
}

static int setup_sound(void **state)
{
    write_fault = lock_fault = SQLITE_OK;
    no_shm = false;
    return setup(state);
}

int main(void)
{
#define SOUND(f) cmocka_unit_test_setup_teardown(f, setup_sound, teardown)
    const struct CMUnitTest tests[] = {
        SOUND(D10_full_disk_and_quota_end_when_there_is_room),
        SOUND(D10_a_small_disk_fills_up_and_is_emptied),
        SOUND(D10_a_read_only_remount_is_survived),
        SOUND(D05_locks_that_fail_are_told_and_wal_is_not_taken_for_granted),
        SOUND(D19_a_replaced_file_is_noticed_and_left_alone),
        SOUND(D19_an_orphan_log_is_not_applied_to_a_fresh_file),
        SOUND(D04_another_writer_in_the_file_is_waited_for),
        SOUND(D07_a_lock_says_that_it_is_recorded_whatever_pid_and_clock_say),
        SOUND(D07_a_host_that_reads_the_file_does_not_unlock_it),
        SOUND(two_recorders_of_two_processes_do_not_share_a_file),
        SOUND(a_wall_clock_that_goes_back_changes_no_order),
        SOUND(D14_the_file_gives_pages_back_from_its_creation_on),
        SOUND(D21_any_bytes_but_nul_are_a_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
