/* SPDX-License-Identifier: MIT */
/* tools: memtracer events: what came, went and changed in the address space.
 * In: the view memory_event. Out: a table in order of time, all columns under --json. */
#include <stdio.h>
#include <string.h>

#include "answer.h"
#include "moment.h"
#include "options.h"

static const char help[] =
    "usage: memtracer events FILE [--kind K] [--type T] [--file TEXT] [--min-size SIZE]\n"
    "                        [--since MOMENT] [--until MOMENT] [--run N] [--all]\n"
    "\n"
    "Memory events in order of time: VirtualAlloc, VirtualFree (private memory), MapViewFile,\n"
    "UnmapViewFile (files, images, shared memory), Grow, Shrink, Protect. They come from samples:\n"
    "what lived shorter than from one sample to the next is not among them.\n"
    "\n"
    "  --kind K         this kind only, as spelled above, or of exact events: mmap, malloc, …\n"
    "  --type T         this memory type only: heap, image, …\n"
    "  --file TEXT      only where the file's or owner's name contains TEXT\n"
    "  --min-size SIZE  regions of at least SIZE: 4096, 64K, 1.5M\n"
    "  --since MOMENT   from this moment on (see memtracer show --help)\n"
    "  --until MOMENT   up to this moment\n"
    "  --run N          the N-th run; default the newest\n"
    "  --all            also what was there when the run began\n"
    "  --bytes          exact bytes instead of KiB, MiB\n"
    "  --json           machine-readable, with all columns\n"
    "\n"
    "Example: large allocations in the second minute\n"
    "  memtracer events app.db --kind VirtualAlloc --min-size 1M --since 1m --until 2m\n"
    "\n"
    "Exit: 0 shown, 1 usage, 2 the file or a moment is not there, 3 there is no such event.\n";

static const char sql_events[] =
    "SELECT t_s, kind, base_address, region_size, protection_mask, type,"
    " ifnull(file_name, owner) AS name_shown, time, sample, alloc_type, page_type, protection,"
    " file_key, file_name, offset, section_type, view_base, view_size, pid, name, exe, owner,"
    " thread, at_start, run, region FROM memory_event"
    " WHERE run = ?1 AND t_s BETWEEN ?2 / 1e9 AND ?3 / 1e9 AND (?4 OR NOT at_start)"
    " AND ifnull(kind = ?5, 1) AND ifnull(type = ?6, 1) AND region_size >= ?7"
    " AND (?8 IS NULL OR instr(file_name, ?8) OR instr(owner, ?8))";

static const struct table_column columns[] = {
    {"At s", CELL_SECONDS},
    {"Kind", CELL_TEXT},
    {"Base", CELL_TEXT},
    {"Bytes", CELL_BYTES},
    {"Prot", CELL_TEXT},
    {"Type", CELL_TEXT},
    {"File or owner", CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_NUMBER},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_NUMBER},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_BYTES},
    {NULL, CELL_NUMBER},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_NUMBER},
    {NULL, CELL_NUMBER},
    {NULL, CELL_NUMBER},
    {NULL, CELL_NUMBER},
};

struct filter {
    const char *kind, *type, *file, *since, *until;
    int64_t min_bytes;
    bool all;
};

/* As view memory_event spells them: from samples, and exact. */
static const char sql_kinds[] =
    "SELECT column1 FROM (VALUES ('VirtualAlloc'), ('VirtualFree'), ('MapViewFile'),"
    " ('UnmapViewFile'), ('Grow'), ('Shrink'), ('Protect'))"
    " UNION ALL SELECT name FROM (SELECT name FROM event_kind ORDER BY id)";
static const char sql_types[] = "SELECT name FROM type ORDER BY id";

struct known {
    const char *wanted;
    bool found;
    char names[2048];
};

static int keep_name(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *v)
{
    struct known *k = user;
    size_t n = strlen(k->names);

    (void)n_columns;
    (void)names;
    snprintf(k->names + n, sizeof(k->names) - n, "%s%s", n ? ", " : "", v[0].bytes);
    k->found = !strcmp(v[0].bytes, k->wanted);
    return k->found;
}

/* A misspelt word would find nothing, silently. */
static int know(struct answer *a, const char *what, const char *word, const char *sql)
{
    struct known known = {.wanted = word};
    int code = word ? answer_ask(a, sql, keep_name, &known) : TOOL_OK;

    if (code || !word || known.found)
        return code;
    complain("events: --%s %s: %s knows no %s of that name; it knows %s", what, word, a->path, what,
             known.names);
    return TOOL_USAGE;
}

static int events(struct answer *a, void *user)
{
    const struct filter *f = user;
    struct moment from, to;
    size_t n = 0;
    int code = know(a, "kind", f->kind, sql_kinds);

    if (!code)
        code = know(a, "type", f->type, sql_types);
    if (!code)
        code = moment_resolve(a, f->since ? f->since : "start", a->run, &from);
    if (!code)
        code = moment_resolve(a, f->until, a->run ? a->run : from.run, &to);
    if (code)
        return code;
    answer_bind(a, from.run);
    answer_bind(a, from.asked_ns);
    answer_bind(a, to.asked_ns);
    answer_bind(a, f->all);
    answer_bind_text(a, f->kind);
    answer_bind_text(a, f->type);
    answer_bind(a, f->min_bytes);
    answer_bind_text(a, f->file);
    code = answer_rows(a, NULL, sql_events, columns, &n);
    if (!code && !n && !a->json)
        puts("there is no such event");
    return code || n ? code : TOOL_NOTHING;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    struct filter f = {0};
    const struct option_spec specs[] = {
        {"kind", 0, OPTION_TEXT, &f.kind},
        {"type", 0, OPTION_TEXT, &f.type},
        {"file", 0, OPTION_TEXT, &f.file},
        {"min-size", 0, OPTION_BYTES, &f.min_bytes},
        {"since", 0, OPTION_TEXT, &f.since},
        {"until", 0, OPTION_TEXT, &f.until},
        {"all", 0, OPTION_FLAG, &f.all},
        ANSWER_OPTIONS(a),
        {0},
    };

    return answer_question(&(struct question){self, &a, specs, .ask = events, .user = &f}, argc,
                           argv);
}

const struct command command_events = {"events", "what came, went and changed", help, run};
