/* SPDX-License-Identifier: MIT */
/* What a command of the command line is, and what its exit codes mean. One file a command
 * (cmd_*.c), one row a command (main.c). */
#ifndef MEMTRACER_TOOLS_COMMAND_H
#define MEMTRACER_TOOLS_COMMAND_H

#define TOOL_OK 0
#define TOOL_USAGE 1       /* the command line is wrong */
#define TOOL_ENVIRONMENT 2 /* a file, a process or the system is not as needed */
#define TOOL_NOTHING 3     /* asked and answered: there is nothing there */
#define TOOL_LEAK 3        /* verdict, check: memory grows on */
#define TOOL_DIFFERS 3     /* diff: more than noise */
#define TOOL_TOO_SHORT 4   /* verdict, check: it cannot be told yet */

struct command {
    const char *name;
    const char *summary; /* one line for `memtracer help` */
    const char *help;    /* the whole of --help: usage, options, an example, exit codes */
    int (*run)(const struct command *self, int argc, char **argv);
};

extern const struct command command_run;
extern const struct command command_record;
extern const struct command command_top;
extern const struct command command_show;
extern const struct command command_timeline;
extern const struct command command_steps;
extern const struct command command_sites;
extern const struct command command_spikes;
extern const struct command command_verdict;
extern const struct command command_check;
extern const struct command command_diff;
extern const struct command command_marks;
extern const struct command command_events;
extern const struct command command_where;
extern const struct command command_types;
extern const struct command command_info;
extern const struct command command_sql;
extern const struct command command_schema;
extern const struct command command_finish;
extern const struct command command_import;
extern const struct command command_export;
extern const struct command command_report;
extern const struct command command_merge;

/* One sentence on stderr: "memtracer: …". What comes from outside is shown without control
 * characters. */
void complain(const char *format, ...);

/* The sentence of a failed library call, with its detail; returns TOOL_ENVIRONMENT. `what` is no
 * path: of those complain_file() and complain_of() take care. */
int complain_library(const char *what, int error);

/* The same of a call that was about the file `path`, which is named once. */
int complain_file(const char *path, int error);

/* One sentence about `path` in words of others, who may have named it themselves. */
void complain_of(const char *path, const char *words);

/* `p`, or the end of the program when there is no memory. */
void *need(void *p);

#endif
