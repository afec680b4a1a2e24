/* SPDX-License-Identifier: MIT */
/* tools: what stands beside a series: marks, and lives of the process.
 * In: a CSV file of times, with or without a header. Out: one line after the other. Called by
 * cmd_import.c. Knows nothing of the file that is made. */
#include "import_side.h"

#include <string.h>

#include "command.h"

/* Like the series' first column. Any other word in the place of a time is told, lest a mark with a
 * slip in its time be taken for a header. */
static bool is_header(const struct csv *c, const char *line)
{
    return c->n_full == 1 && !strncmp(line, "t_ns", 4) && (!line[4] || line[4] == ',');
}

int side_next(struct side *s)
{
    char *line = s->csv.file ? csv_line(&s->csv) : NULL;
    const char *rest;

    if (line && is_header(&s->csv, line))
        line = csv_line(&s->csv);
    s->there = false;
    if (!line)
        return csv_end(&s->csv);
    rest = line;
    if (!csv_integer(&rest, &s->t_ns))
        return csv_wrong(&s->csv, s->csv.n_full == 1
                                      ? "neither a time in nanoseconds nor the header t_ns"
                                      : "a time in nanoseconds is missing");
    rest += *rest == ',' || *rest == ' ';
    snprintf(s->text, sizeof(s->text), "%s", rest);
    s->there = true;
    return TOOL_OK;
}

int side_open(struct side *s, const char *path)
{
    int code = path ? csv_open(&s->csv, path) : TOOL_OK;

    return code ? code : side_next(s);
}
