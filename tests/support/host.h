/* SPDX-License-Identifier: MIT */
/* A host program in a test: a temporary file, a tracer, values by type and column. */
#ifndef TEST_SUPPORT_HOST_H
#define TEST_SUPPORT_HOST_H

static char host_db[300];

#include "support/host_ask.h"

#include <stdlib.h>
#include <unistd.h>

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

#endif
