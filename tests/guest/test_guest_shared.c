/* SPDX-License-Identifier: MIT */
/* Description: a recorder that had to share the host's table of descriptors leaves alone what the
 * host opens at the numbers it closed: each number alone, and all at once. */
#define _GNU_SOURCE
#include "guest.h"
#include "filter.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SYS_CLOSE_RANGE 436
#define NO_SUCH 3 /* exit code: the recorder has no more descriptors than that */
#define NUMBERS_MOST 65536
#define AT_ONCE_MOST 256
#define STOP_SECONDS 20
#define TEXT "0123456789"
#define OFFSET 5

/* Without the third it reads memory by a descriptor, too. */
static const int refused[] = {SYS_unshare, SYS_CLOSE_RANGE, SYS_process_vm_readv};

enum kind { A_FILE, A_PIPE, A_FOLDER, KINDS };

struct taken {
    int fd;
    enum kind kind;
    struct stat what;
};

static int which;      /* of the recorder's descriptors, by order; -1 = all, and 3 to 63 */
static enum kind kind; /* what the first becomes, the next one of another kind */

static void host_path(char *out, size_t bytes, int number)
{
    snprintf(out, bytes, "%s/host-%d", host_dir, number);
}

static int open_file(int number)
{
    char path[340];
    int fd;

    host_path(path, sizeof(path), number);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, TEXT, strlen(TEXT)) == (ssize_t)strlen(TEXT));
    CHECK(lseek(fd, OFFSET, SEEK_SET) == OFFSET);
    return fd;
}

/* Its other end stays open under any number. */
static int open_pipe(void)
{
    int ends[2];

    CHECK(pipe(ends) == 0 && write(ends[1], TEXT, strlen(TEXT)) == (ssize_t)strlen(TEXT));
    return ends[0];
}

static void take(struct taken *t, int number, enum kind what)
{
    int fd = what == A_FILE   ? open_file(number)
             : what == A_PIPE ? open_pipe()
                              : open(host_dir, O_RDONLY | O_DIRECTORY);

    CHECK(fd >= 0);
    if (fd != number) {
        CHECK(dup2(fd, number) == number);
        close(fd);
    }
    *t = (struct taken){.fd = number, .kind = what};
    CHECK(fstat(number, &t->what) == 0);
}

/* Another's lock on the file would be in this one's way. */
static void check_unlocked(int number)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[340];
    int fd;

    host_path(path, sizeof(path), number);
    fd = open(path, O_RDWR);
    CHECK(fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK);
    close(fd);
}

static void check(const struct taken *t)
{
    struct stat now;
    char text[16];
    int waiting = 0;

    CHECK(fstat(t->fd, &now) == 0);
    CHECK(now.st_ino == t->what.st_ino && now.st_dev == t->what.st_dev);
    if (t->kind == A_PIPE) {
        CHECK(ioctl(t->fd, FIONREAD, &waiting) == 0 && waiting == (int)strlen(TEXT));
        return;
    }
    CHECK(lseek(t->fd, 0, SEEK_CUR) == (t->kind == A_FILE ? OFFSET : 0));
    if (t->kind == A_FOLDER)
        return;
    CHECK(now.st_size == t->what.st_size && (now.st_mode & 0777) == 0600);
    CHECK(pread(t->fd, text, sizeof(text), 0) == (ssize_t)strlen(TEXT));
    CHECK(!memcmp(text, TEXT, strlen(TEXT)));
    check_unlocked(t->fd);
}

/* No look, no commit is under way when it returns: the host comes between two, as most do. */
static void let_it_rest(tracer *t)
{
    CHECK(tracer_pause(t) == TRACER_OK && tracer_flush(t) == TRACER_OK);
    usleep(20000);
}

/* Memory that is new each time, so that the next looks go deep. */
static void change_memory(void)
{
    for (int i = 0; i < 8; i++) {
        char *p = mmap(NULL, (size_t)(i + 1) << 16, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        CHECK(p != MAP_FAILED);
        memset(p, 1, (size_t)(i + 1) << 16);
    }
}

static void look_for_a_while(tracer *t)
{
    CHECK(tracer_resume(t) == TRACER_OK);
    for (int i = 0; i < 5; i++) {
        change_memory();
        tracer_sample(t);
        usleep(5000);
    }
    tracer_mark(t, "into whose file?");
    tracer_flush(t);
}

static void stop_in_time(tracer *t)
{
    struct timespec begun, ended;

    clock_gettime(CLOCK_MONOTONIC, &begun);
    tracer_stop(t);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    CHECK(ended.tv_sec - begun.tv_sec < STOP_SECONDS);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) != -1;
}

/* The recorder's own, by order: those that were not there before. */
static int find_numbers(int *out, const bool *before)
{
    int n = 0;

    for (int fd = 3; fd < NUMBERS_MOST && n < AT_ONCE_MOST; fd++)
        if (is_open(fd) && !before[fd])
            out[n++] = fd;
    return n;
}

static int take_numbers(struct taken *out, const int *numbers, int n)
{
    int taken = 0;

    if (which >= 0) {
        take(&out[taken++], numbers[which], kind);
        return taken;
    }
    for (int fd = 3; fd < NUMBERS_MOST; fd++)
        close(fd);
    for (int i = 0; i < n; i++)
        take(&out[taken++], numbers[i], (enum kind)(((int)kind + i) % KINDS));
    for (int fd = 3; fd < 64; fd++)
        if (!is_open(fd))
            take(&out[taken++], fd, (enum kind)(((int)kind + fd) % KINDS));
    return taken;
}

static int take_over(void)
{
    static struct taken taken[AT_ONCE_MOST + 64];
    static bool before[NUMBERS_MOST];
    int numbers[AT_ONCE_MOST], n;
    tracer *t;

    for (int fd = 0; fd < NUMBERS_MOST; fd++)
        before[fd] = is_open(fd);
    if (!filter_calls(refused, COUNT(refused), FILTER_ANSWER(EPERM), FILTER_ALLOW))
        return GUEST_SKIP;
    t = guest_start(1);
    guest_wait_ticks(t, 5);
    CHECK(guest_stats(t).state == TRACER_STATE_DEGRADED);
    let_it_rest(t);
    n = find_numbers(numbers, before);
    CHECK(n > 8);
    if (which >= n)
        return NO_SUCH;
    n = take_numbers(taken, numbers, n);
    look_for_a_while(t);
    for (int i = 0; i < n; i++)
        check(&taken[i]);
    stop_in_time(t);
    for (int i = 0; i < n; i++)
        check(&taken[i]);
    return 0;
}

/* What the hosts left; a recording that was cut off is made whole. */
static void clean_up(void)
{
    struct dirent *e;
    char path[600];
    DIR *d = opendir(host_dir);

    while (d && (e = readdir(d)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", host_dir, e->d_name);
        if (!strncmp(e->d_name, "host-", 5))
            unlink(path);
    }
    if (d)
        closedir(d);
}

static void C13_each_number_alone(void **state)
{
    int n = 0;

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        for (which = 0;; which++, n++) {
            int status;

            kind = (enum kind)k;
            status = guest_status(take_over);
            if (WIFEXITED(status) && WEXITSTATUS(status) == GUEST_SKIP)
                skip();
            if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SUCH)
                break;
            if (status)
                fail_msg("number %d, kind %d: status %x", which, k, (unsigned)status);
        }
    }
    print_message("%d numbers\n", n);
    clean_up();
    tracer_file_finish(host_db);
    guest_whole_file();
}

static void C13_all_numbers_at_once(void **state)
{
    (void)state;
    which = -1;
    for (int k = 0; k < KINDS; k++) {
        kind = (enum kind)k;
        guest_run(take_over);
    }
    clean_up();
    tracer_file_finish(host_db);
    guest_whole_file();
}

#define T(f) cmocka_unit_test_setup_teardown(f, host_begin, host_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(C13_each_number_alone),
        T(C13_all_numbers_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
