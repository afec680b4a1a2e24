/* SPDX-License-Identifier: MIT */
/* Description: rights and limits of POSIX: a recording is private, what may not be written is
 * refused, a failed creation and a file deleted meanwhile are told. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/recorded.h"

static void a_recording_is_the_users_alone(void **state)
{
    struct stat st;

    (void)state;
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void D11_what_this_user_may_not_write_is_refused(void **state)
{
    int status;
    pid_t child;

    (void)state;
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    chmod(path, 0444);
    chmod(folder, 0755);
    child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(77);
        _exit(open_recorder() == TRACER_EDENIED ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

/* No room for all of the tables: what is left must not be a stranger's file to the next start. */
static void a_creation_that_failed_can_be_tried_again(void **state)
{
    struct rlimit was, small;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = was;
    for (small.rlim_cur = 512; small.rlim_cur < 65536; small.rlim_cur *= 2) {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        assert_int_not_equal(open_recorder(), 0);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    }
    opened();
    assert_int_equal(mt_recorder_close(recorder, "stopped", ""), 0);
    assert_int_equal(number("SELECT auto_vacuum FROM pragma_auto_vacuum"), 2);
    assert_int_equal(number("SELECT count(*) FROM run"), 1);
}

static void a_deleted_file_is_noticed(void **state)
{
    (void)state;
    opened();
    set_level(MT_TYPE_HEAP, MIB);
    assert_int_equal(tick(), 0);
    assert_int_equal(mt_recorder_commit(recorder), 0);
    unlink(path);
    set_level(MT_TYPE_HEAP, 2 * MIB);
    assert_int_equal(tick(), TRACER_EDB);
    assert_non_null(strstr(mt_error_detail(), "deleted or moved"));
    mt_recorder_close(recorder, "stopped", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_recording_is_the_users_alone),
        TEST(D11_what_this_user_may_not_write_is_refused),
        TEST(a_creation_that_failed_can_be_tried_again),
        TEST(a_deleted_file_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
