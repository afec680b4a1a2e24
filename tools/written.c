/* SPDX-License-Identifier: MIT */
/* tools: what was written, asked of the file itself.
 * In: a path. Out: one JSON object on stdout. Called by import, merge and report under --json. */
#include "written.h"

#include "platform.h"

int64_t written_last_run(const char *path)
{
    struct answer a = {.path = path};
    int64_t run = 0;
    bool found;

    if (tracer_reader_open(path, &a.reader))
        return 0; /* empty, or whoever writes it says what is wrong */
    if (answer_integers(&a, "SELECT ifnull(max(id), 0) FROM run", &run, 1, &found))
        run = 0;
    answer_close(&a);
    return run;
}

int written_count(struct answer *a, int64_t first, int64_t last, struct written *out)
{
    static const char sql[] =
        "SELECT (SELECT count(*) FROM run WHERE id BETWEEN ?1 AND ?2),"
        " (SELECT count(*) FROM sample WHERE run BETWEEN ?1 AND ?2),"
        " (SELECT ifnull(sum(ticks), 0) FROM sample WHERE run BETWEEN ?1 AND ?2),"
        " (SELECT count(*) FROM mark WHERE run BETWEEN ?1 AND ?2)";
    int64_t counts[4] = {0};
    bool found;
    int code;

    answer_bind(a, first);
    answer_bind(a, last);
    code = answer_integers(a, sql, counts, COUNT_OF(counts), &found);
    *out = (struct written){counts[0], counts[1], counts[2], counts[3], -1};
    return code;
}

int written_look(const char *path, int64_t after, struct written *out)
{
    struct answer a = {0};
    int code = answer_open(&a, path);

    if (!code)
        code = written_count(&a, after + 1, INT64_MAX, out);
    answer_close(&a);
    out->bytes = platform_file_bytes(path);
    return code;
}

void written_put(struct json *j, const struct written *w)
{
    json_integer(j, "samples", w->samples);
    json_integer(j, "ticks", w->ticks);
    json_integer(j, "marks", w->marks);
    if (w->bytes < 0)
        json_null(j, "bytes");
    else
        json_integer(j, "bytes", w->bytes);
}

void written_tell(const char *path, int n_files, const struct written *w)
{
    struct json j = JSON_STDOUT;

    json_open(&j, NULL, '{');
    json_string(&j, "file", path);
    json_integer(&j, "files", n_files);
    json_integer(&j, "runs", w->runs);
    written_put(&j, w);
    json_close(&j, '}');
}
