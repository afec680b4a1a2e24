/* SPDX-License-Identifier: MIT */
/* tools: the preload library: records a program that knows nothing of it.
 * In: environment variables MEMTRACER_…, set by `memtracer run` or by hand beside LD_PRELOAD.
 * Out: a tracer from before main() to the end of exit(). Called by the loader.
 * Must leave no trace: it takes its variables and itself out of the environment, so that what
 * the program starts is not recorded; it prints nothing; in a forked child the tracer is inert. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memtracer/memtracer.h"
#include "preload_names.h"

/* Programs that end by a signal never come to end_recording(): little may be lost. */
#define COMMIT_MS 200

static tracer *recording;
static pid_t owner; /* a child of vfork() shares our memory, but not this number */

/* Cuts our element out of LD_PRELOAD in place: main()'s third argument and `environ` must both
 * see it gone, and setenv() would change only the latter. */
static void leave_ld_preload(const char *library)
{
    char *list = getenv("LD_PRELOAD");
    char *name = list ? strstr(list, library) : NULL;
    char *begin = name, *end;

    if (!name)
        return;
    while (begin > list && begin[-1] != ':' && begin[-1] != ' ')
        begin--;
    end = name + strlen(library);
    if (*end == ':' || *end == ' ')
        end++;
    memmove(begin, end, strlen(end) + 1);
    if (!*list)
        unsetenv("LD_PRELOAD");
}

static void leave_environment(bool stacks)
{
    static const char *const names[] = {ENV_FILE,   ENV_INTERVAL, ENV_LABEL,
                                        ENV_STACKS, ENV_REPORT,   ENV_PRELOAD};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    leave_ld_preload(PRELOAD_LIBRARY);
    if (stacks)
        leave_ld_preload(STACKS_LIBRARY);
}

/* A report that cannot be written is missed by its reader, who then says so. */
static void tell(int descriptor, int error)
{
    const char *detail = error ? tracer_last_error() : REPORT_OK;
    FILE *report = fdopen(descriptor, "w");

    if (error && !*detail)
        detail = tracer_strerror(error);
    if (report) {
        fputs(detail, report);
        fclose(report);
    }
}

__attribute__((constructor)) static void begin_recording(void)
{
    const char *path = getenv(ENV_FILE), *interval = getenv(ENV_INTERVAL);
    const char *report = getenv(ENV_REPORT), *stacks = getenv(ENV_STACKS);
    tracer_options options = TRACER_OPTIONS_INIT;
    int error;

    if (!path)
        return;
    options.label = getenv(ENV_LABEL);
    options.interval_ms = interval ? (uint32_t)strtoul(interval, NULL, 10) : 0;
    options.commit_ms = COMMIT_MS;
    if (stacks) {
        options.flags |= TRACER_F_STACKS;
        options.stack_min_bytes = strtoull(stacks, NULL, 10);
    }
    owner = getpid();
    error = tracer_start(path, &options, &recording);
    if (report)
        tell((int)strtol(report, NULL, 10), error);
    leave_environment(stacks != NULL);
}

__attribute__((destructor)) static void end_recording(void)
{
    tracer *t = recording;

    recording = NULL;
    if (t && getpid() == owner)
        tracer_stop(t);
}

/* A program that ends without exit() ends here: it gets its last sample all the same. */
__attribute__((visibility("default"), noreturn)) void _exit(int status)
{
    end_recording();
    for (;;)
        syscall(SYS_exit_group, status);
}

__attribute__((visibility("default"), noreturn)) void _Exit(int status)
{
    _exit(status);
}
