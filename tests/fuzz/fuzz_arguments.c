/* SPDX-License-Identifier: MIT */
/* Description: any arguments of the command line end in a documented exit code, also the second
 * time: a command leaves nothing behind in the program. An argument a line; "/" is replaced, so
 * that none leaves the folder, and no program is started. */
#define _GNU_SOURCE
#include "fuzz.h"
#include "recording.h"
#include "../../tools/platform.h"
#include "memtracer/memtracer.h"

#define ARGUMENTS_MOST 12

int tool_main(int argc, char **argv);
int __wrap_launch_program(const struct launch *l, struct launched *out);
int __wrap_tracer_start(const char *path, const tracer_options *options, tracer **out);

/* In the place of the real ones. */
int __wrap_launch_program(const struct launch *l, struct launched *out)
{
    FUZZ_CHECK(l->path && l->argv[0] && out);
    return 2;
}

int __wrap_tracer_start(const char *path, const tracer_options *options, tracer **out)
{
    FUZZ_CHECK(path && options->size == sizeof(*options) && out);
    return TRACER_EDENIED;
}

static int split(char *text, char **argv)
{
    int n = 0;

    argv[n++] = text;
    for (char *c = text; *c; c++) {
        if (*c == '/')
            *c = '_';
        if (*c == '\n' && n < ARGUMENTS_MOST) {
            *c = '\0';
            argv[n++] = c + 1;
        }
    }
    argv[n] = NULL;
    return n;
}

static void call(const uint8_t *data, size_t n_bytes)
{
    char *argv[ARGUMENTS_MOST + 2], name[] = "memtracer";
    char *text = fuzz_copy(n_bytes ? data : (const uint8_t *)"", n_bytes, 1);
    int argc, code;

    argv[0] = name;
    argc = 1 + split(text, argv + 1);
    code = tool_main(argc, argv);
    FUZZ_CHECK(code >= 0 && code <= 4);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    folder_enter();
    recording_make();
    folder_write("r.db", recording, recording_bytes);
    folder_write("s.csv", "t_ns,heap\n1,2\n2,3\n", 18);
    call(data, n_bytes);
    call(data, n_bytes);
    folder_empty();
    return 0;
}

/* The answers are nobody's. */
__attribute__((constructor)) static void be_silent(void)
{
    if (!freopen("/dev/null", "w", stdout))
        abort();
}
