/* SPDX-License-Identifier: MIT */
/* Description: our copy of the index of a log, call by call. The right content is what the test
 * reads and writes through a mapping of the file, as another program's SQLite does: after each lock
 * and barrier ours has what is there, before a lock is given back the file has what is ours. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "record/vfs.h"
#include "support/folder.h"

#define BYTES 32768
#define REGIONS 2
#define WRITER 0 /* numbers of locks; their bytes in the file begin at 120 */
#define READER 3
#define FIRST_LOCK 120
#define BROUGHT 96  /* how many pages are in the database, 4 bytes */
#define MARK 104    /* bytes: a reader's, 4 */
#define COUNTED 108 /* another's */
#define NUMBER 300  /* a page number of the first region, 4 */
#define HASH 30000  /* and its hash, 2 */

static sqlite3_file *file;
static volatile char *ours[REGIONS], *theirs;
static char path[200], index_path[210];

static int open_index(void **state)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(mt_vfs_name());
    const int how = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_DB;
    int fd, rc = SQLITE_OK;

    (void)state;
    if (folder_make())
        return -1;
    snprintf(path, sizeof(path), "%s/x.db", folder);
    snprintf(index_path, sizeof(index_path), "%s-shm", path);
    file = calloc(1, (size_t)vfs->szOsFile);
    if (!file || vfs->xOpen(vfs, path, file, how, NULL))
        return -1;
    for (int i = 0; i < REGIONS && rc == SQLITE_OK; i++)
        rc = file->pMethods->xShmMap(file, i, BYTES, 1, (void volatile **)&ours[i]);
    fd = open(index_path, O_RDWR);
    theirs = mmap(NULL, (size_t)REGIONS * BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return rc || theirs == MAP_FAILED;
}

static int close_index(void **state)
{
    (void)state;
    munmap((void *)(uintptr_t)theirs, (size_t)REGIONS * BYTES);
    file->pMethods->xShmUnmap(file, 1);
    file->pMethods->xClose(file);
    free(file);
    return folder_remove();
}

static int lock(int first, int how)
{
    return file->pMethods->xShmLock(file, first, 1, how | SQLITE_SHM_LOCK);
}

static void unlock(int first, int how)
{
    assert_int_equal(file->pMethods->xShmLock(file, first, 1, how | SQLITE_SHM_UNLOCK), SQLITE_OK);
}

static void barrier(void)
{
    file->pMethods->xShmBarrier(file);
}

static void new_head(volatile char *index, char value)
{
    index[12] = index[48 + 12] = 1;
    index[16] = index[48 + 16] = value;
}

/* ---- theirs to ours ---- */

static bool is_torn;

ssize_t __real_pread64(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at);

/* Another program writes a head, and brings it into the database, in the midst of a read. */
ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at)
{
    ssize_t half;

    if (!is_torn)
        return __real_pread64(fd, to, n, at);
    is_torn = false;
    half = __real_pread64(fd, to, n / 2, at);
    new_head(theirs, 9);
    theirs[BROUGHT] = 9;
    return half + __real_pread64(fd, (char *)to + half, n - (size_t)half, at + half);
}

/* With an old head and a new mark SQLite would look for pages in a database that is ahead. */
static void head_and_marks_are_of_one_moment(void **state)
{
    (void)state;
    new_head(theirs, 5);
    theirs[BROUGHT] = 5;
    barrier();
    is_torn = true;
    assert_int_equal(lock(READER, SQLITE_SHM_SHARED), SQLITE_OK);
    if (is_torn)
        skip(); /* a C library that reads by another name */
    assert_int_equal(ours[0][16], ours[0][BROUGHT]);
    assert_int_equal(ours[0][16], ours[0][48 + 16]);
    unlock(READER, SQLITE_SHM_SHARED);
}

static void a_new_head_brings_all(void **state)
{
    (void)state;
    theirs[HASH] = theirs[BYTES + HASH] = 1;
    new_head(theirs, 1);
    barrier();
    assert_int_equal(ours[0][16], 1);
    assert_int_equal(ours[0][HASH] + ours[1][HASH], 2);
    theirs[HASH] = 2;
    new_head(theirs, 2);
    assert_int_equal(lock(READER, SQLITE_SHM_SHARED), SQLITE_OK);
    assert_int_equal(ours[0][48 + 16] + ours[0][HASH], 4);
    unlock(READER, SQLITE_SHM_SHARED);
}

static void marks_come_alone(void **state)
{
    (void)state;
    theirs[MARK] = 7;
    barrier();
    assert_int_equal(ours[0][MARK], 7);
    theirs[MARK] = 8;
    assert_int_equal(lock(READER, SQLITE_SHM_SHARED), SQLITE_OK);
    assert_int_equal(ours[0][MARK], 8);
    unlock(READER, SQLITE_SHM_SHARED);
}

/* What an ended writer had begun, or one that rolled back, stands behind the end that the head
 * tells, and is gone when the next head is there; but where a region begins SQLite empties it. */
static void what_a_writer_left_does_not_stay(void **state)
{
    const uint32_t last[] = {1, 4061, 4063, 5000};
    const int next[] = {140, 16380, BYTES + 4, BYTES + 4 * 938};
    const int hash[] = {HASH, HASH + 2, BYTES + HASH, BYTES + HASH + 2};

    (void)state;
    for (int i = 0; i < 4; i++) {
        volatile uint16_t *slot = (volatile uint16_t *)&theirs[hash[i]];

        new_head(theirs, 1);
        *(volatile uint32_t *)&theirs[16] = *(volatile uint32_t *)&theirs[48 + 16] = last[i];
        barrier();
        theirs[next[i]] = i % 2; /* with a page number, and without one */
        *slot = 4080;
        assert_int_equal(lock(WRITER, SQLITE_SHM_EXCLUSIVE), SQLITE_OK);
        assert_int_equal(*(volatile uint16_t *)&ours[hash[i] / BYTES][hash[i] % BYTES], 0);
        new_head(ours[0], (char)(i + 70));
        unlock(WRITER, SQLITE_SHM_EXCLUSIVE);
        assert_int_equal(*slot + theirs[next[i]], 0);
    }
}

/* Of pages that no head spoke of, as after a rollback, nothing stays in our copy. */
static void what_was_rolled_back_does_not_stay(void **state)
{
    (void)state;
    new_head(theirs, 1);
    assert_int_equal(lock(WRITER, SQLITE_SHM_EXCLUSIVE), SQLITE_OK);
    ours[0][HASH] = ours[1][HASH] = 9;
    unlock(WRITER, SQLITE_SHM_EXCLUSIVE);
    assert_int_equal(theirs[HASH] + theirs[BYTES + HASH], 0);
    new_head(theirs, 2);
    barrier();
    assert_int_equal(ours[0][HASH] + ours[1][HASH], 0);
}

/* Who waits for a lock looks again when it was refused. */
static void a_refused_lock_brings_the_head(void **state)
{
    int ready[2], end[2], status;
    char c = 0;
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ready) | pipe(end), 0);
    child = fork();
    if (child == 0) {
        struct flock l = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = FIRST_LOCK, .l_len = 1};
        int fd = open(index_path, O_RDWR);

        close(end[1]);
        c = (char)fcntl(fd, F_SETLK, &l);
        _exit(write(ready[1], &c, 1) != 1 || read(end[0], &c, 1) != 0);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(c, 0);
    new_head(theirs, 5);
    assert_int_equal(lock(WRITER, SQLITE_SHM_EXCLUSIVE), SQLITE_BUSY);
    assert_int_equal(ours[0][16], 5);
    close(end[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(end[0]);
    close(ready[0]);
    close(ready[1]);
}

/* ---- ours to theirs ---- */

static void what_is_ours_is_there_before_the_lock_is_not(void **state)
{
    (void)state;
    assert_int_equal(lock(WRITER, SQLITE_SHM_EXCLUSIVE), SQLITE_OK);
    ours[0][NUMBER] = ours[0][HASH] = ours[1][0] = ours[1][BYTES - 1] = 4;
    ours[0][48 + 16] = 4;
    barrier(); /* between the second copy of the head and the first */
    assert_int_equal(theirs[NUMBER] + theirs[HASH] + theirs[BYTES] + theirs[2 * BYTES - 1], 16);
    assert_int_equal(theirs[48 + 16], 4);
    assert_int_equal(theirs[16], 0);
    ours[0][16] = 4;
    unlock(WRITER, SQLITE_SHM_EXCLUSIVE);
    assert_int_equal(theirs[16], 4);
}

/* A reader sets its mark while we write; both are right. */
static void what_others_change_meanwhile_stays(void **state)
{
    (void)state;
    assert_int_equal(lock(WRITER, SQLITE_SHM_EXCLUSIVE), SQLITE_OK);
    new_head(ours[0], 6);
    ours[0][COUNTED] = 6;
    ours[0][NUMBER] = 6;
    theirs[MARK] = 9;
    barrier();
    assert_int_equal(theirs[MARK], 9);
    assert_int_equal(lock(READER, SQLITE_SHM_SHARED), SQLITE_OK);
    assert_int_equal(ours[0][MARK], 9);
    unlock(READER, SQLITE_SHM_SHARED);
    assert_int_equal(theirs[COUNTED] + ours[0][COUNTED] + theirs[16] + theirs[NUMBER], 24);
    unlock(WRITER, SQLITE_SHM_EXCLUSIVE);
    assert_int_equal(theirs[MARK], 9);
}

/* Its head is void, so that SQLite makes the index anew; what is being read goes on by our copy. */
static void a_file_cut_short_is_made_anew(void **state)
{
    const off_t lengths[] = {0, 3, 130, 4096, BYTES, BYTES + 5000};
    struct stat s;

    (void)state;
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        assert_int_equal(lock(WRITER, SQLITE_SHM_EXCLUSIVE), SQLITE_OK);
        new_head(ours[0], 2);
        ours[0][NUMBER] = ours[1][HASH] = 2;
        unlock(WRITER, SQLITE_SHM_EXCLUSIVE);
        assert_int_equal(theirs[12] + theirs[48 + 12], 2);
        assert_int_equal(truncate(index_path, lengths[i]), 0);
        assert_int_equal(lock(WRITER, SQLITE_SHM_EXCLUSIVE), SQLITE_OK);
        assert_int_equal(ours[0][12] + ours[0][48 + 12], 0);
        assert_int_equal(ours[0][NUMBER] + ours[1][HASH], 4);
        unlock(WRITER, SQLITE_SHM_EXCLUSIVE);
        assert_int_equal(stat(index_path, &s), 0);
        assert_int_equal(s.st_size, REGIONS * BYTES);
        assert_int_equal(theirs[12] + theirs[48 + 12], 0);
        assert_int_equal(theirs[NUMBER] + theirs[BYTES + HASH], 4);
    }
}

/* As long as it may write, what is ours is right. */
static void what_a_writer_finds_changed_is_written_anew(void **state)
{
    (void)state;
    assert_int_equal(lock(WRITER, SQLITE_SHM_EXCLUSIVE), SQLITE_OK);
    new_head(ours[0], 2);
    ours[0][NUMBER] = ours[1][HASH] = 2;
    barrier();
    assert_int_equal(truncate(index_path, 0), 0);
    barrier();
    assert_int_equal(ours[0][12] + ours[0][NUMBER] + ours[1][HASH],
                     5); /* and does not hang on it */
    new_head(ours[0], 3);
    barrier();
    assert_int_equal(theirs[12] + theirs[NUMBER] + theirs[BYTES + HASH], 5);
    assert_int_equal(truncate(index_path, 4096) | truncate(index_path, REGIONS * BYTES), 0);
    new_head(ours[0], 4);
    unlock(WRITER, SQLITE_SHM_EXCLUSIVE);
    assert_int_equal(theirs[12] + theirs[NUMBER] + theirs[BYTES + HASH], 5);
}

static void an_old_head_is_not_believed(void **state)
{
    (void)state;
    new_head(theirs, 5);
    barrier();
    theirs[NUMBER] = 1;
    new_head(theirs, 4);
    barrier();
    assert_int_equal(ours[0][12] + ours[0][48 + 12] + ours[0][NUMBER], 0);
}

/* A limit lets the page numbers be written, but not the hashes. */
static void a_head_waits_for_what_it_speaks_of(void **state)
{
    struct rlimit was, small;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = (struct rlimit){.rlim_cur = HASH - 1000, .rlim_max = was.rlim_max};
    assert_int_equal(lock(WRITER, SQLITE_SHM_EXCLUSIVE), SQLITE_OK);
    new_head(ours[0], 2);
    ours[0][NUMBER] = ours[0][HASH] = 2;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    unlock(WRITER, SQLITE_SHM_EXCLUSIVE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(theirs[12] + theirs[48 + 12], 0);
    assert_int_equal(theirs[NUMBER], 2); /* by which the next writer knows of hashes */
    assert_int_equal(lock(READER, SQLITE_SHM_SHARED), SQLITE_IOERR_SHMLOCK); /* is told … */
    assert_int_equal(lock(WRITER, SQLITE_SHM_EXCLUSIVE), SQLITE_OK);         /* … and got over */
    assert_int_equal(ours[0][12], 0);
    new_head(ours[0], 2);
    unlock(WRITER, SQLITE_SHM_EXCLUSIVE);
    assert_int_equal(theirs[12] + theirs[HASH], 3);
}

int main(void)
{
#define INDEX(f) cmocka_unit_test_setup_teardown(f, open_index, close_index)
    const struct CMUnitTest tests[] = {
        INDEX(a_new_head_brings_all),
        INDEX(marks_come_alone),
        INDEX(head_and_marks_are_of_one_moment),
        INDEX(what_a_writer_left_does_not_stay),
        INDEX(what_was_rolled_back_does_not_stay),
        INDEX(a_refused_lock_brings_the_head),
        INDEX(what_is_ours_is_there_before_the_lock_is_not),
        INDEX(what_others_change_meanwhile_stays),
        INDEX(a_file_cut_short_is_made_anew),
        INDEX(what_a_writer_finds_changed_is_written_anew),
        INDEX(an_old_head_is_not_believed),
        INDEX(a_head_waits_for_what_it_speaks_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
