/* SPDX-License-Identifier: MIT */
/* A host that may be harmed: a function in a process of its own, so that what it does to itself
 * (closing everything, changing its user, dying) ends with it. It tells by its exit code: 0 as it
 * must be, 77 cannot be tried here, else not. */
#ifndef TEST_GUEST_GUEST_H
#define TEST_GUEST_GUEST_H

#include "support/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define GUEST_SKIP 77
#define GUEST_SECONDS 60

/* In the host, where cmocka's own assertions would go on in the wrong process. */
#define CHECK(fact)                                                                                \
    do {                                                                                           \
        if (!(fact))                                                                               \
            guest_wrong(__FILE__, __LINE__, #fact);                                                \
    } while (0)

static inline void guest_wrong(const char *file, int line, const char *fact)
{
    fprintf(stderr, "%s:%d: not true: %s (last error: %s)\n", file, line, fact,
            tracer_last_error());
    _exit(1);
}

/* What the host process ended with, as wait() tells it. */
static inline int guest_status(int (*host)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        alarm(GUEST_SECONDS);
        _exit(host());
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static inline void guest_run(int (*host)(void))
{
    int status = guest_status(host);

    if (WIFEXITED(status) && WEXITSTATUS(status) == GUEST_SKIP)
        skip();
    if (WIFSIGNALED(status))
        fail_msg("the host was killed by signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static inline tracer *guest_start(uint32_t interval_ms)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;

    o.interval_ms = interval_ms;
    o.commit_ms = interval_ms;
    CHECK(tracer_start(host_db, &o, &t) == TRACER_OK);
    return t;
}

static inline tracer_stats guest_stats(tracer *t)
{
    tracer_stats stats = {.size = sizeof(stats)};

    CHECK(tracer_get_stats(t, &stats) == TRACER_OK);
    return stats;
}

/* Until it has looked `n` times more, by its own count. */
static inline void guest_wait_ticks(tracer *t, uint64_t n)
{
    uint64_t until = guest_stats(t).n_ticks + n;

    while (guest_stats(t).n_ticks < until)
        usleep(1000);
}

static inline const char *guest_problem(tracer *t)
{
    static char text[512];

    CHECK(tracer_last_problem(t, text, sizeof(text)) == TRACER_OK);
    return text;
}

/* A number from the file, without cmocka. */
static inline int64_t guest_number(const char *path, const char *sql)
{
    struct host_answer a = {-1, "", 0};
    tracer_reader *r = NULL;

    CHECK(tracer_reader_open(path, &r) == TRACER_OK);
    CHECK(tracer_reader_query(r, sql, NULL, 0, host_take_row, &a) == TRACER_OK);
    tracer_reader_close(r);
    return a.integer;
}

static inline void guest_whole_file(void)
{
    assert_string_equal(host_ask("PRAGMA integrity_check").text, "ok");
}

/* Of this process, as the kernel sees it: entries of a folder of /proc/self. */
static inline int guest_entries(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n - 2;
}

/* A line of a /proc file that begins with `key`, as a number. */
static inline long guest_proc_number(const char *path, const char *key)
{
    char line[256];
    long value = -1;
    FILE *f = fopen(path, "r");

    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, key, strlen(key)))
            value = strtol(line + strlen(key), NULL, 10);
    if (f)
        fclose(f);
    return value;
}

/* The id of the sampler's thread: the one of its name. */
static inline int guest_sampler(void)
{
    char path[300], name[32];
    DIR *d = opendir("/proc/self/task");
    int id = 0;

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        FILE *f;

        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
        f = fopen(path, "r");
        if (f && fgets(name, sizeof(name), f) && !strcmp(name, "memtracer\n"))
            id = (int)strtol(e->d_name, NULL, 10);
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    return id;
}

/* Long counts are for MEMTRACER_FULL=1. */
static inline int guest_count(int usual, int full)
{
    return getenv("MEMTRACER_FULL") ? full : usual;
}

/* Resident columns of the newest sample are known. */
static inline bool guest_sees_pages(tracer *t)
{
    tracer_type_bytes rows[TRACER_TYPE_CAPACITY];
    tracer_totals totals = {
        .size = sizeof(totals), .capacity = TRACER_TYPE_CAPACITY, .types = rows};

    CHECK(tracer_sample(t) == TRACER_OK);
    CHECK(tracer_get_totals(t, &totals) == TRACER_OK);
    return totals.n_types > 0 && (rows[0].known >> TRACER_COLUMN_WS & 1u) && rows[0].ws_bytes > 0;
}

#endif
