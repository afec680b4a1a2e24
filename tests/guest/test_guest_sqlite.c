/* SPDX-License-Identifier: MIT */
/* Description: a host that uses SQLite itself, the library's copy or another one, and sets it as it
 * likes. What it wrote is as it wrote it, so is the recording, and after the stop nothing of ours
 * is left in SQLite. A SQLite without mutexes is refused: two threads would share it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sqlite3.h>

#include "guest.h"

#define N_ROUNDS 200

/* ---- the copy that the library uses ---- */

static int64_t number_in(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *q = NULL;
    int64_t value = -1;

    CHECK(sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK);
    if (sqlite3_step(q) == SQLITE_ROW)
        value = sqlite3_column_int64(q, 0);
    CHECK(sqlite3_finalize(q) == SQLITE_OK);
    return value;
}

/* A table of the host's own, as two of its threads fill it at once. */
static void *fill(void *own)
{
    sqlite3 *db = own;

    for (int i = 0; i < N_ROUNDS; i++)
        CHECK(sqlite3_exec(db, "INSERT INTO t VALUES (1)", NULL, NULL, NULL) == SQLITE_OK);
    return NULL;
}

static void work_beside(tracer *t)
{
    pthread_t other;
    sqlite3 *db;

    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "CREATE TABLE t(n)", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(pthread_create(&other, NULL, fill, db) == 0);
    fill(db);
    CHECK(pthread_join(other, NULL) == 0);
    guest_wait_ticks(t, 10);
    CHECK(number_in(db, "SELECT sum(n) FROM t") == INT64_C(2) * N_ROUNDS);
    CHECK(sqlite3_close(db) == SQLITE_OK);
}

/* sqlite3_config() is refused while SQLite is in use, sqlite3_shutdown() does not look. */
static int host_that_sets_sqlite(void)
{
    static const int modes[] = {SQLITE_CONFIG_SERIALIZED, SQLITE_CONFIG_MULTITHREAD,
                                SQLITE_CONFIG_SERIALIZED};

    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        int64_t usual;
        tracer *t;

        CHECK(sqlite3_shutdown() == SQLITE_OK);
        CHECK(sqlite3_config(modes[i]) == SQLITE_OK && sqlite3_initialize() == SQLITE_OK);
        usual = sqlite3_memory_used();
        t = guest_start(1);
        if (modes[i] == SQLITE_CONFIG_SERIALIZED)
            work_beside(t);
        guest_wait_ticks(t, 10);
        CHECK(tracer_stop(t) == TRACER_OK);
        CHECK(sqlite3_memory_used() == usual);
        CHECK(guest_number(host_db, "SELECT count(*) FROM run WHERE state = 'stopped'") == i + 1);
    }
    return 0;
}

static void D15_a_host_sets_sqlite_before_and_after(void **state)
{
    (void)state;
    guest_run(host_that_sets_sqlite);
    guest_whole_file();
}

static int host_without_mutexes(void)
{
    tracer *t = NULL;

    CHECK(sqlite3_shutdown() == SQLITE_OK);
    CHECK(sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK);
    CHECK(tracer_start(host_db, NULL, &t) == TRACER_EDB);
    CHECK(strstr(tracer_last_error(), "SQLITE_CONFIG_MULTITHREAD") != NULL);
    CHECK(access(host_db, F_OK) == -1);
    CHECK(sqlite3_shutdown() == SQLITE_OK);
    CHECK(sqlite3_config(SQLITE_CONFIG_MULTITHREAD) == SQLITE_OK);
    t = guest_start(1);
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static void D15_a_sqlite_without_mutexes_is_refused(void **state)
{
    (void)state;
    guest_run(host_without_mutexes);
}

/* ---- a copy of the host's own ---- */

struct copy {
    int (*open)(const char *, sqlite3 **);
    int (*exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
    int (*close)(sqlite3 *);
};

static void *function_of(void *library, const char *name)
{
    void *f = dlsym(library, name);

    CHECK(f != NULL);
    return f;
}

static void copy_file(const char *from, const char *to)
{
    static char part[65536];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n;

    CHECK(in && out);
    while ((n = fread(part, 1, sizeof(part), in)) > 0)
        CHECK(fwrite(part, 1, n, out) == n);
    CHECK(!ferror(in) && fclose(in) == 0 && fclose(out) == 0);
}

/* The same library again, from a file of its own; its calls of itself stay within it. */
static struct copy load_copy(void)
{
    char path[400];
    struct copy c;
    Dl_info info;
    void *library;

    CHECK(dladdr((void *)(uintptr_t)sqlite3_open, &info) != 0);
    snprintf(path, sizeof(path), "%s/host.db-journal", host_dir); /* a name that host_end removes */
    copy_file(info.dli_fname, path);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    CHECK(library != NULL && unlink(path) == 0);
    *(void **)&c.open = function_of(library, "sqlite3_open");
    *(void **)&c.exec = function_of(library, "sqlite3_exec");
    *(void **)&c.close = function_of(library, "sqlite3_close");
    CHECK(c.open != sqlite3_open);
    return c;
}

/* Another program writes into the file all the while: where closing it here dropped our locks, what
 * one of the two wrote would be written over. */
static pid_t write_beside(void)
{
    pid_t child = fork();
    sqlite3 *db;

    if (child != 0)
        return child;
    CHECK(sqlite3_open(host_db, &db) == SQLITE_OK && sqlite3_busy_timeout(db, 10000) == SQLITE_OK);
    for (int i = -1; i < N_ROUNDS; i++)
        CHECK(sqlite3_exec(db, i < 0 ? "CREATE TABLE beside(n)" : "INSERT INTO beside VALUES (1)",
                           NULL, NULL, NULL) == SQLITE_OK);
    _exit(sqlite3_close(db));
}

static void look_by(const struct copy *c)
{
    sqlite3 *db = NULL;
    int rc;

    CHECK(c->open(host_db, &db) == SQLITE_OK);
    rc = c->exec(db, "SELECT count(*) FROM sample", NULL, NULL, NULL);
    CHECK(rc == SQLITE_OK || rc == SQLITE_BUSY);
    CHECK(c->close(db) == SQLITE_OK);
}

static int host_with_a_copy(void)
{
    struct copy c = load_copy();
    tracer *t = guest_start(1);
    pid_t child;
    int status, n = 0;

    CHECK(tracer_sample(t) == TRACER_OK);
    child = write_beside();
    CHECK(child > 0);
    for (; n < N_ROUNDS || waitpid(child, &status, WNOHANG) == 0; n++) {
        CHECK(tracer_mark(t, "looked") == TRACER_OK);
        look_by(&c);
    }
    CHECK(status == 0 && tracer_stop(t) == TRACER_OK);
    CHECK(guest_number(host_db, "SELECT count(*) FROM mark WHERE label IS NOT NULL") == n);
    CHECK(guest_number(host_db, "SELECT count(*) FROM beside") == N_ROUNDS);
    return 0;
}

static void D06_a_second_copy_opens_the_file(void **state)
{
    (void)state;
    guest_run(host_with_a_copy);
    guest_whole_file();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(D15_a_host_sets_sqlite_before_and_after, host_begin,
                                        host_end),
        cmocka_unit_test_setup_teardown(D15_a_sqlite_without_mutexes_is_refused, host_begin,
                                        host_end),
        cmocka_unit_test_setup_teardown(HOST_EXACT(D06_a_second_copy_opens_the_file), host_begin,
                                        host_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
