/* SPDX-License-Identifier: MIT */
/* tools: a command line → the file it starts, or a sentence why it cannot be recorded.
 * In: argv, the preload library. Out: file and argv for execve(). Called by launch_linux.c.
 * Uses: ELF headers (elf.h), PATH, xattr security.capability (Linux 2.6.24). */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../command.h"
#include "program.h"

#define SCRIPT_DEPTH_MAX 4
#define HEAD_BYTES 256

struct elf {
    unsigned char ident[EI_NIDENT];
    unsigned machine;
    bool is_elf;
    char loader[128]; /* empty = statically linked */
};

bool program_is_readable(const char *path)
{
    return access(path, R_OK) == 0;
}

/* ---- ELF ---- */

static void read_loader(int fd, const ElfW(Ehdr) * header, struct elf *out)
{
    ElfW(Phdr) part;

    for (unsigned i = 0; i < header->e_phnum; i++) {
        off_t at = (off_t)(header->e_phoff + (size_t)i * header->e_phentsize);
        ssize_t n;

        if (pread(fd, &part, sizeof(part), at) != (ssize_t)sizeof(part))
            return;
        if (part.p_type != PT_INTERP)
            continue;
        n = pread(fd, out->loader, sizeof(out->loader) - 1, (off_t)part.p_offset);
        out->loader[n > 0 ? n : 0] = '\0';
        return;
    }
}

/* The program headers are read only where they have this build's own shape; others are refused
 * by their ident first. */
static bool read_elf(const char *path, struct elf *out)
{
    static const unsigned char own_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    ElfW(Ehdr) header = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    memset(out, 0, sizeof(*out));
    if (fd < 0)
        return false;
    if (pread(fd, &header, sizeof(header), 0) >= (ssize_t)sizeof(header) - 16 &&
        !memcmp(header.e_ident, ELFMAG, SELFMAG)) {
        out->is_elf = true;
        out->machine = header.e_machine;
        memcpy(out->ident, header.e_ident, EI_NIDENT);
        if (header.e_ident[EI_CLASS] == own_class)
            read_loader(fd, &header, out);
    }
    close(fd);
    return true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool gains_rights(const char *path)
{
    struct stat s;

    if (stat(path, &s))
        return false;
    if ((s.st_mode & S_ISUID && s.st_uid != geteuid()) ||
        (s.st_mode & S_ISGID && s.st_gid != getegid()))
        return true;
    return geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static bool can_be_preloaded(const char *path, const struct elf *program, const char *preload)
{
    struct elf library, self;

    read_elf(preload, &library);
    read_elf("/proc/self/exe", &self);
    if (program->ident[EI_CLASS] != library.ident[EI_CLASS] ||
        program->ident[EI_DATA] != library.ident[EI_DATA] || program->machine != library.machine) {
        complain("%s: is a program of another architecture than this memtracer", path);
        return false;
    }
    if (!program->loader[0]) {
        complain("%s: is statically linked, so that nothing can be preloaded; start it, then: "
                 "memtracer record --pid PID",
                 path);
        return false;
    }
    if (self.loader[0] && strcmp(base_name(program->loader), base_name(self.loader)) != 0) {
        complain("%s: uses the C library of %s, this memtracer that of %s; start it, then: "
                 "memtracer record --pid PID",
                 path, program->loader, self.loader);
        return false;
    }
    if (gains_rights(path)) {
        complain("%s: gains rights when it starts (set-user-id, set-group-id or capabilities), "
                 "and then nothing is preloaded; start it, then as root: memtracer record "
                 "--pid PID",
                 path);
        return false;
    }
    return true;
}

/* ---- finding ---- */

static char *join(const char *folder, size_t n, const char *name)
{
    char *path = need(malloc(n + strlen(name) + 3));

    snprintf(path, n + strlen(name) + 3, "%.*s%s%s", (int)n, folder, n ? "/" : "./", name);
    return path;
}

static bool is_program(const char *path)
{
    struct stat s;

    return !stat(path, &s) && S_ISREG(s.st_mode) && !access(path, X_OK);
}

static char *search_path(const char *name)
{
    const char *folders = getenv("PATH");
    size_t n;

    for (folders = folders ? folders : "/usr/bin:/bin"; *folders; folders += n) {
        char *path;

        n = strcspn(folders, ":");
        path = join(folders, n, name);
        if (is_program(path))
            return path;
        free(path);
        n += folders[n] == ':';
    }
    return NULL;
}

static char *find_file(const char *name)
{
    char *file = strchr(name, '/') ? need(strdup(name)) : search_path(name);

    if (file && is_program(file))
        return file;
    complain(file ? "%s: is no file that can be executed" : "%s: there is no such program in PATH",
             name);
    free(file);
    return NULL;
}

/* ---- scripts ---- */

/* The interpreter and its one argument (empty = none) of a script; false for what is none. */
static bool read_script(const char *path, char *head, char **interpreter, char **argument)
{
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(head, 1, HEAD_BYTES - 1, file) : 0;
    char *end;

    if (file)
        fclose(file);
    head[n] = '\0';
    if (strncmp(head, "#!", 2) != 0)
        return false;
    head[strcspn(head, "\n")] = '\0';
    *interpreter = head + 2 + strspn(head + 2, " \t");
    end = *interpreter + strcspn(*interpreter, " \t");
    *argument = end + strspn(end, " \t");
    *end = '\0';
    for (end = *argument + strlen(*argument); end > *argument && strchr(" \t\r", end[-1]); end--)
        end[-1] = '\0';
    return true;
}

static void put_before(struct program *p, char *name)
{
    size_t n = 0;

    while (p->argv[n])
        n++;
    p->argv = need(realloc(p->argv, (n + 2) * sizeof(*p->argv)));
    memmove(p->argv + 1, p->argv, (n + 1) * sizeof(*p->argv));
    p->argv[0] = name;
}

/* env NAME SCRIPT ARG… is run as NAME SCRIPT ARG… */
static bool go_through_env(struct program *p, const char *argument)
{
    char *file;

    if (p->script || !*argument || *argument == '-' || strpbrk(argument, " \t=")) {
        complain("%s: starts by way of env with options; name its interpreter: "
                 "memtracer run … -- INTERPRETER %s",
                 p->file, p->file);
        return false;
    }
    file = find_file(argument);
    if (!file)
        return false;
    p->script = p->argv[0] = p->file;
    p->file = file;
    put_before(p, file);
    return true;
}

static bool check(struct program *p, const char *preload)
{
    char head[HEAD_BYTES], *interpreter, *argument;
    char *file = p->file;
    struct elf elf;

    for (int depth = 0; depth <= SCRIPT_DEPTH_MAX; depth++) {
        if (!read_elf(file, &elf)) {
            complain("%s: cannot be read, so that it is unknown whether it can be recorded", file);
            return false;
        }
        if (elf.is_elf)
            return can_be_preloaded(file, &elf, preload);
        if (!read_script(file, head, &interpreter, &argument))
            break;
        if (!strcmp(base_name(interpreter), "env"))
            return go_through_env(p, argument) && check(p, preload);
        file = interpreter;
    }
    complain("%s: is neither a program (ELF) nor a script that begins with #!", file);
    return false;
}

bool program_find(char **argv, const char *preload, struct program *out)
{
    size_t n = 0;

    while (argv[n])
        n++;
    out->script = NULL;
    out->file = find_file(argv[0]);
    out->argv = need(calloc(n + 1, sizeof(*out->argv)));
    memcpy(out->argv, argv, n * sizeof(*argv));
    if (out->file && check(out, preload))
        return true;
    program_free(out);
    return false;
}

void program_free(struct program *p)
{
    free(p->file);
    free(p->script);
    free(p->argv);
}
