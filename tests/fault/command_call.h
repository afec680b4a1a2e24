/* SPDX-License-Identifier: MIT */
/* A command line in a process of its own, in which a call may fail, and what is seen of it.
 * Included by test_commands.c and test_recorders.c, behind cmocka. */
#ifndef TEST_FAULT_COMMAND_CALL_H
#define TEST_FAULT_COMMAND_CALL_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "faults.h"
#include "fuzz/recording.h"
#include "base/memory.h"
#include "base/os/os.h"

#define HANGS_S 60
#define WORDS_MOST 14

int tool_main(int argc, char **argv);

static int captured[2]; /* stdout and stderr of a command */
static int report;      /* the stderr of the test */

struct seen {
    int status;
    char out[FAULT_OUT_BYTES], err[8192];
    size_t n_out;
    char files[512];  /* that were not there before */
    uint64_t content; /* of these files, as a number: bytes of a database differ by uuids */
};

static struct tally { /* shared by all processes */
    unsigned n_tried, n_wrong;
    struct faults first; /* what is counted where nothing fails */
    struct faults child; /* the same, in what the command forks, before it becomes a program */
} * tally;

static unsigned count_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static unsigned n_descriptors; /* before a command began */

/* A page is kept by which a child of fork() is told from its parent. */
static bool left_pages(uint64_t bytes)
{
    return bytes != 0 && bytes != mt_os_page_bytes();
}

/* Ends a process in which a command ran: what it said is left for its parent. */
static void end_of_command(int code)
{
    const char *out;
    size_t n;

    faults_end();
    fflush(stdout);
    n = faults_output(&out);
    if (atomic_load(&faults.live) || sqlite3_memory_used() || left_pages(mt_memory_held()) ||
        count_descriptors() != n_descriptors) {
        fprintf(stderr, "LEFT BEHIND: %d blocks, %lld bytes of SQLite's, %lld of pages, %d files\n",
                atomic_load(&faults.live), (long long)sqlite3_memory_used(),
                (long long)mt_memory_held(), (int)(count_descriptors() - n_descriptors));
        abort();
    }
    if (pwrite(captured[0], out, n, 0) != (ssize_t)n)
        abort();
    _exit(code);
}

static int call_main(const char *words)
{
    static char line[256], name[] = "memtracer";
    char *argv[WORDS_MOST] = {name}, *at = line;
    int argc = 1;

    snprintf(line, sizeof(line), "%s", words);
    while ((argv[argc] = strsep(&at, " ")))
        argc++;
    n_descriptors = count_descriptors();
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

static pid_t begin_process(void)
{
    pid_t pid;

    forget_captured();
    pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        alarm(HANGS_S);
        dup2(captured[0], STDOUT_FILENO); /* of a program that the command runs */
        dup2(captured[1], STDERR_FILENO);
    }
    return pid;
}

static void wait_for(pid_t pid, struct seen *s)
{
    if (waitpid(pid, &s->status, 0) != pid)
        abort();
    s->n_out = read_back(captured[0], s->out, sizeof(s->out));
    read_back(captured[1], s->err, sizeof(s->err));
}

/* Runs a command once. */
static void call_line(const char *words, const struct fault *f, struct seen *s)
{
    pid_t pid = begin_process();
    int code;

    if (pid == 0) {
        faults_begin(f);
        code = call_main(words);
        if (f->n == 0)
            tally->first = faults;
        end_of_command(code);
    }
    wait_for(pid, s);
}

static uint64_t number_of(const struct stat *st, const char *name)
{
    uint64_t sum = (uint64_t)st->st_size;

    for (; *name; name++)
        sum = (sum ^ (unsigned char)*name) * 0x100000001b3u;
    return sum;
}

static void look_at_files(struct seen *s, bool (*is_input)(const char *name))
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

/* What holds of all commands: NULL, or what is wrong. */
static const char *ended_badly(const struct seen *s)
{
    if (!WIFSIGNALED(s->status))
        return NULL;
    return WTERMSIG(s->status) == SIGALRM ? "it hangs" : "it crashes, or left something behind";
}

static bool names_it(const struct seen *s, const char *about)
{
    char words[64], *at = words, *word;

    snprintf(words, sizeof(words), "memory output %s", about);
    while ((word = strsep(&at, " ")) && !strstr(s->err, word))
        ;
    return word && !strncmp(s->err, "memtracer: ", 11);
}

static void judged(const char *line, const struct fault *f, const struct seen *s, const char *wrong)
{
    static const char *const kinds[FAULT_KINDS] = {"allocation", "allocation of SQLite",
                                                   "open or read", "write", "call"};

    tally->n_tried++;
    if (!wrong)
        return;
    tally->n_wrong++;
    dprintf(report, "%s: %s%s %u fails%s: %s (status %x, files %s)\n%.300s\n", line,
            f->in_child ? "before exec " : "", kinds[f->kind], f->n, f->stays ? " for good" : "",
            wrong, (unsigned)s->status, s->files, s->err);
}

static int begin_calls(void)
{
    setenv("LC_ALL", "C", 1);
    setenv("COLUMNS", "80", 1);
    faults_install();
    tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    report = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (tally == MAP_FAILED || report < 0)
        return -1;
    faults_of_child = &tally->child;
    folder_make(); /* and not left by a child that exits */
    setenv("TMPDIR", folder_path, 1);
    for (int i = 0; i < 2; i++) {
        captured[i] = open(folder_path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (captured[i] < 0)
            return -1;
    }
    return 0;
}

#endif
