/* SPDX-License-Identifier: MIT */
/* Description: in each command of the command line the n-th allocation, the n-th open or read, the
 * n-th write, sync or truncate fails, for every n, once and from then on. Then the command answers
 * as if nothing had been, or it exits with 2 and a sentence that names what it is about; it never
 * crashes, hangs, keeps memory or leaves a half file. Of the allocations that SQLite makes in one
 * call of ours, which all end in the same answer to us, the first and the last fail, of a command
 * that writes files the first; MEMTRACER_FULL=1: each.
 *     test_commands [readers|writers]   those that write no file (default), or the others */
#define _GNU_SOURCE
#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "faults.h"
#include "fuzz/recording.h"

#define HANGS_S 60
#define WORDS_MOST 14
#define TEXT_BYTES (1 << 20)

int tool_main(int argc, char **argv);

#include "command_inputs.h"

/* ---- one call ---- */

struct seen {
    int status;
    char out[FAULT_OUT_BYTES], err[8192];
    size_t n_out;
    char files[512];  /* that were not there before */
    uint64_t content; /* of these files, as a number: bytes of a database differ by uuids */
};

/* Ends a process in which a command ran: what it said is left for its parent. */
static void end_of_command(int code)
{
    const char *out;
    size_t n;

    faults_end();
    fflush(stdout);
    n = faults_output(&out);
    if (atomic_load(&faults.live) || sqlite3_memory_used()) {
        fprintf(stderr, "LEFT BEHIND: %d blocks, %lld bytes of SQLite's\n",
                atomic_load(&faults.live), (long long)sqlite3_memory_used());
        abort();
    }
    if (pwrite(captured[0], out, n, 0) != (ssize_t)n)
        abort();
    _exit(code);
}

static int call_main(const struct command *c)
{
    static char line[256], name[] = "memtracer";
    char *argv[WORDS_MOST] = {name}, *at = line;
    int argc = 1;

    snprintf(line, sizeof(line), "%s", c->line);
    while ((argv[argc] = strsep(&at, " ")))
        argc++;
    return tool_main(argc, argv);
}

static void forget_captured(void)
{
    for (int i = 0; i < 2; i++)
        if (ftruncate(captured[i], 0) || lseek(captured[i], 0, SEEK_SET))
            abort();
}

static size_t read_back(int fd, char *out, size_t room)
{
    ssize_t n = pread(fd, out, room - 1, 0);

    n = n < 0 ? 0 : n;
    out[n] = '\0';
    return (size_t)n;
}

static uint64_t number_of(const struct stat *st, const char *name)
{
    uint64_t sum = (uint64_t)st->st_size;

    for (; *name; name++)
        sum = (sum ^ (unsigned char)*name) * 0x100000001b3u;
    return sum;
}

static void look_at_files(struct seen *s)
{
    DIR *d = opendir(".");
    struct dirent *e;
    struct stat st;

    s->files[0] = '\0';
    s->content = 0;
    while (d && (e = readdir(d))) {
        if (e->d_name[0] == '.' || is_input(e->d_name) || stat(e->d_name, &st))
            continue;
        snprintf(s->files + strlen(s->files), sizeof(s->files) - strlen(s->files), "%s ",
                 e->d_name);
        s->content += number_of(&st, e->d_name);
    }
    if (d)
        closedir(d);
}

static void wait_for(pid_t pid, struct seen *s)
{
    if (waitpid(pid, &s->status, 0) != pid)
        abort();
    s->n_out = read_back(captured[0], s->out, sizeof(s->out));
    read_back(captured[1], s->err, sizeof(s->err));
    look_at_files(s);
}

/* ---- what must hold ---- */

static const struct command *current;
static struct seen usual;   /* where nothing fails */
static struct faults first; /* what is counted then */
static bool all;            /* of the allocations of SQLite, too */

static struct tally { /* shared by all processes */
    unsigned n_tried, n_wrong;
    struct faults first;
} * tally;

static bool names_it(const char *err)
{
    char words[64], *at = words, *word;

    snprintf(words, sizeof(words), "memory output %s", current->about);
    while ((word = strsep(&at, " ")) && !strstr(err, word))
        ;
    return word != NULL;
}

/* NULL, or what is wrong. */
static const char *wrong(const struct seen *s)
{
    bool same = s->n_out == usual.n_out && !memcmp(s->out, usual.out, s->n_out);

    if (WIFSIGNALED(s->status))
        return WTERMSIG(s->status) == SIGALRM ? "it hangs" : "it crashes, or left memory behind";
    if (s->status == usual.status)
        return !same                           ? "another answer, and nobody is told"
               : strcmp(s->files, usual.files) ? "other files, and nobody is told"
               : s->content != usual.content   ? "a file of another size, and nobody is told"
                                               : NULL;
    if (WEXITSTATUS(s->status) != 2)
        return "an exit code that says something else";
    if (strncmp(s->err, "memtracer: ", 11) != 0 || !names_it(s->err))
        return "its sentence does not name what it is about";
    return s->files[0] && !strstr(current->leaves, s->files) ? "it left a file" : NULL;
}

static void judge(const struct fault *f, const struct seen *s)
{
    static const char *const kinds[] = {"allocation", "allocation of SQLite", "open or read",
                                        "write"};
    const char *what = wrong(s);

    tally->n_tried++;
    if (!what)
        return;
    tally->n_wrong++;
    dprintf(report, "%s: %s %u fails%s: %s (status %x, files %s)\n%.300s\n", current->line,
            kinds[f->kind], f->n, f->stays ? " for good" : "", what, (unsigned)s->status, s->files,
            s->err);
}

/* ---- every fault of a command ---- */

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* A command that is run anew for each fault costs twenty times as much: once and for good in turn.
 */
static bool is_way(unsigned n, int stays)
{
    return all || n % 2 == (unsigned)stays;
}

static bool is_of_interest(enum fault_kind kind, unsigned n)
{
    if (all || kind != FAULT_SQLITE_MEMORY || n == first.passed[kind])
        return true;
    for (uint32_t k = n; k <= n + !current->writes; k++)
        if (bsearch(&k, first.sqlite_first, first.n_sqlite_first, sizeof(k), by_number))
            return true;
    return false;
}

static pid_t begin_process(void)
{
    pid_t pid;

    forget_captured();
    pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        alarm(HANGS_S);
        dup2(captured[1], STDERR_FILENO);
    }
    return pid;
}

/* A child for each fault, which goes on from here. */
static bool split(struct fault *f)
{
    static struct seen s;

    for (int stays = 0; stays < 2 && is_of_interest(f->kind, f->n); stays++) {
        pid_t pid;

        f->stays = stays != 0;
        pid = begin_process();
        if (pid == 0)
            return true;
        wait_for(pid, &s);
        judge(f, &s);
    }
    return false;
}

static void call(const struct fault *f, struct seen *s)
{
    pid_t pid = begin_process();
    int code;

    if (pid == 0) {
        faults_begin(f);
        code = call_main(current);
        if (f->n == 0)
            tally->first = faults;
        end_of_command(code);
    }
    wait_for(pid, s);
}

/* What writes no file is run once: what came before a fault need not be done again for it. */
static void split_at_every_fault(void)
{
    int status;
    pid_t pid;

    lay_inputs();
    pid = fork();
    if (pid == 0) {
        faults_explore(split);
        end_of_command(call_main(current));
    }
    if (waitpid(pid, &status, 0) != pid || status != usual.status)
        tally->n_wrong++;
}

/* Of what a fault left, the same command makes what it should have been. */
static void expect_to_go_on(const struct fault *f)
{
    static struct seen s;

    call(&(struct fault){0}, &s);
    judge(f, &s);
}

static void call_with_every_fault(void)
{
    static struct seen s;

    for (int kind = 0; kind < FAULT_KINDS; kind++)
        for (unsigned n = 1; n <= first.passed[kind]; n++)
            for (int stays = 0; stays < 2 && is_of_interest(kind, n); stays++) {
                const struct fault f = {kind, n, stays != 0};

                if (!is_way(n, stays))
                    continue;
                lay_inputs();
                call(&f, &s);
                judge(&f, &s);
                if (current->leaves[0])
                    expect_to_go_on(&f);
            }
}

static void try_command(const struct command *c)
{
    unsigned before = tally->n_tried;

    current = c;
    lay_inputs();
    call(&(struct fault){0}, &usual);
    if (!WIFEXITED(usual.status) || WEXITSTATUS(usual.status) == 1) {
        print_error("%s: without a fault: status %x\n%s\n", c->line, (unsigned)usual.status,
                    usual.err);
        tally->n_wrong++;
        return;
    }
    first = tally->first;
    if (c->writes)
        call_with_every_fault();
    else
        split_at_every_fault();
    print_message("%5u faults: %s (%u %u %u %u)\n", tally->n_tried - before, c->line,
                  first.passed[0], first.passed[1], first.passed[2], first.passed[3]);
}

static void every_command_stands_every_fault(void **state)
{
    const char *only = getenv("MEMTRACER_ONLY");

    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (only ? !strncmp(commands[i].line, only, strlen(only)) : commands[i].writes == writers)
            try_command(&commands[i]);
    print_message("%u faults\n", tally->n_tried);
    assert_true(tally->n_tried > 0);
    assert_int_equal(tally->n_wrong, 0);
}

static int begin(void **state)
{
    (void)state;
    setenv("LC_ALL", "C", 1);
    setenv("COLUMNS", "80", 1);
    faults_install();
    all = getenv("MEMTRACER_FULL") != NULL;
    tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    report = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (tally == MAP_FAILED || report < 0)
        return -1;
    folder_make(); /* and not left by a child that exits */
    setenv("TMPDIR", folder_path, 1);
    for (int i = 0; i < 2; i++) {
        captured[i] = open(folder_path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (captured[i] < 0)
            return -1;
    }
    make_inputs();
    return 0;
}

static int end(void **state)
{
    (void)state;
    lay_inputs(); /* folders go with it */
    folder_leave();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_command_stands_every_fault)};

    writers = argc > 1 && !strcmp(argv[1], "writers");
    return cmocka_run_group_tests(tests, begin, end);
}
