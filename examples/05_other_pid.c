/* SPDX-License-Identifier: MIT */
/* 5. Another process: memtracer looks from outside, the watched program needs nothing.
 *
 * A child grows by 32 MiB and tells its parent through a pipe; the parent records it by its pid.
 * From outside there are no allocator counters and no claims; types, bytes and regions are there.
 *
 * Introduces: options.pid, and what happens when the watched process goes away (the run's state
 *             becomes "ended"; that is no error).
 * Look at:    whose memory the file holds, and what grew:
 *
 *     ./05_other_pid other.db
 *     sqlite3 -box other.db 'SELECT pid, name, state FROM run'
 *     sqlite3 -box other.db 'SELECT * FROM which_kind_grew'
 *
 * The command line does the same: memtracer record --pid PID. Next: 06_query.c. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memtracer/memtracer.h>

enum { GROWTH_BYTES = 32 << 20, ASK = 0, ANSWER = 1 };

static char *volatile block;

/* The child: for each byte it reads it grows once and answers. */
static void grow_on_demand(int ask, int answer)
{
    char c;

    while (read(ask, &c, 1) == 1) {
        block = malloc(GROWTH_BYTES);
        if (block)
            memset(block, 1, GROWTH_BYTES);
        if (write(answer, &c, 1) != 1)
            break;
    }
    _exit(0);
}

static int start_child(int *out_ask, int *out_answer, pid_t *out_pid)
{
    int ask[2], answer[2];

    if (pipe(ask) || pipe(answer))
        return -1;
    *out_pid = fork();
    if (*out_pid == 0) {
        close(ask[1]);
        close(answer[0]);
        grow_on_demand(ask[0], answer[1]);
    }
    close(ask[0]);
    close(answer[1]);
    *out_ask = ask[1];
    *out_answer = answer[0];
    return *out_pid < 0 ? -1 : 0;
}

static int watch(tracer *t, int ask, int answer)
{
    char c = 'g';
    int rc = tracer_sample(t);

    if (rc)
        return rc;
    tracer_mark(t, "the child grows");
    if (write(ask, &c, 1) != 1 || read(answer, &c, 1) != 1)
        return TRACER_EIO;
    return tracer_sample(t);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "other.db";
    tracer_options options = TRACER_OPTIONS_INIT;
    tracer *t = NULL;
    int ask, answer, rc;
    pid_t child;

    if (start_child(&ask, &answer, &child))
        return 1;
    options.pid = (uint32_t)child;
    rc = tracer_start(path, &options, &t);
    if (!rc)
        rc = watch(t, ask, answer);
    if (rc)
        fprintf(stderr, "%s: %s\n", tracer_strerror(rc), tracer_last_error());
    if (tracer_stop(t))
        rc = 1;
    close(ask); /* ends the child */
    waitpid(child, NULL, 0);
    puts(path);
    return rc ? 1 : 0;
}
