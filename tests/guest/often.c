/* SPDX-License-Identifier: MIT */
/* Description: nothing is left behind by many starts, nor by a long run: `often starts N` starts
 * and stops N times, `often soak SECONDS` records a busy host at 10 Hz. Both print resident memory,
 * descriptors, threads and mappings of the process on the way, and fail when they went up. */
#define _GNU_SOURCE
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "memtracer/memtracer.h"

#define STARTS_A_FILE 500
#define N_POINTS 20
/* One page left behind by each of 2,000 starts is twice this. */
#define ALLOWED_KB 4096

struct figures {
    long rss_kb, descriptors, threads, mappings;
};

static char path[256];

static long count_entries(const char *folder)
{
    DIR *d = opendir(folder);
    long n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n - 3; /* . and .. and its own */
}

static long count_lines(const char *name)
{
    FILE *f = fopen(name, "r");
    long n = 0;

    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static long status_number(const char *key)
{
    char line[256];
    long value = -1;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, key, strlen(key)))
            value = strtol(line + strlen(key), NULL, 10);
    if (f)
        fclose(f);
    return value;
}

static struct figures look(void)
{
    struct figures f;

    usleep(50000); /* a joined thread is counted for a moment longer */
    malloc_trim(0);
    f.descriptors = count_entries("/proc/self/fd");
    f.mappings = count_lines("/proc/self/maps");
    f.threads = status_number("Threads:");
    f.rss_kb = status_number("VmRSS:");
    return f;
}

static void print(const char *when, const struct figures *f)
{
    printf("%-12s rss %6ld kB  descriptors %ld  threads %ld  mappings %ld\n", when, f->rss_kb,
           f->descriptors, f->threads, f->mappings);
    fflush(stdout);
}

static int judge(const struct figures *from, const struct figures *to, long allowed_kb)
{
    int wrong = to->rss_kb - from->rss_kb > allowed_kb || to->descriptors != from->descriptors ||
                to->threads != from->threads || to->mappings > from->mappings + 8;

    if (wrong)
        printf("FAILED: something was left behind\n");
    return wrong;
}

static void remove_file(void)
{
    char name[300];

    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s%s", path, (const char *[]){"", "-wal", "-shm"}[i]);
        unlink(name);
    }
}

static tracer *start(uint32_t interval_ms)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;

    o.interval_ms = interval_ms;
    if (tracer_start(path, &o, &t)) {
        printf("FAILED: %s\n", tracer_last_error());
        exit(1);
    }
    return t;
}

static int starts(int n)
{
    struct figures first = {0}, now;
    char when[32];

    for (int i = 0; i < n; i++) {
        if (tracer_stop(start(1000))) {
            printf("FAILED: start %d: %s\n", i, tracer_last_error());
            return 1;
        }
        if (i % STARTS_A_FILE == STARTS_A_FILE - 1)
            remove_file();
        if (i == n / N_POINTS)
            first = look();
        if (i % (n / 4) == n / N_POINTS) {
            now = look();
            snprintf(when, sizeof(when), "%d starts", i);
            print(when, &now);
        }
    }
    now = look();
    print("all", &now);
    return judge(&first, &now, ALLOWED_KB);
}

/* ---- a busy host ---- */

static void *short_life(void *unused)
{
    free(malloc(100000));
    return unused;
}

/* One round leaves nothing behind. */
static void churn(unsigned round)
{
    enum { BLOCKS = 200 };
    void *blocks[BLOCKS];
    size_t bytes = (size_t)(1 + round % 8) << 20;
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t id;

    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(100 + (round * 7919 + i * 104729) % 40000);
        if (blocks[i])
            memset(blocks[i], 1, 100);
    }
    if (map != MAP_FAILED) {
        memset(map, 1, bytes);
        mprotect(map, bytes / 2, PROT_READ);
    }
    if (!pthread_create(&id, NULL, short_life, NULL))
        pthread_join(id, NULL);
    usleep(20000);
    for (unsigned i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    if (map != MAP_FAILED)
        munmap(map, bytes);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Least squares over the points from the quarter on: what is still growing then, grows on. */
static double slope_kb_a_minute(const double *t, const double *kb, int n)
{
    double mt = 0, mk = 0, up = 0, down = 0;
    int from = n / 4;

    for (int i = from; i < n; i++) {
        mt += t[i] / (n - from);
        mk += kb[i] / (n - from);
    }
    for (int i = from; i < n; i++) {
        up += (t[i] - mt) * (kb[i] - mk);
        down += (t[i] - mt) * (t[i] - mt);
    }
    return down > 0 ? up / down * 60 : 0;
}

static int soak(double seconds)
{
    double begun = now_s(), at[N_POINTS], kb[N_POINTS];
    struct figures first = {0}, now = {0};
    tracer_stats stats = {.size = sizeof(stats)};
    tracer *t = start(100);
    unsigned round = 0;

    for (int i = 0; i < N_POINTS; i++) {
        char when[32];

        while (now_s() - begun < seconds * (i + 1) / N_POINTS)
            churn(round++);
        now = look();
        if (i == N_POINTS / 4)
            first = now;
        at[i] = now_s() - begun;
        kb[i] = (double)now.rss_kb;
        snprintf(when, sizeof(when), "%.0f s", at[i]);
        print(when, &now);
    }
    tracer_get_stats(t, &stats);
    printf("slope %.1f kB a minute; %llu ticks, %llu missed, %llu failed, cpu %.2f %%, own %.1f MB "
           "mapped, file %.2f MB, state %u\n",
           slope_kb_a_minute(at, kb, N_POINTS), (unsigned long long)stats.n_ticks,
           (unsigned long long)stats.n_missed, (unsigned long long)stats.n_failed,
           (double)stats.cost_cpu_ns / 1e7 / (now_s() - begun), (double)stats.own_bytes / 1e6,
           (double)stats.file_bytes / 1e6, stats.state);
    return tracer_stop(t) || stats.state != TRACER_STATE_RECORDING || stats.n_failed ||
           judge(&first, &now, ALLOWED_KB);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR"), *full = getenv("MEMTRACER_FULL");
    bool in_memory = !folder && access("/dev/shm", W_OK) == 0; /* it is no test of the disk */
    long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    int result = 2;

    if (full && argc > 3)
        n = strtol(argv[3], NULL, 10);
    snprintf(path, sizeof(path), "%s/memtracer-often-%d.db",
             folder      ? folder
             : in_memory ? "/dev/shm"
                         : "/tmp",
             (int)getpid());
    if (n >= N_POINTS && !strcmp(argv[1], "starts"))
        result = starts((int)n);
    else if (n > 0 && !strcmp(argv[1], "soak"))
        result = soak((double)n);
    else
        fprintf(stderr, "usage: often starts N [FULL] | soak SECONDS [FULL]\n"
                        "FULL is the number where MEMTRACER_FULL is set\n");
    remove_file();
    return result;
}
