/* SPDX-License-Identifier: MIT */
/* Large calls in awkward places: a constructor before main, signal handlers that interrupt large
 * calls of the same thread, children of fork(), many threads that end at once. Ends with 0 when
 * nothing hung and every child was well. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 300000, ROUNDS = 20000, CHILDREN = 60, THREADS = 4 };

static void *volatile early;

__attribute__((constructor)) static void before_main(void)
{
    early = malloc(BYTES);
}

static void map_once(int signal)
{
    void *p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)signal;
    munmap(p, 8192);
}

static void *churn(void *user)
{
    static __thread void *volatile p;

    for (int i = 0; i < ROUNDS; i++) {
        p = malloc(BYTES + (size_t)i);
        if (i % 3 == 0)
            p = realloc(p, (size_t)2 * BYTES);
        free(p);
    }
    return user;
}

static int child_is_well(void)
{
    pid_t pid = fork();
    int status = 1;

    if (pid == 0) {
        void *volatile p = malloc(BYTES);

        free(p);
        map_once(0);
        _exit(0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void)
{
    struct sigaction action = {.sa_handler = map_once, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 300}, {0, 300}};
    pthread_t ids[THREADS];
    int failed = 0;

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, churn, NULL);
    for (int i = 0; i < CHILDREN; i++)
        failed += !child_is_well();
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    free(early);
    return failed != 0;
}
