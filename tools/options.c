/* SPDX-License-Identifier: MIT */
/* tools: reads the options of one command with getopt_long.
 * In: argv and a table of options. Out: values where the table says, the first operand.
 * Called by every cmd_*.c. Knows no command by name. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"

#define LONG_BASE 256

static int wrong(const struct command *self)
{
    fprintf(stderr, "Try: memtracer %s --help\n", self->name);
    return TOOL_USAGE;
}

static bool parse_number(const char *text, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return !errno && end != text && !*end && *out > 0;
}

bool options_address(const char *text, int64_t *out_address)
{
    unsigned long long value;
    char *end;

    if (text[0] != '0' || (text[1] != 'x' && text[1] != 'X'))
        return false;
    errno = 0;
    value = strtoull(text, &end, 16);
    if (errno || end <= text + 2 || *end)
        return false;
    *out_address = (int64_t)value;
    return true;
}

int options_file(const char *name)
{
    if (*name)
        return TOOL_OK;
    complain("the name of the file is empty");
    return TOOL_USAGE;
}

static bool append(struct text_list *list, const char *text)
{
    if (list->n == OPTIONS_LIST_MAX)
        return false;
    list->items[list->n++] = text;
    return true;
}

static bool parse_maybe_bytes(const char *text, int64_t *out)
{
    *out = 0;
    return !text || human_parse_bytes(text, out);
}

static int takes_value(enum option_kind kind)
{
    if (kind == OPTION_MAYBE_BYTES)
        return optional_argument;
    return kind == OPTION_FLAG ? no_argument : required_argument;
}

static bool store(const struct option_spec *spec, const char *text)
{
    switch (spec->kind) {
    case OPTION_FLAG: *(bool *)spec->out = true; return true;
    case OPTION_TEXT: *(const char **)spec->out = text; return true;
    case OPTION_FILE: *(const char **)spec->out = text; return *text;
    case OPTION_NUMBER: return parse_number(text, spec->out);
    case OPTION_BYTES: return human_parse_bytes(text, spec->out);
    case OPTION_MAYBE_BYTES: return parse_maybe_bytes(text, spec->out);
    case OPTION_SECONDS: return human_parse_seconds(text, spec->out);
    case OPTION_LIST: return append(spec->out, text);
    }
    return false;
}

static const char *wanted(enum option_kind kind)
{
    switch (kind) {
    case OPTION_FLAG:
    case OPTION_TEXT: return "a text";
    case OPTION_FILE: return "the name of a file";
    case OPTION_NUMBER: return "a whole number of 1 or more";
    case OPTION_BYTES:
    case OPTION_MAYBE_BYTES: return "a size such as 4096, 64K, 1.5M or 2G";
    case OPTION_SECONDS: return "a time such as 12.5, 90s or 1m30s";
    case OPTION_LIST: return "at most 32 times";
    }
    return "";
}

struct getopt_tables {
    struct option longs[OPTIONS_MAX + 2];
    char shorts[2 * OPTIONS_MAX + 8];
};

/* The short list begins with '+' (stop at the first operand) and ':' (tell a missing value). */
static void make_tables(const struct option_spec *specs, bool stop_there, struct getopt_tables *t)
{
    size_t n = 0, s = 0;

    memset(t, 0, sizeof(*t));
    if (stop_there)
        t->shorts[s++] = '+';
    t->shorts[s++] = ':';
    t->shorts[s++] = 'h';
    for (; n < OPTIONS_MAX && specs[n].name; n++) {
        int has_value = takes_value(specs[n].kind);

        t->longs[n] = (struct option){specs[n].name, has_value, NULL, LONG_BASE + (int)n};
        if (specs[n].letter)
            t->shorts[s++] = (char)specs[n].letter;
        if (specs[n].letter && has_value == required_argument)
            t->shorts[s++] = ':';
    }
    t->longs[n] = (struct option){"help", no_argument, NULL, 'h'};
}

static const struct option_spec *spec_of(const struct option_spec *specs, int c)
{
    if (c >= LONG_BASE)
        return &specs[c - LONG_BASE];
    while (specs->name && specs->letter != c)
        specs++;
    return specs->name ? specs : NULL;
}

static int take_option(const struct command *self, const struct option_spec *specs, int c,
                       char **argv)
{
    const struct option_spec *spec = spec_of(specs, c);

    if (c == 'h') {
        fputs(self->help, stdout);
        return TOOL_OK;
    }
    if (c == ':' || c == '?') {
        complain("%s: %s: %s", self->name, argv[optind - 1],
                 c == ':' ? "needs a value" : "there is no such option");
        return wrong(self);
    }
    if (spec && !store(spec, optarg)) {
        complain("%s: --%s: \"%s\" is not %s", self->name, spec->name, optarg, wanted(spec->kind));
        return wrong(self);
    }
    return OPTIONS_GO_ON;
}

/* `operands` are the n that were given. */
static int count_operands(const struct command *self, struct operand_range range, char **operands,
                          int n)
{
    if (n < range.min)
        complain("%s: too few operands", self->name);
    else if (range.max >= 0 && n > range.max)
        complain("%s: \"%s\" is a word too many", self->name, operands[range.max]);
    else
        return OPTIONS_GO_ON;
    return wrong(self);
}

int options_parse(const struct command *self, int argc, char **argv,
                  const struct option_spec *specs, struct operand_range range, int *out_first)
{
    struct getopt_tables tables;
    int c, code;

    make_tables(specs, range.stop_there, &tables);
    opterr = 0;
    optind = 0; /* from the start, whatever was read before */
    while ((c = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
        code = take_option(self, specs, c, argv);
        if (code != OPTIONS_GO_ON)
            return code;
    }
    code = count_operands(self, range, argv + optind, argc - optind);
    if (code == OPTIONS_GO_ON)
        *out_first = optind;
    return code;
}
