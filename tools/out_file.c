/* SPDX-License-Identifier: MIT */
/* tools: files that are whole or not there, and progress.
 * In: a path, rows that are done. Out: the file under its name, or nothing; a line on stderr when
 * that is a terminal. Called by export, report and merge. Leaves no half file, also after ^C. */
#include "out_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "platform.h"
#include "terminal.h"

#define STEPS_BETWEEN_LOOKS 512
#define SHOW_EVERY_NS 250000000

bool out_file_temporary(const char *path, char out[OUT_PATH_BYTES])
{
    int n = snprintf(out, OUT_PATH_BYTES, "%s.part", path);

    return n > 0 && n < OUT_PATH_BYTES;
}

/* A recording took long to make, and a name is typed twice in a second: no page and no table
 * replaces a database. */
static bool is_database(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char begin[sizeof(magic)];
    FILE *file = fopen(path, "rb");
    bool is = file && fread(begin, 1, sizeof(begin), file) == sizeof(begin) &&
              !memcmp(begin, magic, sizeof(magic));

    if (file)
        fclose(file);
    return is;
}

int out_file_open(struct out_file *o, const char *path)
{
    o->path = path;
    o->file = stdout;
    if (!path)
        return TOOL_OK;
    if (!out_file_temporary(path, o->temporary)) {
        complain("%s: the path is too long", path);
        return TOOL_ENVIRONMENT;
    }
    if (is_database(path)) {
        complain("%s is a database and is not replaced; choose another name", path);
        return TOOL_ENVIRONMENT;
    }
    o->file = fopen(o->temporary, "wb");
    if (o->file)
        return TOOL_OK;
    complain("%s: %s", o->temporary, strerror(errno));
    return TOOL_ENVIRONMENT;
}

bool file_is_there(const char *path)
{
    FILE *file = fopen(path, "rb");

    if (file)
        fclose(file);
    return file != NULL;
}

int out_file_rename(const char *temporary, const char *path)
{
    /* Windows does not rename over a file that is there. A folder is never removed. */
    if (!rename(temporary, path) || (errno == EEXIST && !remove(path) && !rename(temporary, path)))
        return TOOL_OK;
    complain("%s: %s", path, strerror(errno));
    remove(temporary);
    return TOOL_ENVIRONMENT;
}

int out_file_close(struct out_file *o, int code)
{
    bool whole;

    if (!o->file || !o->path)
        return code; /* stdout is looked at by main() */
    whole = !ferror(o->file);
    whole = !fclose(o->file) && whole;
    o->file = NULL;
    if (!whole && !code) {
        complain("%s could not be written whole: %s", o->path, strerror(errno));
        code = TOOL_ENVIRONMENT;
    }
    if (!code)
        return out_file_rename(o->temporary, o->path);
    remove(o->temporary);
    return code;
}

void work_begin(struct work *w, const char *what)
{
    *w = (struct work){.what = what, .shows = terminal_has_progress()};
    w->shown_ns = platform_monotonic_ns();
    platform_hold_interrupts();
}

static void show(struct work *w)
{
    int64_t now = platform_monotonic_ns();

    if (!w->shows || now - w->shown_ns < SHOW_EVERY_NS)
        return;
    w->shown_ns = now;
    w->shown = true;
    if (w->of > 0)
        fprintf(stderr, "\r%s: %" PRId64 " %%  ", w->what,
                w->done < w->of ? w->done * 100 / w->of : 100);
    else
        fprintf(stderr, "\r%s: %" PRId64 " rows  ", w->what, w->done);
    fflush(stderr);
}

bool work_at(struct work *w, int64_t done)
{
    w->done = done;
    w->interrupted = w->interrupted || platform_wait(0);
    show(w);
    return !w->interrupted;
}

bool work_step(struct work *w)
{
    if (w->done++ % STEPS_BETWEEN_LOOKS == 0)
        return work_at(w, w->done);
    return !w->interrupted;
}

int work_end(struct work *w)
{
    w->interrupted = w->interrupted || platform_wait(0);
    if (w->shown)
        fputs("\r                                \r", stderr);
    if (!w->interrupted)
        return TOOL_OK;
    complain("%s: interrupted, nothing was written", w->what);
    return TOOL_ENVIRONMENT;
}
