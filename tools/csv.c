/* SPDX-License-Identifier: MIT */
/* tools: lines and fields of plain CSV.
 * In: a file. Out: text and whole numbers. Called by cmd_import.c. Knows no column. */
#include "csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

int csv_open(struct csv *c, const char *path)
{
    c->path = path;
    c->line = c->error = c->n_full = 0;
    c->file = fopen(path, "r");
    if (c->file)
        return TOOL_OK;
    complain("%s: %s", path, strerror(errno));
    return TOOL_ENVIRONMENT;
}

void csv_close(struct csv *c)
{
    if (c->file)
        fclose(c->file);
    c->file = NULL;
}

/* Excel begins a file with the mark of UTF-8. */
static void drop_mark(char *text)
{
    static const char mark[] = "\xef\xbb\xbf";

    if (!strncmp(text, mark, sizeof(mark) - 1))
        memmove(text, text + sizeof(mark) - 1, strlen(text) + 2 - sizeof(mark));
}

char *csv_line(struct csv *c)
{
    while ((!c->work || work_step(c->work)) && fgets(c->text, sizeof(c->text), c->file)) {
        if (c->line++ == 0)
            drop_mark(c->text);
        c->text[strcspn(c->text, "\r\n")] = '\0';
        if (c->text[0]) {
            c->n_full++;
            return c->text;
        }
    }
    c->error = ferror(c->file) ? errno : 0;
    return NULL;
}

int csv_end(const struct csv *c)
{
    if (!c->error)
        return TOOL_OK;
    complain("%s: %s", c->path, strerror(c->error));
    return TOOL_ENVIRONMENT;
}

int csv_wrong(const struct csv *c, const char *what)
{
    if (c->error)
        return csv_end(c);
    if (!c->line)
        complain("%s: %s", c->path, what);
    else
        complain("%s, line %" PRId64 ": %s", c->path, c->line, what);
    return TOOL_ENVIRONMENT;
}

bool csv_integer(const char **p, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(*p, &end, 10);
    if (errno || end == *p)
        return false;
    *p = end;
    return true;
}

bool csv_text(const char **p, char *out, size_t out_bytes)
{
    size_t n = strcspn(*p, ",");

    if (!**p)
        return false;
    snprintf(out, out_bytes, "%.*s", (int)n, *p);
    *p += n + ((*p)[n] == ',');
    return true;
}
