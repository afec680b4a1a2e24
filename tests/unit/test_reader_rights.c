/* SPDX-License-Identifier: MIT */
/* Description: another user reads in a folder that he may not write, of a name with any letters. */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/small_file.h"

/* As another user, in a folder that nobody may write: each of the two journal modes. */
static int read_as_nobody(void)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        tracer_reader *r = NULL;
        struct seen s = {0};
        int error;

        if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(77);
        error = tracer_reader_open(path, &r);
        if (!error)
            error = tracer_reader_query(r, "SELECT ws FROM vmmap WHERE type = 'heap'", NULL, 0,
                                        keep, &s);
        if (error)
            fprintf(stderr, "%s\n", tracer_last_error());
        _exit(error ? -error : s.last.integer == 15 ? 0 : 99);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

static void a_folder_that_cannot_be_written_is_enough(void **state)
{
    char wal[300];

    (void)state;
    chmod(path, 0444);
    chmod(folder, 0555);
    assert_int_equal(read_as_nobody(), 0);
    chmod(folder, 0755);
    chmod(path, 0644);
    execute("PRAGMA journal_mode = WAL");
    chmod(path, 0444);
    chmod(folder, 0555);
    assert_int_equal(read_as_nobody(), 0);
    snprintf(wal, sizeof(wal), "%s-wal", path);
    FILE *f = fopen(wal, "w");
    fputs("rows that would be missed", f);
    fclose(f);
    assert_int_equal(read_as_nobody(), -TRACER_EDENIED);
    chmod(folder, 0755);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_folder_that_cannot_be_written_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
