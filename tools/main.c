/* SPDX-License-Identifier: MIT */
/* tools: the command line `memtracer`: one table of commands, and what they share to complain.
 * In: argv. Out: a command's exit code; TOOL_ENVIRONMENT when stdout could not be written.
 * Uses the public headers only. */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "memtracer/memtracer.h"
#include "options.h"
#include "out_file.h"
#include "terminal.h"
#include "utf8.h"

#define SENTENCE_BYTES 2048

static const struct command *const commands[] = {
    &command_run,    &command_record, &command_top,    &command_show,    &command_timeline,
    &command_steps,  &command_sites,  &command_spikes, &command_verdict, &command_check,
    &command_diff,   &command_marks,  &command_events, &command_where,   &command_types,
    &command_info,   &command_sql,    &command_schema, &command_finish,  &command_import,
    &command_export, &command_report, &command_merge,
};

/* Takes no memory: that there is none is what may have to be said. */
void complain(const char *format, ...)
{
    char sentence[SENTENCE_BYTES], harmless[TEXT_HARMLESS_BYTES(SENTENCE_BYTES)];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    text_spell_out(sentence, strlen(sentence), harmless);
    fprintf(stderr, "memtracer: %s\n", harmless);
}

int complain_library(const char *what, int error)
{
    const char *detail = tracer_last_error();

    if (*detail)
        complain("%s: %s", what, detail);
    else
        complain("%s: %s", what, tracer_strerror(error));
    return TOOL_ENVIRONMENT;
}

/* As it is, or behind the folder it is in; the library writes '?' for a control character. */
static bool is_named(const char *words, const char *path)
{
    for (const char *at = words; *at; at++) {
        size_t n = 0;

        if (at > words && !strchr(" :/\\", at[-1]))
            continue;
        while (path[n] && (at[n] == path[n] || (at[n] == '?' && iscntrl((unsigned char)path[n]))))
            n++;
        if (!path[n] && !isalnum((unsigned char)at[n]))
            return true;
    }
    return false;
}

void complain_of(const char *path, const char *words)
{
    if (is_named(words, path))
        complain("%s", words);
    else
        complain("%s: %s", path, words);
}

int complain_file(const char *path, int error)
{
    const char *detail = tracer_last_error();

    complain_of(path, *detail ? detail : tracer_strerror(error));
    return TOOL_ENVIRONMENT;
}

void *need(void *p)
{
    if (!p) {
        fputs("memtracer: out of memory\n", stderr);
        out_file_abandon();
        exit(TOOL_ENVIRONMENT);
    }
    return p;
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

static void print_overview(FILE *file)
{
    fputs("memtracer: which kind of memory does a process hold, and when did it grow?\n\n", file);
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        fprintf(file, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("  help       a command's options, with an example\n"
          "\n"
          "A first look:\n"
          "  memtracer run -o app.db -- ./app        record a program from start to end\n"
          "  memtracer show app.db                   the table of memory at the end\n"
          "  memtracer verdict app.db                does it leak, what, since when, why\n"
          "  memtracer steps app.db                  memory that grew in steps and was kept\n"
          "  memtracer sites app.db                  who took it, after run --stacks\n"
          "  memtracer help show                     the same as memtracer show --help\n",
          file);
}

/* argv[most] and what follows it has no meaning there: who typed it expects something else. */
static int one_too_many(int argc, char **argv, int most, const char *way_out)
{
    if (argc <= most)
        return TOOL_OK;
    complain("%s: \"%s\" is a word too many; %s", argv[1], argv[most], way_out);
    return TOOL_USAGE;
}

static int help(int argc, char **argv)
{
    const char *name = argc > 2 ? argv[2] : NULL;
    const struct command *c = name ? find(name) : NULL;

    if (one_too_many(argc, argv, 3, "ask for one command at a time, as in `memtracer help show`"))
        return TOOL_USAGE;
    if (name && !c) {
        complain("help: there is no command \"%s\"; `memtracer help` lists them", name);
        return TOOL_USAGE;
    }
    if (c)
        fputs(c->help, stdout);
    else
        print_overview(stdout);
    return TOOL_OK;
}

static int version(int argc, char **argv)
{
    if (one_too_many(argc, argv, 2, "`memtracer help` lists the commands"))
        return TOOL_USAGE;
    printf("memtracer %s\n", tracer_version_string());
    return TOOL_OK;
}

static int dispatch(int argc, char **argv)
{
    const struct command *c;

    if (argc < 2) {
        print_overview(stderr);
        return TOOL_USAGE;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
        return version(argc, argv);
    if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return help(argc, argv);
    c = find(argv[1]);
    if (!c) {
        complain("there is no command \"%s\"; `memtracer help` lists them", argv[1]);
        return TOOL_USAGE;
    }
    return c->run(c, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int code;

    terminal_begin();
    code = dispatch(argc, argv);
    if (fflush(stdout) || ferror(stdout)) {
        complain("the output could not be written whole");
        return TOOL_ENVIRONMENT;
    }
    return code;
}
