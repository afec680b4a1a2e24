/* SPDX-License-Identifier: MIT */
/* Description: in the commands that record, `run`, `record` and `top PID`, the n-th allocation, the
 * n-th open or read, the n-th write, sync or truncate, the n-th ioctl(), fork() or thread fails,
 * once and from then on. They never crash, hang, keep memory or descriptors. A program that could
 * be started says and returns what it always does, and its file is whole. What is recorded of a
 * process that does nothing is as always, or unknown, or the file says that something failed; where
 * the exit code is not 0 a sentence names what it is about, and no run looks as if it were whole.
 *     test_recorders run|record|top   MEMTRACER_FULL=1: more of the calls, see is_of_interest() */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "command_call.h"
#include "recorder_target.h"

struct command {
    const char *line; /* @ is the process that is looked at */
    const char *about;
};

static const struct command commands[] = {
    {"run -o out.db -- sh say.sh", "run out.db say.sh sh"},
    {"run -o out.db --json --label l -- ./say", "run out.db say sh"},
    {"run -o old.db -- sh say.sh", "run old.db say.sh sh"},
    {"record -o out.db --duration 0.01 --interval 4 --pid @", "record out.db"},
    {"record -o old.db --duration 0.01 --interval 4 --json --pid @", "record old.db"},
    {"top @ --interval 50ms --json", "top"},
    {"top @ --interval 50ms --ascii", "top"},
};

static const char said[] = "said\n";
#define SAID_CODE 7

/* What it waits for is nothing here. */
bool __wrap_platform_wait(int64_t ns);
bool __real_platform_wait(int64_t ns);

bool __wrap_platform_wait(int64_t ns)
{
    return __real_platform_wait(ns < 1000000 ? ns : 1000000);
}

/* ---- files ---- */

static void lay_file(const char *name, const char *text, mode_t mode)
{
    folder_write(name, text, strlen(text));
    if (chmod(name, mode))
        abort();
}

static void lay_inputs(void)
{
    folder_empty();
    folder_write("old.db", recording, recording_bytes);
    lay_file("say.sh", "echo said\nexit 7\n", 0600);
    lay_file("say", "#!/usr/bin/env sh\necho said\nexit 7\n", 0700);
}

/* Of the newest run of a file. */
struct left {
    bool there, readable;
    const char *broken; /* why it is not sound */
    int64_t run, n_samples, old_rows, private_bytes;
    bool stopped, told;
    char text[4096]; /* types and their bytes */
};

static int take_left(void *user, uint32_t n, const char *const *names, const tracer_value *v)
{
    struct left *l = user;

    (void)n;
    (void)names;
    l->run = v[0].integer;
    l->stopped = v[1].integer != 0;
    l->told = v[2].integer != 0;
    l->n_samples = v[3].integer;
    l->old_rows = v[4].integer;
    l->private_bytes = v[5].integer;
    snprintf(l->text, sizeof(l->text), "%s", v[6].bytes ? v[6].bytes : "");
    return 0;
}

static int take_word(void *user, uint32_t n, const char *const *names, const tracer_value *v)
{
    (void)n;
    (void)names;
    *(bool *)user = v[0].bytes && !strcmp(v[0].bytes, "ok");
    return 0;
}

/* 223: flags that say that something is not as it should be; not a gap, a jump of the clock or that
 * a sample was asked for. */
static const char question[] =
    "SELECT r.id, state = 'stopped' AND stop_wall_ns IS NOT NULL, state_detail <> '' OR "
    "state = 'degraded' OR EXISTS (SELECT 1 FROM sample WHERE run = r.id AND flags & 223),"
    "(SELECT count(*) FROM sample WHERE run = r.id), (SELECT count(*) FROM level WHERE run <= 2),"
    "(SELECT private FROM vmmap WHERE type = 'total'),"
    "(SELECT group_concat(type || ' ' || concat, '; ') FROM (SELECT type, ifnull(size, '?') || ' ' "
    "|| ifnull(committed, '?') || ' ' || ifnull(ws, '?') || ' ' || ifnull(private, '?') AS concat "
    "FROM vmmap WHERE type NOT IN ('free', 'total'))) FROM run r ORDER BY id DESC LIMIT 1";

static void look_at_file(const char *name, struct left *out)
{
    tracer_reader *r;
    bool sound = false;

    *out = (struct left){.there = !access(name, F_OK)};
    if (!out->there)
        return;
    if (tracer_reader_open(name, &r) && (!strstr(tracer_last_error(), "memtracer finish") ||
                                         tracer_file_finish(name) || tracer_reader_open(name, &r)))
        return;
    out->readable = true;
    if (tracer_reader_query(r, "PRAGMA integrity_check", NULL, 0, take_word, &sound) || !sound)
        out->broken = "its file is damaged";
    else if (tracer_reader_query(r, question, NULL, 0, take_left, out))
        out->broken = "its file cannot be asked";
    tracer_reader_close(r);
}

static bool is_input(const char *name)
{
    return !strcmp(name, "old.db") || !strncmp(name, "say", 3);
}

/* ---- what must hold ---- */

static const struct command *current;
static struct seen usual;
static struct left usual_left, old;
static bool all;

/* Word by word; an unknown value is none that is wrong. */
static bool says_the_same(const char *usual_text, const char *text)
{
    while (*usual_text && *text) {
        if (*text == '?' || !strncmp(text, "null", 4)) {
            text += *text == '?' ? 1 : 4;
            usual_text += strcspn(usual_text, " ;,\n");
        } else if (*usual_text++ != *text++) {
            return false;
        }
    }
    return !*usual_text && !*text;
}

/* What goes for every file that is left. */
static const char *wrong_file(const struct left *l)
{
    bool is_old = strstr(current->line, "old.db") != NULL;

    if (l->broken)
        return l->broken;
    if (is_old && (!l->readable || l->old_rows != old.old_rows))
        return "what was in its file before is not there any more";
    if (l->readable && l->run > (is_old ? old.run : 0) && l->n_samples == 0 && l->stopped &&
        !l->told)
        return "a run without a sample, and nobody is told";
    return NULL;
}

static const char *wrong_run(const struct seen *s, const struct left *l)
{
    if (s->n_out == 0) { /* it was not started */
        if (WEXITSTATUS(s->status) != 2 || !names_it(s, current->about))
            return "the program was not started, and nobody is told why";
        return l->readable && l->run > old.run ? "a run of a program that was not started" : NULL;
    }
    if (s->n_out != strlen(said) || memcmp(s->out, said, s->n_out) != 0)
        return "the program said something else";
    if (WEXITSTATUS(s->status) != SAID_CODE)
        return "an exit code that is not the program's";
    if (!l->readable || l->n_samples == 0 || !l->stopped)
        return "the program was not recorded";
    if (strstr(s->err, "nothing was recorded"))
        return "it says that nothing was recorded, and there it is";
    if (strstr(s->files, "-wal") && !names_it(s, current->about))
        return "its file is not finished, and nobody is told";
    return NULL;
}

static bool is_as_usual(const struct left *l)
{
    return says_the_same(usual_left.text, l->text);
}

static const char *wrong_success(const struct seen *s, const struct left *l)
{
    if (!l->readable || !l->stopped || strstr(s->files, "-wal"))
        return "its file is not whole, and nobody is told";
    return l->told || is_as_usual(l) ? NULL : "other numbers, and nobody is told";
}

static const char *wrong_record(const struct seen *s, const struct left *l)
{
    bool looks_whole = l->readable && l->run == usual_left.run && l->stopped && !l->told;

    if (WEXITSTATUS(s->status) == 0)
        return wrong_success(s, l);
    if (WEXITSTATUS(s->status) != 2 || !names_it(s, current->about))
        return "its sentence does not name what it is about";
    if (strstr(s->err, "journal mode") || strstr(s->err, "output")) /* all is in it or its -wal */
        looks_whole = looks_whole && !is_as_usual(l);
    return looks_whole ? "it failed, and its file looks whole" : NULL;
}

/* Behind the head with times. */
static const char *body(const char *frame)
{
    const char *from = strstr(frame, strstr(current->line, "json") ? "\"types\"" : "\nprivate ");

    return from ? from : "";
}

static const char *wrong_top(const struct seen *s, const struct left *l)
{
    (void)l;
    if (s->files[0])
        return "it left a file";
    if (WEXITSTATUS(s->status) == 0)
        return says_the_same(body(usual.out), body(s->out)) ? NULL : "another answer";
    return WEXITSTATUS(s->status) == 2 && names_it(s, current->about)
               ? NULL
               : "its sentence does not name what it is about";
}

static const char *wrong(const struct seen *s, const struct left *l)
{
    static const struct {
        const char *name;
        const char *(*judge)(const struct seen *s, const struct left *l);
    } judges[] = {{"run", wrong_run}, {"record", wrong_record}, {"top", wrong_top}};
    const char *what = ended_badly(s);

    if (!what)
        what = wrong_file(l);
    for (size_t i = 0; i < 3 && !what; i++)
        if (!strncmp(current->line, judges[i].name, strlen(judges[i].name)))
            what = judges[i].judge(s, l);
    return what;
}

/* The course of each type, at the end of its line, is of its looks, whose number differs. Here
 * nothing grows, so that it is points and blanks. */
static void cut_course(char *frame)
{
    char *to = frame;

    for (const char *from = frame; *from; from++) {
        if (*from == '\n')
            while (to > frame && strchr(" .", to[-1]))
                to--;
        *to++ = *from;
    }
    *to = '\0';
}

/* ---- every fault of a command ---- */

static void call(const struct fault *f, struct seen *s, struct left *l)
{
    const char *at = strchr(current->line, '@'), *file = strstr(current->line, "old.db");
    char line[128];

    if (at)
        snprintf(line, sizeof(line), "%.*s%d%s", (int)(at - current->line), current->line,
                 (int)target, at + 1);
    else
        snprintf(line, sizeof(line), "%s", current->line);
    lay_inputs();
    call_line(line, f, s);
    cut_course(s->out);
    look_at_files(s, is_input);
    look_at_file(file ? "old.db" : "out.db", l);
}

/* Of many calls of a kind those at the begin, and of the others some; MEMTRACER_FULL=1: the first
 * 400, and of the others one in 67. */
static bool is_of_interest(unsigned n, unsigned of, bool stays)
{
    unsigned step = of / 16 + 1;

    if (all)
        return n <= 400 || n % 67 == 0;
    return n % 2 == stays && (n <= 16 || n / 2 % step == 0);
}

static void call_with_faults(const struct faults *counted, bool in_child)
{
    static struct seen s;
    static struct left l;

    for (int kind = 0; kind < FAULT_KINDS; kind++)
        for (unsigned n = 1; n <= counted->passed[kind]; n++)
            for (int stays = 0; stays < 2; stays++) {
                const struct fault f = {kind, n, stays != 0, in_child};

                if (!is_of_interest(n, counted->passed[kind], stays))
                    continue;
                call(&f, &s, &l);
                judged(current->line, &f, &s, wrong(&s, &l));
            }
}

static void print_counts(const char *what, const struct faults *f)
{
    print_message("  %s: %u %u %u %u %u", what, f->passed[0], f->passed[1], f->passed[2],
                  f->passed[3], f->passed[4]);
}

static void try_command(const struct command *c)
{
    static struct faults first, child;
    unsigned before = tally->n_tried;

    current = c;
    memset(&tally->child, 0, sizeof(tally->child));
    usual_left.told = true;
    for (int i = 0; i < 10 && usual_left.told;
         i++) /* a busy machine may leave some to be counted */
        call(&(struct fault){0}, &usual, &usual_left);
    first = tally->first;
    child = tally->child;
    if (wrong(&usual, &usual_left))
        fail_msg("%s: without a fault: %s: %s %s", c->line, wrong(&usual, &usual_left), usual.err,
                 usual.out);
    if (!strncmp(c->line, "record", 6))
        assert_true(usual_left.private_bytes >= TARGET_BYTES);
    call_with_faults(&first, false);
    call_with_faults(&child, true);
    print_message("%5u faults: %s\n", tally->n_tried - before, c->line);
    print_counts("calls", &first);
    print_counts("before exec", &child);
    print_message("\n");
}

static const char *part = "run";

static void every_recorder_stands_every_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (!strncmp(commands[i].line, part, strlen(part)))
            try_command(&commands[i]);
    print_message("%u faults\n", tally->n_tried);
    assert_true(tally->n_tried > 0);
    assert_int_equal(tally->n_wrong, 0);
}

static int begin(void **state)
{
    (void)state;
    all = getenv("MEMTRACER_FULL") != NULL;
    start_target();
    if (begin_calls())
        return -1;
    setenv("MEMTRACER_PRELOAD", PRELOAD_LIBRARY, 1);
    recording_make();
    lay_inputs();
    look_at_file("old.db", &old);
    return 0;
}

static int end(void **state)
{
    (void)state;
    kill(target, SIGKILL);
    folder_leave();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_recorder_stands_every_fault)};

    if (argc > 2 && !strcmp(argv[1], "target"))
        return be_target((int)strtol(argv[2], NULL, 10));
    if (argc > 1)
        part = argv[1];
    return cmocka_run_group_tests(tests, begin, end);
}
