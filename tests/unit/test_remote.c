/* SPDX-License-Identifier: MIT */
/* Description: which pages are present is told alike by every interface there may be, is what was
 * touched, and asking brings none in; absent pages are not read. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "claim/linux/remote.h"

#define PAGES 100
#define PAGE 4096

static char *mapped;

static bool is_touched(unsigned page)
{
    return page % 3 == 0 || (page > 40 && page < 60);
}

static int begin(void **state)
{
    (void)state;
    mapped = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(mapped, PAGES * PAGE, MADV_NOHUGEPAGE);
    for (unsigned i = 0; i < PAGES; i++)
        if (is_touched(i))
            mapped[i * PAGE] = 'x';
    return 0;
}

static int end(void **state)
{
    (void)state;
    return munmap(mapped, PAGES * PAGE);
}

/* Twice: the first answers must not have changed anything. Returns how many are wrong. */
static unsigned n_wrong(void)
{
    struct mt_remote r;
    unsigned wrong = 0;
    char byte;

    mt_remote_open(&r, 0);
    for (unsigned i = 0; i < 2 * PAGES; i++) {
        unsigned page = i % PAGES;
        uint64_t address = (uint64_t)(uintptr_t)mapped + page * PAGE;

        if (page == 0)
            mt_remote_refresh(&r);
        wrong += mt_remote_present(&r, address) != is_touched(page);
        wrong += mt_remote_read(&r, address, &byte, 1) != is_touched(page);
        wrong += is_touched(page) && byte != 'x';
    }
    wrong += mt_remote_present(&r, UINT64_C(0x7ffffffff000));
    mt_remote_close(&r);
    return wrong;
}

static void touched_pages_are_present(void **state)
{
    (void)state;
    assert_int_equal(n_wrong(), 0);
}

/* Refuses one system call, as an older kernel or a sandbox does. */
static bool refuse(unsigned number, unsigned error)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};

    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#define NO_FILTER 77

static void expect_the_same_without(unsigned number, unsigned error)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        _exit(!refuse(number, error) ? NO_FILTER : n_wrong() != 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER)
        skip();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void A26_a_kernel_without_the_scan_gives_the_same(void **state)
{
    (void)state;
    expect_the_same_without(SYS_ioctl, ENOTTY);
}

static void a_sandbox_without_process_vm_readv_gives_the_same(void **state)
{
    (void)state;
    expect_the_same_without(SYS_process_vm_readv, EPERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(touched_pages_are_present, begin, end),
        cmocka_unit_test_setup_teardown(A26_a_kernel_without_the_scan_gives_the_same, begin, end),
        cmocka_unit_test_setup_teardown(a_sandbox_without_process_vm_readv_gives_the_same, begin,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
