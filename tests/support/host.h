/* SPDX-License-Identifier: MIT */
/* A host program in a test: a temporary file, a tracer, values by type and column. */
#ifndef TEST_SUPPORT_HOST_H
#define TEST_SUPPORT_HOST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "memtracer/memtracer.h"
#include "memtracer/reader.h"

/* A sanitizer's allocator, shadow and stacks are then what would be measured. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOST_SANITIZED 1
#define HOST_EXACT(f) ((void)(f), host_skipped)
#else
#define HOST_SANITIZED 0
#define HOST_EXACT(f) f
#endif

static inline void host_skipped(void **state)
{
    (void)state;
    print_message("skipped: the sanitizer changes what is measured\n");
    skip();
}

static char host_dir[256];
static char host_db[300];

static inline int host_begin(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    snprintf(host_dir, sizeof(host_dir), "%s/memtracer-test-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(host_dir))
        return -1;
    snprintf(host_db, sizeof(host_db), "%s/host.db", host_dir);
    return 0;
}

static inline int host_end(void **state)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char path[320];

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s%s", host_db, endings[i]);
        unlink(path);
    }
    return rmdir(host_dir) ? 0 : 0;
}

static inline tracer *host_start(uint32_t interval_ms)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;
    int error;

    o.interval_ms = interval_ms;
    error = tracer_start(host_db, &o, &t);
    if (error)
        fail_msg("%s: %s", tracer_error_name(error), tracer_last_error());
    return t;
}

/* One row of the totals after a fresh sample. */
static inline tracer_type_bytes host_row(tracer *t, uint32_t type)
{
    tracer_type_bytes rows[TRACER_TYPE_CAPACITY];
    tracer_totals totals = {
        .size = sizeof(totals), .capacity = TRACER_TYPE_CAPACITY, .types = rows};

    if (tracer_sample(t) || tracer_get_totals(t, &totals))
        fail_msg("%s", tracer_last_error());
    for (uint32_t i = 0; i < totals.n_types; i++)
        if (rows[i].type == type)
            return rows[i];
    fail_msg("type %u has no row", type);
    return rows[0];
}

struct host_answer {
    int64_t integer;
    char text[512];
    unsigned n_rows;
};

static inline int host_take_row(void *user, uint32_t n, const char *const *names,
                                const tracer_value *values)
{
    struct host_answer *a = user;

    (void)n;
    (void)names;
    if (a->n_rows++ == 0) {
        a->integer = values[0].integer;
        snprintf(a->text, sizeof(a->text), "%s", values[0].bytes ? values[0].bytes : "");
    }
    return 0;
}

/* The first column of the first row, and the number of rows. */
static inline struct host_answer host_ask(const char *sql)
{
    struct host_answer a = {0, "", 0};
    tracer_reader *r = NULL;

    if (tracer_reader_open(host_db, &r) || tracer_reader_query(r, sql, NULL, 0, host_take_row, &a))
        fail_msg("%s: %s", sql, tracer_last_error());
    tracer_reader_close(r);
    return a;
}

#endif
