/* SPDX-License-Identifier: MIT */
/* tools: memtracer merge: the runs of several recordings in one file.
 * In: recordings. Out: a new one, which is whole or not there. Rows are copied by merge_rows.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "merge.h"
#include "options.h"
#include "platform.h"
#include "written.h"

static const char help[] =
    "usage: memtracer merge OUT.db FILE... [--json]\n"
    "\n"
    "Puts the runs of several recordings into a new file, oldest first, so that questions can be\n"
    "asked over all of them. Runs stay apart, by uuid, host, process and start; one that comes "
    "twice\n"
    "is refused. The files are only read.\n"
    "\n"
    "  --json    on stdout: {\"file\": …, \"files\": …, \"runs\": …, \"samples\": …, \"ticks\": "
    "…,\n"
    "            \"marks\": …, \"bytes\": …}: so many files were read, and so much was written\n"
    "\n"
    "Example: which release started to leak?\n"
    "  memtracer merge all.db 1.0.db 1.1.db 1.2.db\n"
    "  memtracer sql all.db release_leaks 'server*'\n"
    "\n"
    "Exit: 0 written, 1 usage, 2 a file cannot be read or written, a run is there twice, or an\n"
    "interrupt came: then there is no new file.\n";

/* So many samples are taken in between two calls of look_up(). */
#define SAMPLES_A_STEP 8
#define OPERATIONS_A_STEP 1000

struct source {
    const char *path;
    int64_t start_ns; /* of its first run */
    int64_t samples;  /* about */
};

static int by_start(const void *a, const void *b)
{
    const struct source *x = a, *y = b;

    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* The reader knows what a memtracer file is. */
static int look_at(struct source *s)
{
    struct answer a = {0};
    int64_t facts[2] = {0, 0};
    bool found;
    int code = answer_open(&a, s->path);

    if (!code)
        code =
            answer_integers(&a, "SELECT min(start_wall_ns), (SELECT max(id) FROM sample) FROM run",
                            facts, 2, &found);
    s->start_ns = facts[0];
    s->samples = facts[1] > 0 ? facts[1] : 0;
    answer_close(&a);
    return code;
}

/* Called by SQLite now and then; anything but 0 ends what it does. */
static int look_up(void *user)
{
    return !work_step(user);
}

static int merge(struct merging *m, const struct source *sources, int n)
{
    int64_t before = 0;
    int code = merge_begin(m);

    for (int i = 0; i < n; i++)
        m->work->of += sources[i].samples / SAMPLES_A_STEP;
    for (int i = 0; i < n && !code; i++) {
        if (!work_at(m->work, before))
            return TOOL_ENVIRONMENT; /* work_end() says why */
        before += sources[i].samples / SAMPLES_A_STEP;
        code = merge_take(m, sources[i].path);
    }
    return code ? code : merge_end(m);
}

static int write_file(const char *output, const struct source *sources, int n, struct written *out)
{
    static struct out_file o;
    struct work w;
    struct merging m = {.work = &w, .path = output};
    int code = out_file_begin(&o, output);

    if (code)
        return code;
    work_begin(&w, "merge");
    if (sqlite3_open_v2(o.temporary, &m.db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL)) {
        complain_of(output, sqlite3_errmsg(m.db));
        code = TOOL_ENVIRONMENT;
    } else {
        sqlite3_db_config(m.db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_db_config(m.db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        sqlite3_progress_handler(m.db, OPERATIONS_A_STEP, look_up, &w);
        code = merge(&m, sources, n);
    }
    if (sqlite3_close(m.db) && !code)
        code = TOOL_ENVIRONMENT;
    if (work_end(&w))
        code = TOOL_ENVIRONMENT;
    if (out && !code)
        code = written_look(o.temporary, 0, out);
    return out_file_close(&o, 1, code);
}

static int run(const struct command *self, int argc, char **argv)
{
    bool as_json = false;
    const struct option_spec specs[] = {{"json", 0, OPTION_FLAG, &as_json}, {0}};
    struct written written;
    struct source *sources;
    int first, n,
        code = options_parse(self, argc, argv, specs, (struct operand_range){2, -1, false}, &first);

    if (code != OPTIONS_GO_ON)
        return code;
    if (options_file(argv[first]))
        return TOOL_USAGE;
    if (platform_is_there(argv[first])) {
        complain("%s is there already; merge makes a new file", argv[first]);
        return TOOL_ENVIRONMENT;
    }
    n = argc - first - 1;
    sources = need(calloc((size_t)n, sizeof(*sources)));
    code = TOOL_OK;
    for (int i = 0; i < n && !code; i++) {
        sources[i].path = argv[first + 1 + i];
        code = look_at(&sources[i]);
    }
    if (!code) {
        qsort(sources, (size_t)n, sizeof(*sources), by_start);
        code = write_file(argv[first], sources, n, as_json ? &written : NULL);
    }
    free(sources);
    if (as_json && !code)
        written_tell(argv[first], n, &written);
    return code;
}

const struct command command_merge = {"merge", "the runs of several files in one", help, run};
