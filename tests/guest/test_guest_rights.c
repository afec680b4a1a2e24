/* SPDX-License-Identifier: MIT */
/* Description: a host that gives up rights or its root folder, or cannot see /proc, is recorded as
 * far as the system lets it; a path that another user prepared is refused. Most of it needs root.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#define NOBODY 65534
#define SOMEBODY 12345

static bool become(uid_t user)
{
    return setgroups(0, NULL) == 0 && setgid(user) == 0 && setuid(user) == 0;
}

static void needs_root(void)
{
    if (geteuid() != 0)
        skip();
}

/* ---- A20, C02, C15: the user changes ---- */

static int drop_rights(void)
{
    tracer *t = guest_start(1);

    CHECK(guest_sees_pages(t));
    CHECK(become(NOBODY)); /* in all threads: waits for ever on one that blocks its signal */
    CHECK(setuid(0) == -1);
    CHECK(open("/proc/self/pagemap", O_RDONLY) == -1 && errno == EACCES);
    guest_wait_ticks(t, 20);
    CHECK(guest_sees_pages(t));
    CHECK(guest_stats(t).n_failed == 0);
    CHECK(guest_stats(t).state == TRACER_STATE_RECORDING);
    tracer_stop(t); /* may not remove the -wal beside the file: the folder is root's */
    return 0;
}

static void C02_C15_rights_dropped_after_the_start(void **state)
{
    (void)state;
    needs_root();
    guest_run(drop_rights);
    assert_string_equal(host_ask("SELECT state FROM run").text, "stopped");
    assert_int_equal(tracer_file_finish(host_db), TRACER_OK);
    guest_whole_file();
}

/* Dumpable no more: the files of /proc/self are root's, pagemap is refused, maps and smaps are not.
 */
static int start_after_drop(void)
{
    tracer *t;

    CHECK(chmod(host_dir, 0777) == 0 && become(NOBODY));
    CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
    t = guest_start(1);
    guest_wait_ticks(t, 5);
    CHECK(guest_sees_pages(t));
    CHECK(guest_stats(t).state == TRACER_STATE_RECORDING && guest_stats(t).n_failed == 0);
    CHECK(prctl(PR_GET_DUMPABLE) == 0);
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static void A20_rights_dropped_before_the_start(void **state)
{
    (void)state;
    needs_root();
    guest_run(start_after_drop);
    guest_whole_file();
}

/* Only the effective user, there and back, as servers do for one request. */
static int there_and_back(void)
{
    tracer *t = guest_start(1);

    for (int i = 0; i < 100; i++)
        CHECK(seteuid(NOBODY) == 0 && seteuid(0) == 0);
    CHECK(guest_sees_pages(t));
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static void C02_the_effective_user_there_and_back(void **state)
{
    (void)state;
    needs_root();
    guest_run(there_and_back);
}

/* ---- A40: no /proc, another root ---- */

static int chroot_before(void)
{
    char inside[320];
    tracer *t = NULL;

    snprintf(inside, sizeof(inside), "%s/root", host_dir);
    if (mkdir(inside, 0700) || chroot(inside) || chdir("/"))
        return GUEST_SKIP;
    CHECK(tracer_start("/host.db", NULL, &t) == TRACER_EUNSUPPORTED);
    CHECK(strstr(tracer_last_error(), "mount procfs") != NULL);
    CHECK(access("/host.db", F_OK) == -1);
    return 0;
}

/* By the path alone the file could not be found again: sampling, a second log, the end. */
static int chroot_after(void)
{
    tracer *t = guest_start(1);
    char inside[320];

    guest_wait_ticks(t, 3);
    snprintf(inside, sizeof(inside), "%s/root", host_dir);
    if (chroot(inside) || chdir("/"))
        return GUEST_SKIP;
    CHECK(guest_sees_pages(t));
    guest_wait_ticks(t, 50);
    CHECK(guest_stats(t).state == TRACER_STATE_RECORDING);
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static void A40_chroot_before_and_after_the_start(void **state)
{
    char inside[320];

    (void)state;
    needs_root();
    guest_run(chroot_before);
    guest_run(chroot_after);
    snprintf(inside, sizeof(inside), "%s-wal", host_db);
    assert_int_equal(access(inside, F_OK), -1);
    snprintf(inside, sizeof(inside), "%s/root", host_dir);
    assert_int_equal(rmdir(inside), 0); /* nothing was written into it */
    guest_whole_file();
}

static bool own_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static int without_proc(void)
{
    tracer *t = NULL;

    if (!own_mounts() || mount("none", "/proc", "tmpfs", 0, NULL))
        return GUEST_SKIP;
    CHECK(tracer_start(host_db, NULL, &t) == TRACER_EUNSUPPORTED);
    CHECK(strstr(tracer_last_error(), "mount procfs") != NULL);
    CHECK(access(host_db, F_OK) == -1);
    return 0;
}

/* It vanishes while recording: what is open goes on. */
static int proc_vanishes(void)
{
    tracer *t;

    if (!own_mounts())
        return GUEST_SKIP;
    t = guest_start(1);
    CHECK(mount("none", "/proc", "tmpfs", 0, NULL) == 0);
    guest_wait_ticks(t, 20);
    CHECK(guest_sees_pages(t) && guest_stats(t).n_failed == 0);
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

static int hidden_processes(void)
{
    tracer *t;

    if (!own_mounts() || mount("proc", "/proc", "proc", 0, "hidepid=2"))
        return GUEST_SKIP;
    CHECK(chmod(host_dir, 0777) == 0 && chown(host_db, NOBODY, NOBODY) == 0 && become(NOBODY));
    CHECK(access("/proc/1", F_OK) == -1);
    t = guest_start(1);
    guest_wait_ticks(t, 5);
    CHECK(guest_sees_pages(t) && guest_stats(t).state == TRACER_STATE_RECORDING);
    CHECK(tracer_stop(t) == TRACER_OK);
    return 0;
}

/* A container runtime's step: only a process whose folders no other thread shares may do it. */
static int enter_mounts(void)
{
    int here = open("/proc/self/ns/mnt", O_RDONLY);
    tracer *t;

    if (here < 0 || !own_mounts())
        return GUEST_SKIP;
    t = guest_start(1);
    CHECK(setns(here, CLONE_NEWNS) == 0);
    CHECK(guest_sees_pages(t) && tracer_stop(t) == TRACER_OK);
    return 0;
}

static void A40_B09_proc_missing_hidden_or_gone(void **state)
{
    (void)state;
    needs_root();
    guest_run(without_proc);
    guest_run(proc_vanishes);
    guest_run(enter_mounts);
    guest_run(hidden_processes);
    guest_whole_file();
}

/* ---- what others left under the path ---- */

static char folder[320], path[340], victim[340];

static void folder_of(uid_t owner, mode_t mode)
{
    snprintf(folder, sizeof(folder), "%s/shared", host_dir);
    snprintf(path, sizeof(path), "%s/app.db", folder);
    snprintf(victim, sizeof(victim), "%s/victim", host_dir);
    CHECK(mkdir(folder, 0700) == 0);
    CHECK(chown(folder, owner, owner) == 0 && chmod(folder, mode) == 0);
}

static void leave_link(const char *to, const char *at, uid_t owner)
{
    CHECK(symlink(to, at) == 0 && lchown(at, owner, owner) == 0);
}

static void leave_file(const char *at, uid_t owner)
{
    int fd = open(at, O_CREAT | O_EXCL | O_WRONLY, 0666);

    CHECK(fd >= 0 && fchown(fd, owner, owner) == 0 && fchmod(fd, 0666) == 0);
    close(fd);
}

static void clean_folder(void)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char name[360];

    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        unlink(name);
    }
    unlink(victim);
    CHECK(rmdir(folder) == 0);
}

static void expect_refused(const char *what)
{
    tracer *t = NULL;

    CHECK(tracer_start(path, NULL, &t) == TRACER_EDENIED);
    CHECK(strstr(tracer_last_error(), what) != NULL);
    CHECK(access(victim, F_OK) == -1);
    clean_folder();
}

static void expect_started(void)
{
    tracer *t = NULL;

    CHECK(tracer_start(path, NULL, &t) == TRACER_OK);
    CHECK(tracer_stop(t) == TRACER_OK);
    clean_folder();
}

static int links_of_others(void)
{
    char in_folder[360];
    tracer *t = NULL;

    folder_of(0, 01777);
    leave_link(victim, path, SOMEBODY);
    expect_refused("a link of user 12345");
    folder_of(SOMEBODY, 0755); /* his own folder: still root must not be led */
    leave_link(victim, path, SOMEBODY);
    expect_refused("a link of user 12345");
    folder_of(0, 01777);
    leave_link("through", path, 0);
    snprintf(in_folder, sizeof(in_folder), "%s/through", folder);
    leave_link(victim, in_folder, SOMEBODY);
    CHECK(tracer_start(path, NULL, &t) == TRACER_EDENIED && access(victim, F_OK) == -1);
    CHECK(unlink(in_folder) == 0);
    clean_folder();
    folder_of(0, 01777);
    leave_link(victim, path, 0); /* root's own link */
    expect_started();
    return 0;
}

static int files_of_others(void)
{
    char beside[360];

    folder_of(0, 01777);
    leave_file(path, SOMEBODY);
    expect_refused("a file of user 12345");
    for (int i = 0; i < 3; i++) {
        folder_of(0, 01777);
        snprintf(beside, sizeof(beside), "%s%s", path,
                 (const char *[]){"-wal", "-shm", "-journal"}[i]);
        leave_file(beside, SOMEBODY);
        expect_refused(beside);
    }
    folder_of(SOMEBODY, 0755); /* root records into a user's own file, in his folder */
    leave_file(path, SOMEBODY);
    expect_started();
    return 0;
}

static int links_as_an_ordinary_user(void)
{
    tracer *t = NULL;

    folder_of(0, 01777);
    leave_link(victim, path, SOMEBODY);
    CHECK(chmod(host_dir, 0777) == 0 && become(NOBODY));
    CHECK(tracer_start(path, NULL, &t) == TRACER_EDENIED);
    CHECK(access(victim, F_OK) == -1);
    return 0;
}

static int links_as_an_ordinary_user_clean(void)
{
    snprintf(folder, sizeof(folder), "%s/shared", host_dir);
    snprintf(path, sizeof(path), "%s/app.db", folder);
    clean_folder();
    return 0;
}

static void C15_links_and_files_that_others_prepared(void **state)
{
    (void)state;
    needs_root();
    guest_run(links_of_others);
    guest_run(files_of_others);
    guest_run(links_as_an_ordinary_user);
    guest_run(links_as_an_ordinary_user_clean);
}

static int no_mask(void)
{
    char name[340];
    struct stat s;
    tracer *t;

    umask(0);
    t = guest_start(1);
    CHECK(tracer_flush(t) == TRACER_OK);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s%s", host_db, (const char *[]){"", "-wal", "-shm"}[i]);
        CHECK(stat(name, &s) == 0 && (s.st_mode & 0777) == 0600);
    }
    CHECK(tracer_stop(t) == TRACER_OK);
    CHECK(stat(host_db, &s) == 0 && (s.st_mode & 0777) == 0600);
    return 0;
}

static void C15_only_the_user_may_read_whatever_the_mask(void **state)
{
    (void)state;
    guest_run(no_mask);
}

#define T(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(C02_C15_rights_dropped_after_the_start),
        T(A20_rights_dropped_before_the_start),
        T(C02_the_effective_user_there_and_back),
        T(A40_chroot_before_and_after_the_start),
        T(A40_B09_proc_missing_hidden_or_gone),
        T(C15_links_and_files_that_others_prepared),
        T(C15_only_the_user_may_read_whatever_the_mask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
