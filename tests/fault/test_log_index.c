/* SPDX-License-Identifier: MIT */
/* Description: the index of the log (-shm) is shared with programs that use SQLite's own file
 * layer, which maps it; ours does not. Money is moved between accounts by both, with checkpoints of
 * every kind and writers that are killed: the sum is 0 in every snapshot, nothing that was
 * committed is missing. And the file may be cut short, also in the midst of a transaction, its head
 * overwritten, an old one put back: no signal, nothing lost. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "record/vfs.h"
#include "support/folder.h"

#define N_ACCOUNTS 400 /* some 40 pages, more than SQLite may cache here */
#define N_MOVES 20
#define N_OURS 500
#define N_CUTS 300

static char path[200], index_path[210], end_path[200];

/* ---- the bank ---- */

static void run(sqlite3 *db, const char *sql)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

    if (rc != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static int64_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *q = NULL;
    int64_t value = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW)
        value = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return value;
}

static sqlite3 *open_by(const char *layer)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, layer),
                     SQLITE_OK);
    sqlite3_busy_timeout(db, 20000);
    run(db, "PRAGMA journal_mode = WAL; PRAGMA cache_size = 10; PRAGMA temp_store = MEMORY; PRAGMA "
            "synchronous = OFF");
    return db;
}

/* Amounts go from some accounts to others, all at once. */
static int move(sqlite3 *db, int who, unsigned *random)
{
    char sql[200];
    int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

    for (int i = 0; i < 2 * N_MOVES && rc == SQLITE_OK; i++) {
        *random = *random * 1103515245u + 12345u;
        snprintf(sql, sizeof(sql), "UPDATE account SET v = v %c 7 WHERE id = %u", i % 2 ? '+' : '-',
                 *random / 65536 % N_ACCOUNTS + 1);
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    snprintf(sql, sizeof(sql), "UPDATE done SET n = n + 1 WHERE who = %d; COMMIT", who);
    rc = rc ? rc : sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (rc)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* Twice in one snapshot. */
static bool adds_up(sqlite3 *db)
{
    static const char sum[] = "SELECT sum(v) FROM account", done[] = "SELECT sum(n) FROM done";
    bool is_right;
    int64_t before;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL))
        return false;
    before = number(db, done);
    is_right = number(db, sum) == 0 && number(db, sum) == 0 && number(db, done) == before;
    return !sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) && is_right;
}

/* ---- others, with SQLite's own layer ---- */

static bool is_over(void)
{
    return access(end_path, F_OK) == 0;
}

static int reader(int who)
{
    sqlite3 *db = open_by("unix");

    (void)who;
    while (!is_over())
        if (!adds_up(db))
            return 1;
    return sqlite3_close(db);
}

/* Tells by its exit code whether the file has all that it committed. */
static int writer(int who)
{
    sqlite3 *db = open_by("unix");
    unsigned random = (unsigned)who;
    int64_t n = 0;
    char sql[100];

    for (; !is_over() || n == 0; n++) {
        if (move(db, who, &random) || !adds_up(db))
            return 1;
    }
    snprintf(sql, sizeof(sql), "SELECT n FROM done WHERE who = %d", who);
    return number(db, sql) == n ? sqlite3_close(db) : 2;
}

static pid_t begin_other(int (*work)(int), int who)
{
    pid_t child = fork();

    if (child == 0)
        _exit(work(who));
    assert_true(child > 0);
    return child;
}

static void assert_ended_well(pid_t child)
{
    int status = -1;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* In the midst of a transaction, mostly: its pages are in the log and the index already. */
static void kill_a_writer(void)
{
    pid_t child = begin_other(writer, 4);

    usleep(5000);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* ---- ours ---- */

static void checkpoint(sqlite3 *db, int n)
{
    const int modes[] = {SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_FULL,
                         SQLITE_CHECKPOINT_RESTART, SQLITE_CHECKPOINT_TRUNCATE};
    int rc = sqlite3_wal_checkpoint_v2(db, NULL, modes[n % 4], NULL, NULL);

    assert_true(rc == SQLITE_OK || rc == SQLITE_BUSY);
}

static void all_agree_with_those_that_map_it(void **state)
{
    pid_t others[3];
    unsigned random = 1;
    sqlite3 *db = open_by(mt_vfs_name());

    (void)state;
    others[0] = begin_other(reader, 0);
    others[1] = begin_other(reader, 0);
    others[2] = begin_other(writer, 2);
    for (int i = 0; i < N_OURS; i++) {
        assert_int_equal(move(db, 1, &random), SQLITE_OK);
        assert_true(adds_up(db));
        if (i % 10 == 0)
            checkpoint(db, i / 10);
        if (i % 25 == 0)
            kill_a_writer();
    }
    fclose(fopen(end_path, "w"));
    for (int i = 0; i < 3; i++)
        assert_ended_well(others[i]);
    assert_int_equal(number(db, "SELECT n FROM done WHERE who = 1"), N_OURS);
    sqlite3_close(db);
}

/* The head, which has a checksum: more than that SQLite itself would take for true. */
static void overwrite(int i)
{
    const char noise[] = "what a backup of another day has in this place, or a clumsy script";
    FILE *f = fopen(index_path, "r+");

    assert_non_null(f);
    fseek(f, i % 25, SEEK_SET);
    fwrite(noise, 1, sizeof(noise), f);
    fclose(f);
}

static void D03_it_may_be_cut_short(void **state)
{
    const off_t lengths[] = {0, 1, 100, 4096, 20000};
    sqlite3 *db = open_by(mt_vfs_name()), *other;
    unsigned random = 1;

    (void)state;
    for (int i = 0; i < N_CUTS; i++) {
        assert_int_equal(move(db, 1, &random), SQLITE_OK);
        if (i % 3 == 2)
            overwrite(i);
        else
            assert_int_equal(truncate(index_path, lengths[i % 5]), 0);
        assert_true(adds_up(db));
        if (i % 20 == 0)
            checkpoint(db, i / 20);
    }
    assert_true(adds_up(db));
    other = open_by("unix"); /* and one that comes now finds a whole one */
    assert_true(adds_up(other));
    assert_int_equal(number(other, "SELECT n FROM done WHERE who = 1"), N_CUTS);
    sqlite3_close(other);
    sqlite3_close(db);
}

/* What a cut leaves; or a tool that empties a file and fills it again. */
static void damage(unsigned i)
{
    const off_t lengths[] = {0, 100, 4096, 20000};

    assert_int_equal(truncate(index_path, lengths[i / 2 % 4]), 0);
    if (i % 2)
        assert_int_equal(truncate(index_path, 65536), 0);
}

static void D03_it_may_be_cut_short_in_the_midst(void **state)
{
    sqlite3 *db = open_by(mt_vfs_name());
    unsigned random = 1;

    (void)state;
    for (unsigned i = 0; i < N_CUTS; i++) {
        assert_int_equal(move(db, 1, &random), SQLITE_OK);
        run(db, "BEGIN IMMEDIATE; UPDATE account SET v = v + 5 WHERE id % 7 = 1");
        damage(i);
        run(db, "UPDATE account SET v = v - 5 WHERE id % 7 = 1");
        run(db, i % 5 ? "COMMIT" : "ROLLBACK");
        assert_true(adds_up(db));
        if (i % 20 == 0)
            checkpoint(db, (int)i / 20);
    }
    assert_int_equal(number(db, "SELECT n FROM done WHERE who = 1"), N_CUTS);
    sqlite3_close(db);
}

static void copy(const char *from, const char *to)
{
    static char bytes[1 << 20];
    FILE *in = fopen(from, "r"), *out = fopen(to, "r+");
    size_t n;

    if (!out)
        out = fopen(to, "w");
    assert_non_null(in);
    assert_non_null(out);
    n = fread(bytes, 1, sizeof(bytes), in);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    fclose(out);
}

/* A backup that is put back. */
static void an_old_one_takes_no_commit_away(void **state)
{
    sqlite3 *db = open_by(mt_vfs_name());
    unsigned random = 1;
    char backup[220];

    (void)state;
    snprintf(backup, sizeof(backup), "%s.old", index_path);
    for (int i = 0; i < N_CUTS; i += 2) {
        assert_int_equal(move(db, 1, &random), SQLITE_OK);
        copy(index_path, backup);
        assert_int_equal(move(db, 1, &random), SQLITE_OK);
        copy(backup, index_path);
        assert_true(adds_up(db));
    }
    assert_int_equal(number(db, "SELECT n FROM done WHERE who = 1"), N_CUTS);
    sqlite3_close(db);
}

static int is_cut(sqlite3 *db)
{
    int cut = -1;

    sqlite3_file_control(db, "main", MT_VFS_IS_CUT, &cut);
    return cut;
}

/* A file that others make smaller, and that grows in the log, was not cut. */
static void what_others_write_is_no_cut(void **state)
{
    sqlite3 *db = open_by(mt_vfs_name()), *other = open_by("unix");
    unsigned random = 1;

    (void)state;
    assert_int_equal(move(db, 1, &random), SQLITE_OK);
    checkpoint(db, 0);
    assert_int_equal(is_cut(db), 0);
    run(other, "UPDATE account SET v = 0; DELETE FROM account WHERE id > 50; VACUUM");
    checkpoint(other, 3);
    run(other, "INSERT INTO account SELECT id + 100, 0, pad FROM account");
    assert_int_equal(is_cut(db), 0);
    assert_true(adds_up(db));
    assert_int_equal(is_cut(db), 0);
    run(db, "DELETE FROM account WHERE id > 40; VACUUM");
    assert_int_equal(is_cut(db), 0);
    checkpoint(other, 0);
    run(db, "INSERT INTO account SELECT id + 100, 0, pad FROM account");
    assert_int_equal(is_cut(db), 0);
    sqlite3_close(other);
    sqlite3_close(db);
}

static void D03_nothing_of_it_is_mapped(void **state)
{
    sqlite3 *db = open_by(mt_vfs_name());
    unsigned random = 1;
    char line[512];
    FILE *maps;

    (void)state;
    assert_int_equal(move(db, 1, &random), SQLITE_OK);
    maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        assert_null(strstr(line, folder));
    if (maps)
        fclose(maps);
    sqlite3_close(db);
}

static int setup(void **state)
{
    sqlite3 *db;

    (void)state;
    if (folder_make())
        return -1;
    snprintf(path, sizeof(path), "%s/bank.db", folder);
    snprintf(index_path, sizeof(index_path), "%s-shm", path);
    snprintf(end_path, sizeof(end_path), "%s/end", folder);
    db = open_by("unix");
    run(db, "CREATE TABLE account(id INTEGER PRIMARY KEY, v INTEGER, pad TEXT);"
            "CREATE TABLE done(who INTEGER PRIMARY KEY, n INTEGER);"
            "INSERT INTO done VALUES (1, 0), (2, 0), (3, 0), (4, 0);"
            "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) "
            "INSERT INTO account SELECT i, 0, hex(randomblob(200)) FROM n");
    return sqlite3_close(db);
}

static int teardown(void **state)
{
    sqlite3 *db = open_by("unix");
    sqlite3_stmt *q = NULL;
    bool sound;

    (void)state;
    sound = sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &q, NULL) == SQLITE_OK &&
            sqlite3_step(q) == SQLITE_ROW && !strcmp((const char *)sqlite3_column_text(q, 0), "ok");
    sqlite3_finalize(q);
    sound = sound && adds_up(db) && sqlite3_close(db) == SQLITE_OK;
    return folder_remove() || !sound;
}

int main(void)
{
#define BANK(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        BANK(all_agree_with_those_that_map_it),     BANK(D03_it_may_be_cut_short),
        BANK(D03_it_may_be_cut_short_in_the_midst), BANK(an_old_one_takes_no_commit_away),
        BANK(what_others_write_is_no_cut),          BANK(D03_nothing_of_it_is_mapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
