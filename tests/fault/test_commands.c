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
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "command_call.h"

#define TEXT_BYTES (1 << 20)

#include "command_inputs.h"

/* ---- what must hold ---- */

static const struct command *current;
static struct seen usual;   /* where nothing fails */
static struct faults first; /* what is counted then */
static bool all;            /* of the allocations of SQLite, too */

/* NULL, or what is wrong. */
static const char *wrong(const struct seen *s)
{
    bool same = s->n_out == usual.n_out && !memcmp(s->out, usual.out, s->n_out);

    if (ended_badly(s))
        return ended_badly(s);
    if (s->status == usual.status)
        return !same                           ? "another answer, and nobody is told"
               : strcmp(s->files, usual.files) ? "other files, and nobody is told"
               : s->content != usual.content   ? "a file of another size, and nobody is told"
                                               : NULL;
    if (WEXITSTATUS(s->status) != 2)
        return "an exit code that says something else";
    if (!names_it(s, current->about))
        return "its sentence does not name what it is about";
    return s->files[0] && !strstr(current->leaves, s->files) ? "it left a file" : NULL;
}

static void judge(const struct fault *f, const struct seen *s)
{
    judged(current->line, f, s, wrong(s));
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
        look_at_files(&s, is_input);
        judge(f, &s);
    }
    return false;
}

static void call(const struct fault *f, struct seen *s)
{
    call_line(current->line, f, s);
    look_at_files(s, is_input);
}

/* A reader's query may take so much CPU time; here it would be that of all the processes split off.
 */
int64_t __wrap_mt_os_thread_cpu_ns(void);
int64_t __wrap_mt_os_thread_cpu_ns(void)
{
    return 0;
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
        end_of_command(call_main(current->line));
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
                const struct fault f = {kind, n, stays != 0, false};

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
    print_message("%5u faults: %s (%u %u %u %u %u)\n", tally->n_tried - before, c->line,
                  first.passed[0], first.passed[1], first.passed[2], first.passed[3],
                  first.passed[4]);
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
    all = getenv("MEMTRACER_FULL") != NULL;
    if (begin_calls())
        return -1;
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
