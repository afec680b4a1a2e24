/* SPDX-License-Identifier: MIT */
/* tools: starts a program with the preload library in it, waits, finishes the file.
 * In: struct launch. Out: the program's exit code; a plain file. Called by cmd_run.c.
 * Interrupts from the keyboard reach the program, which decides; this process waits for it, so
 * that the file gets finished. SIGTERM and SIGHUP are passed on.
 * Uses: fork, execv, waitpid, /proc/self/exe. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../command.h"
#include "../platform.h"
#include "../preload_names.h"
#include "memtracer/reader.h"
#include "program.h"

static volatile sig_atomic_t child_pid;

/* ---- the preload library ---- */

struct libraries {
    char recorder[2 * PATH_MAX];
    char stacks[2 * PATH_MAX]; /* empty = not asked for */
};

static bool is_good_preload(const char *path)
{
    return program_is_readable(path) && !strpbrk(path, ": ");
}

static void own_folder(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    char *slash;

    out[n > 0 ? n : 0] = '\0';
    slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

/* From the environment; beside this program or its library (a build folder); where it was
 * installed to, also when the whole tree was moved. */
static bool find_library(const char *name, const char *wanted, char *out, size_t room)
{
    static const char *const places[] = {"%s/%s", "%s/../lib/%s", "%s/../" MEMTRACER_LIBDIR "/%s"};
    char self[PATH_MAX];

    own_folder(self);
    if (wanted)
        snprintf(out, room, "%s", wanted);
    for (size_t i = 0; !wanted && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(out, room, places[i], self, name);
        if (program_is_readable(out))
            break;
    }
    if (is_good_preload(out))
        return true;
    complain("run: %s: is not there, or has a blank or colon in its path, which LD_PRELOAD cannot "
             "say; %s names another place",
             out, ENV_PRELOAD);
    return false;
}

static bool find_libraries(const struct launch *l, struct libraries *out)
{
    out->stacks[0] = '\0';
    if (!find_library(PRELOAD_LIBRARY, getenv(ENV_PRELOAD), out->recorder, sizeof(out->recorder)))
        return false;
    return l->stack_min < 0 || find_library(STACKS_LIBRARY, NULL, out->stacks, sizeof(out->stacks));
}

/* ---- the child ---- */

/* The interposers stand before every allocator that is preloaded, too. */
static void set_preload(const struct libraries *ours)
{
    const char *others = getenv("LD_PRELOAD");
    size_t room = sizeof(*ours) + (others ? strlen(others) : 0) + 3;
    char *list = need(malloc(room));

    snprintf(list, room, "%s%s%s%s%s", ours->stacks, ours->stacks[0] ? ":" : "", ours->recorder,
             others && *others ? ":" : "", others ? others : "");
    setenv("LD_PRELOAD", list, 1);
    free(list);
}

static void set_or_unset(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void become_program(const struct launch *l, const struct program *p,
                           const struct libraries *ours, int report)
{
    char text[32];

    set_preload(ours);
    setenv(ENV_FILE, l->path, 1);
    set_or_unset(ENV_LABEL, l->label);
    snprintf(text, sizeof(text), "%lld", (long long)l->interval_ms);
    setenv(ENV_INTERVAL, text, 1);
    snprintf(text, sizeof(text), "%lld", (long long)l->stack_min);
    set_or_unset(ENV_STACKS, l->stack_min < 0 ? NULL : text);
    snprintf(text, sizeof(text), "%d", report);
    setenv(ENV_REPORT, text, 1);
    execv(p->file, p->argv);
    complain("%s: %s", p->file, strerror(errno));
    _exit(TOOL_ENVIRONMENT);
}

/* ---- the parent ---- */

static void pass_on(int signal)
{
    int saved = errno;

    if (child_pid > 0)
        kill((pid_t)child_pid, signal);
    errno = saved;
}

static const struct {
    int signal;
    void (*handler)(int);
} handlers[] = {{SIGINT, SIG_IGN},
                {SIGQUIT, SIG_IGN},
                {SIGTERM, pass_on},
                {SIGHUP, pass_on},
                {SIGCHLD, SIG_DFL}}; /* where it is ignored, exit codes are lost */

#define N_HANDLERS (sizeof(handlers) / sizeof(handlers[0]))

/* An end that was ignored before (nohup) stays ignored. */
static void hold_signals(struct sigaction *before)
{
    struct sigaction action;

    for (size_t i = 0; i < N_HANDLERS; i++) {
        memset(&action, 0, sizeof(action));
        action.sa_handler = handlers[i].handler;
        sigaction(handlers[i].signal, NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN || handlers[i].signal == SIGCHLD)
            sigaction(handlers[i].signal, &action, NULL);
    }
}

static void restore_signals(const struct sigaction *before)
{
    for (size_t i = 0; i < N_HANDLERS; i++)
        sigaction(handlers[i].signal, &before[i], NULL);
}

static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* True when the preload library said that recording began, or what it said cannot be read: then the
 * file says. */
static bool read_report(int report)
{
    char text[REPORT_BYTES];
    ssize_t n = read(report, text, sizeof(text) - 1);

    if (n < 0 && errno != EAGAIN) { /* which is silence, too: a child holds the other end */
        complain("run: whether recording began cannot be told: %s", strerror(errno));
        return true;
    }
    text[n > 0 ? n : 0] = '\0';
    if (!strcmp(text, REPORT_OK))
        return true;
    if (n > 0)
        complain("run: nothing was recorded: %s", text);
    else
        complain("run: nothing was recorded: the program did not load the preload library");
    return false;
}

/* The path as tracer_start() made it: %p is the pid, %% a percent sign. */
static void fill_path(char *out, size_t room, const char *path, pid_t pid)
{
    size_t used = 0;

    for (; *path && used + 24 < room; path++) {
        if (path[0] == '%' && path[1] == 'p')
            used += (size_t)snprintf(out + used, room - used, "%ld", (long)pid);
        else
            out[used++] = *path;
        path += path[0] == '%' && path[1];
    }
    out[used] = '\0';
}

static int note_row(void *user, uint32_t n_columns, const char *const *names,
                    const tracer_value *values)
{
    (void)n_columns;
    (void)names;
    (void)values;
    *(bool *)user = true;
    return 1;
}

/* A wrapper that becomes the real program by exec() takes the recording down with it. */
static void warn_without_sample(const char *path)
{
    static const char sql[] = "SELECT 1 FROM sample WHERE run = (SELECT max(id) FROM run)";
    tracer_reader *r;
    bool seen = false;

    if (tracer_reader_open(path, &r))
        return;
    if (!tracer_reader_query(r, sql, NULL, 0, note_row, &seen) && !seen)
        complain("%s: the program ended, or became another program by exec, before it was seen; "
                 "name the real program, not a wrapper, or record it by its pid",
                 path);
    tracer_reader_close(r);
}

static void finish(const struct launch *l, pid_t pid, int report, struct launched *out)
{
    int error;

    fill_path(out->file, sizeof(out->file), l->path, pid);
    out->recorded = read_report(report);
    if (!out->recorded)
        return;
    error = tracer_file_finish(out->file);
    if (error && error != TRACER_ESTATE) /* a reader that has it open harms nothing */
        complain_file(out->file, error);
    else
        warn_without_sample(out->file);
}

/* The program, −1 and errno where it could not be started. */
static pid_t fork_program(const struct launch *l, const struct program *p,
                          const struct libraries *ours, int report)
{
    struct sigaction before[N_HANDLERS];
    pid_t pid;

    hold_signals(before);
    pid = fork();
    if (pid > 0)
        return pid;
    restore_signals(before);
    if (pid == 0)
        become_program(l, p, ours, report);
    return -1;
}

static int start(const struct launch *l, const struct program *p, const struct libraries *ours,
                 struct launched *out)
{
    int report[2] = {-1, -1}, error;
    pid_t pid = -1;

    if (!pipe(report) && !fcntl(report[0], F_SETFD, FD_CLOEXEC) &&
        !fcntl(report[0], F_SETFL, O_NONBLOCK))
        pid = fork_program(l, p, ours, report[1]);
    error = errno;
    close(report[1]);
    if (pid > 0) {
        child_pid = pid;
        out->exit_code = wait_for(pid);
        finish(l, pid, report[0], out);
    } else {
        complain("run: %s: cannot be started: %s", p->file, strerror(error));
    }
    close(report[0]);
    return pid > 0 ? TOOL_OK : TOOL_ENVIRONMENT;
}

/* A folder that cannot take the file and its -wal: better said before than after. */
static bool check_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 1;
    char folder[PATH_MAX];

    snprintf(folder, sizeof(folder), "%.*s", (int)n, slash ? path : ".");
    if (access(folder, W_OK | X_OK) == 0)
        return true;
    complain("%s: %s: %s", path, folder, strerror(errno));
    return false;
}

int launch_program(const struct launch *l, struct launched *out)
{
    struct libraries ours;
    struct program p;
    int code;

    if (!check_folder(l->path) || !find_libraries(l, &ours) ||
        !program_find(l->argv, ours.recorder, &p))
        return TOOL_ENVIRONMENT;
    code = start(l, &p, &ours, out);
    program_free(&p);
    return code;
}
