/* SPDX-License-Identifier: MIT */
/* Description: one host that does in turn what hosts do to themselves, and says what came of it.
 * `nasty` does it alone, `nasty FILE` with a tracer at 100 Hz. nasty.py holds that both say the
 * same and end the same: the host must not be able to tell. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memtracer/memtracer.h"

#define EXIT_CODE 42

static volatile sig_atomic_t n_signals, n_elsewhere;

static void note_signal(int number)
{
    (void)number;
    n_signals++;
    n_elsewhere += gettid() != getpid();
}

static void send_signals(void)
{
    static const int signals[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGHUP, SIGCHLD, SIGALRM, SIGWINCH};

    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        signal(signals[i], note_signal);
        for (int k = 0; k < 100; k++)
            kill(getpid(), signals[i]);
    }
    printf("signals %d, in other threads %d\n", n_signals, n_elsewhere);
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
}

/* A sleep is only cut short by the host's own timer. */
static void interrupted_calls(void)
{
    struct itimerval once = {{0, 0}, {0, 50000}};
    char c;
    int ends[2], result;

    if (pipe(ends))
        return;
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = note_signal}, NULL);
    setitimer(ITIMER_REAL, &once, NULL);
    errno = 0;
    result = (int)read(ends[0], &c, 1);
    printf("read %d, interrupted %d\n", result, errno == EINTR);
    close(ends[1]);
    printf("end of pipe %d\n", (int)read(ends[0], &c, 1));
    close(ends[0]);
    usleep(100000);
    printf("usleep whole\n");
}

static void forks(void)
{
    int sum = 0, killed = 0, status;

    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            free(malloc(100000));
            signal(SIGABRT, SIG_DFL);
            if (i % 10 == 9)
                abort();
            _exit(i);
        }
        waitpid(pid, &status, 0);
        sum += WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        killed += WIFSIGNALED(status);
    }
    printf("children %d, killed %d, none left %d\n", sum, killed, wait(NULL) == -1);
    if (vfork() == 0)
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL), _exit(127);
    wait(&status);
    printf("program %d\n", WEXITSTATUS(status));
}

static void *thread(void *argument)
{
    char block[1000];

    memset(block, 1, sizeof(block));
    free(malloc(10000));
    return argument;
}

static void threads(void)
{
    pthread_t ids[50];
    long sum = 0;

    for (long i = 0; i < 50; i++)
        pthread_create(&ids[i], NULL, thread, (void *)i);
    for (int i = 0; i < 50; i++) {
        void *result;

        pthread_join(ids[i], &result);
        sum += (long)result;
    }
    printf("threads %ld\n", sum);
}

static void descriptors(const char *folder)
{
    struct rlimit few = {40, 40};
    char path[300], text[32] = "";
    int fd, last = -1, n = 0;

    for (fd = 3; fd < 1024; fd++)
        close(fd);
    snprintf(path, sizeof(path), "%s/mine", folder);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    printf("lowest descriptor %d\n", fd);
    if (write(fd, "mine", 4) != 4)
        printf("not written\n");
    setrlimit(RLIMIT_NOFILE, &few);
    for (int d; (d = dup(fd)) >= 0; n++)
        last = d;
    printf("duplicates %d, last %d, errno %d\n", n, last, errno);
    usleep(50000);
    printf("content %d %s\n", (int)pread(fd, text, sizeof(text) - 1, 0), text);
    for (int d = 3; d < 40; d++)
        close(d);
}

static void memory(void)
{
    long sum = 0;

    for (int i = 0; i < 300; i++) {
        size_t bytes = (size_t)(1 + i % 16) * 65536;
        char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        memset(p, i, bytes);
        mprotect(p, 4096, PROT_NONE);
        madvise(p + 4096, 4096, MADV_DONTNEED);
        sum += p[4096] + p[bytes - 1];
        munmap(p, bytes);
    }
    printf("memory %ld\n", sum);
    for (int i = 0; i < 20; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW);

        sum += library && dlsym(library, "cos");
        if (library)
            dlclose(library);
    }
    printf("libraries %ld\n", sum);
}

static void limits(const char *folder)
{
    struct rlimit small = {8192, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    char path[300], block[16384] = "";
    int fd;

    snprintf(path, sizeof(path), "%s/limited", folder);
    signal(SIGXFSZ, note_signal);
    n_signals = 0;
    setrlimit(RLIMIT_FSIZE, &small);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    printf("limited write %d\n", (int)write(fd, block, sizeof(block)));
    printf("second %d, signals %d\n", (int)pwrite(fd, block, 1, 8192), n_signals);
    usleep(50000);
    printf("signals of others %d\n", n_signals - 1);
    setrlimit(RLIMIT_FSIZE, &none);
    close(fd);
    unlink(path);
}

static void identity(const char *folder)
{
    char text[300];
    int as_root = geteuid() == 0;

    umask(027);
    printf("umask %o\n", (unsigned)umask(022));
    printf("policy %d, nice %d\n", sched_getscheduler(0), getpriority(PRIO_PROCESS, 0));
    if (as_root)
        as_root = seteuid(65534) == 0 && seteuid(0) == 0;
    printf("root %d\n", as_root);
    if (as_root && chroot(folder) == 0 && chdir("/") == 0)
        printf("chroot %s, mine %d\n", getcwd(text, sizeof(text)), access("/mine", F_OK));
    if (as_root && setgid(65534) == 0 && setuid(65534) == 0)
        printf("user %d, back %d\n", (int)getuid(), setuid(0));
}

static void first_handler(void)
{
    printf("handler one\n");
}

static void second_handler(void)
{
    printf("handler two\n");
}

__attribute__((destructor)) static void at_the_very_end(void)
{
    printf("destructor\n");
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".";
    tracer_options o = TRACER_OPTIONS_INIT;
    tracer *t = NULL;

    setvbuf(stdout, NULL, _IOLBF, 0);
    atexit(first_handler);
    o.interval_ms = 10;
    o.commit_ms = 20;
    if (argc > 2 && tracer_start(argv[2], &o, &t)) {
        fprintf(stderr, "%s\n", tracer_last_error());
        return 1;
    }
    atexit(second_handler);
    send_signals();
    interrupted_calls();
    forks();
    threads();
    descriptors(folder);
    memory();
    limits(folder);
    identity(folder);
    exit(EXIT_CODE); /* the tracer running */
}
