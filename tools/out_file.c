/* SPDX-License-Identifier: MIT */
/* tools: files that are whole or not there, and progress.
 * In: a path, rows that are done. Out: the file under its name, or nothing; a line on stderr when
 * that is a terminal. Called by export, report and merge. Leaves no half file, also after ^C. */
#include "out_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "platform.h"
#include "terminal.h"

#define STEPS_BETWEEN_LOOKS 512
#define SHOW_EVERY_NS 250000000

static struct out_file *unfinished;
static const char *made_folder; /* by us, for what is unfinished; NULL = none */

void out_file_drop(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char name[OUT_PATH_BYTES + 16];

    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        remove(name);
    }
}

static int failed(const char *path)
{
    complain("%s: %s", path, strerror(errno));
    return TOOL_ENVIRONMENT;
}

int out_file_begin(struct out_file *o, const char *path)
{
    int n = snprintf(o->temporary, sizeof(o->temporary), "%s.part", path);

    if (n < 0 || n >= OUT_PATH_BYTES) {
        complain("%s: the path is too long", path);
        return TOOL_ENVIRONMENT;
    }
    o->path = path;
    o->file = NULL;
    o->next = unfinished;
    unfinished = o;
    out_file_drop(o->temporary);
    return TOOL_OK;
}

/* No longer to be removed by out_file_abandon(). */
static void forget(const struct out_file *o)
{
    struct out_file **at = &unfinished;

    while (*at && *at != o)
        at = &(*at)->next;
    if (*at)
        *at = o->next;
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
    int code;

    *o = (struct out_file){.file = stdout};
    if (!path)
        return TOOL_OK;
    if (platform_is_irregular(path)) {
        o->path = path;
        o->file = fopen(path, "wb");
        return o->file ? TOOL_OK : failed(path);
    }
    if (is_database(path)) {
        complain("%s is a database and is not replaced; choose another name", path);
        return TOOL_ENVIRONMENT;
    }
    code = out_file_begin(o, path);
    if (code)
        return code;
    o->file = platform_new_file(o->temporary);
    if (o->file)
        return TOOL_OK;
    forget(o);
    return failed(o->temporary);
}

int out_folder_make(const char *path)
{
    int made = platform_make_folder(path);

    if (made > 0)
        made_folder = path;
    return made < 0 ? failed(path) : TOOL_OK;
}

/* Once the files in it are gone, or have their names: then it stays. */
static void end_folder(bool stays)
{
    if (made_folder && !stays)
        platform_remove_folder(made_folder);
    made_folder = NULL;
}

static int close_stream(struct out_file *o, int code)
{
    bool whole;

    if (!o->file || !o->path)
        return code; /* stdout is looked at by main() */
    whole = !ferror(o->file);
    if (fclose(o->file) && whole && !code)
        code = failed(o->path);
    else if (!whole && !code) /* why, nobody knows any more */
        complain("%s could not be written whole: is there room?", o->path);
    o->file = NULL;
    return whole ? code : TOOL_ENVIRONMENT;
}

int out_file_close(struct out_file *files, size_t n, int code)
{
    size_t named = 0;

    for (size_t i = 0; i < n; i++)
        code = close_stream(&files[i], code);
    for (size_t i = 0; i < n && !code; i++) {
        if (files[i].temporary[0] && platform_rename(files[i].temporary, files[i].path))
            code = failed(files[i].path);
        named += !code;
    }
    for (size_t i = 0; i < n && code; i++)
        if (files[i].temporary[0])
            out_file_drop(i < named ? files[i].path : files[i].temporary);
    for (size_t i = 0; i < n; i++)
        forget(&files[i]);
    end_folder(!code);
    return code;
}

void out_file_abandon(void)
{
    for (; unfinished; unfinished = unfinished->next) {
        if (unfinished->file)
            fclose(unfinished->file);
        out_file_drop(unfinished->temporary);
    }
    end_folder(false);
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
