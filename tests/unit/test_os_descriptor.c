/* SPDX-License-Identifier: MIT */
/* Description: in a table that is the host's, a number that the host took is told to be lost, is
 * left open, and means nothing else while somebody still holds it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/wait.h>

#include "base/os/os.h"
#include "guest/filter.h"

#define SKIP 77
#define SYS_CLOSE_RANGE 436
#define MORE_THAN_THERE_IS_ROOM_FOR 100

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) != -1;
}

/* Two files that are not the same one. */
static int open_ours(void)
{
    return open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

static int open_hosts(void)
{
    return open("/proc/self/status", O_RDONLY | O_CLOEXEC);
}

static bool share(void)
{
    static const int refused[] = {SYS_unshare, SYS_CLOSE_RANGE};

    return filter_calls(refused, 2, FILTER_ANSWER(EPERM), FILTER_ALLOW) &&
           !mt_os_thread_own_descriptors();
}

/* A thread that shares stays one: each case is a process of its own. */
static void run_shared(bool (*fact)(void))
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(!share() ? SKIP : fact() ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIP)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool keeps_and_closes(void)
{
    int low = open_ours(), kept = mt_os_descriptor_keep(low);
    bool fact = kept > low && is_open(kept) && !is_open(low) && mt_os_descriptor_is_ours(kept);

    mt_os_descriptor_close(kept);
    return fact && !is_open(kept) && !mt_os_descriptor_is_ours(kept);
}

static void what_is_kept_moves_far_away(void **state)
{
    (void)state;
    run_shared(keeps_and_closes);
}

static bool leaves_the_hosts(void)
{
    int kept = mt_os_descriptor_keep(open_ours());

    close(kept);
    if (mt_os_descriptor_is_ours(kept) || dup2(open_hosts(), kept) != kept)
        return false;
    if (mt_os_descriptor_is_ours(kept))
        return false;
    mt_os_descriptor_close(kept);
    return is_open(kept);
}

static void what_the_host_took_is_left_to_it(void **state)
{
    (void)state;
    run_shared(leaves_the_hosts);
}

static bool gives_it_once(void)
{
    int lost = mt_os_descriptor_keep(open_ours()), second;

    close(lost);
    second = mt_os_descriptor_keep(open_hosts());
    if (second == lost || !mt_os_descriptor_is_ours(second) || mt_os_descriptor_is_ours(lost))
        return false;
    mt_os_descriptor_close(lost);
    return mt_os_descriptor_is_ours(second) && mt_os_descriptor_keep(open_ours()) == lost &&
           mt_os_descriptor_is_ours(lost);
}

static void a_lost_number_is_not_given_again_while_it_is_held(void **state)
{
    (void)state;
    run_shared(gives_it_once);
}

static bool refuses_the_last(void)
{
    int kept[MORE_THAN_THERE_IS_ROOM_FOR], low = 0, n = 0;

    for (;; n++) {
        if (n == MORE_THAN_THERE_IS_ROOM_FOR)
            return false;
        low = open_ours();
        kept[n] = mt_os_descriptor_keep(low);
        if (kept[n] < 0)
            break;
    }
    for (int i = 0; i < n; i++)
        if (!mt_os_descriptor_is_ours(kept[i]))
            return false;
    return n > 20 && errno == EMFILE && !is_open(low);
}

static void what_there_is_no_room_for_is_closed(void **state)
{
    (void)state;
    run_shared(refuses_the_last);
}

static void in_a_table_of_ones_own_nothing_is_done(void **state)
{
    int fd = open_ours();

    (void)state;
    assert_int_equal(mt_os_descriptor_keep(fd), fd);
    assert_true(mt_os_descriptor_is_ours(fd));
    mt_os_descriptor_close(fd);
    assert_false(is_open(fd));
    assert_int_equal(mt_os_descriptor_keep(-1), -1);
    mt_os_descriptor_close(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_moves_far_away),
        cmocka_unit_test(what_the_host_took_is_left_to_it),
        cmocka_unit_test(a_lost_number_is_not_given_again_while_it_is_held),
        cmocka_unit_test(what_there_is_no_room_for_is_closed),
        cmocka_unit_test(in_a_table_of_ones_own_nothing_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
