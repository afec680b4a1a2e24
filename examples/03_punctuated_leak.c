/* SPDX-License-Identifier: MIT */
/* 3. The punctuated leak: large allocations after certain actions, nothing in between.
 *
 * Three commands each keep one block of 0x33c4000 bytes (54,280,192). Around them the program
 * takes and gives back far more than that, so a look at the total shows a busy program only.
 *
 * Introduces: nothing new in C; the questions. This is what memtracer is made for.
 * Look at:    three rows, one a command, each with the type, the bytes and the mark before it:
 *
 *     ./03_punctuated_leak leak.db
 *     sqlite3 -box leak.db 'SELECT * FROM punctuated_growth'
 *     memtracer steps leak.db
 *
 * Next: 04_own_type.c, where the program adds a type of its own. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <memtracer/memtracer.h>

enum { N_COMMANDS = 3, KEPT_BYTES = 0x33c4000, N_BLOCKS = 800, N_ROUNDS = 12 };

static void *volatile kept[N_COMMANDS]; /* what the commands forget to give back */

static void quiet(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

/* Takes blocks of 2 to 10 KiB, some 5 MiB in all, and gives back every one. */
static void churn_once(void)
{
    static void *volatile blocks[N_BLOCKS];
    unsigned random = 1;

    for (int i = 0; i < N_BLOCKS; i++) {
        size_t bytes;

        random = random * 1103515245u + 12345u;
        bytes = 2048 + (random >> 16) % 8192;
        blocks[i] = malloc(bytes);
        if (blocks[i])
            memset(blocks[i], i, bytes);
    }
    quiet(10);
    for (int i = 0; i < N_BLOCKS; i++)
        free(blocks[i]);
}

/* Long enough for several looks; however slow the machine is, one. */
static void rest(tracer *t)
{
    quiet(150);
    tracer_sample(t);
}

static void churn(tracer *t)
{
    for (int i = 0; i < N_ROUNDS; i++)
        churn_once();
    rest(t);
}

static void run_command(tracer *t, int i)
{
    char label[32];

    snprintf(label, sizeof(label), "command %d", i + 1);
    tracer_mark(t, label);
    kept[i] = malloc(KEPT_BYTES);
    if (kept[i])
        memset(kept[i], i + 1, KEPT_BYTES);
    rest(t);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "leak.db";
    tracer_options options = TRACER_OPTIONS_INIT;
    tracer *t = NULL;
    int rc;

    churn_once(); /* a service at work: its heap has the size that it keeps between commands */
    options.interval_ms = 20;
    rc = tracer_start(path, &options, &t);
    if (rc) {
        fprintf(stderr, "%s: %s\n", tracer_strerror(rc), tracer_last_error());
        return 1;
    }
    churn(t);
    for (int i = 0; i < N_COMMANDS; i++) {
        run_command(t, i);
        churn(t);
    }
    rc = tracer_stop(t);
    puts(path);
    return rc ? 1 : 0;
}
