/* SPDX-License-Identifier: MIT */
/* Description: any CSV becomes a sound memtracer file or a sentence. Three texts with a NUL
 * between: the series, marks, lives. */
#define _GNU_SOURCE
#include "workplace.h"
#include "memtracer/reader.h"

int tool_main(int argc, char **argv);

static const char *const names[] = {"s.csv", "m.csv", "l.csv"};

static void write_texts(struct fuzz_input *in)
{
    for (unsigned i = 0; i < 3; i++) {
        const uint8_t *nul = in->left && i < 2 ? memchr(in->at, 0, in->left) : NULL;
        size_t bytes = nul ? (size_t)(nul - in->at) : in->left;

        folder_write(names[i], bytes ? in->at : (const uint8_t *)"", bytes);
        in->at += bytes + (nul != NULL);
        in->left -= bytes + (nul != NULL);
    }
}

static int no_row_wanted(void *user, uint32_t n_columns, const char *const *columns,
                         const tracer_value *values)
{
    (void)n_columns;
    (void)columns;
    *(int *)user = values[0].kind != TRACER_VALUE_TEXT || strcmp(values[0].bytes, "ok") != 0;
    return 1;
}

static void check_file(void)
{
    tracer_reader *r = NULL;
    const tracer_verdict *verdict = NULL;
    int wrong = 0;

    FUZZ_CHECK(!tracer_reader_open("o.db", &r));
    FUZZ_CHECK(!tracer_reader_query(r, "PRAGMA integrity_check", NULL, 0, no_row_wanted, &wrong));
    FUZZ_CHECK(!wrong);
    FUZZ_CHECK(!tracer_reader_verdict(r, NULL, &verdict));
    tracer_verdict_free(verdict);
    tracer_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    char words[][16] = {"memtracer", "import",    "--csv", "s.csv",      "-o",
                        "o.db",      "--markers", "m.csv", "--sessions", "l.csv"};
    char *argv[11] = {NULL};
    struct fuzz_input in = {data, n_bytes};
    int code;

    for (unsigned i = 0; i < 10; i++)
        argv[i] = words[i];
    folder_enter();
    write_texts(&in);
    code = tool_main(10, argv);
    FUZZ_CHECK(code == 0 || code == 2);
    if (!code && !access("o.db", F_OK))
        check_file();
    folder_empty();
    return 0;
}
