/* SPDX-License-Identifier: MIT */
/* Options of a command: a table in, values out. --help and -h are known to every command. */
#ifndef MEMTRACER_TOOLS_OPTIONS_H
#define MEMTRACER_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"

enum option_kind {
    OPTION_FLAG,        /* bool * */
    OPTION_TEXT,        /* const char ** */
    OPTION_FILE,        /* the same, not empty */
    OPTION_NUMBER,      /* int64_t *, a whole number of 1 or more */
    OPTION_BYTES,       /* int64_t *, "4096", "64K", "1.5M", "2G" */
    OPTION_MAYBE_BYTES, /* the same, or without a value: then 0 */
    OPTION_SECONDS,     /* int64_t * in ns, "90", "12.5", "1m30s" */
    OPTION_LIST,        /* struct text_list *: may be given several times */
};

#define OPTIONS_LIST_MAX 32

struct text_list {
    const char *items[OPTIONS_LIST_MAX];
    int n;
};

struct option_spec {
    const char *name; /* the long name */
    int letter;       /* the short name, 0 = none */
    enum option_kind kind;
    void *out; /* left alone when the option is not given */
};

#define OPTIONS_MAX 16
#define OPTIONS_GO_ON (-1)

struct operand_range {
    int min, max;    /* how many operands; max −1 = any number */
    bool stop_there; /* what follows the first operand belongs to another program */
};

/* OPTIONS_GO_ON, or the exit code of a call that is answered (--help) or wrong. `specs` ends
 * with a NULL name. Operands are argv[*out_first …]. */
int options_parse(const struct command *self, int argc, char **argv,
                  const struct option_spec *specs, struct operand_range range, int *out_first);

/* The name of a file: TOOL_OK or, with a sentence, TOOL_USAGE when it is empty. */
int options_file(const char *name);

/* "0x7f0012345678" → an address as the file stores it; false for other text. */
bool options_address(const char *text, int64_t *out_address);

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
