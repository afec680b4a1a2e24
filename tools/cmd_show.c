/* SPDX-License-Identifier: MIT */
/* tools: memtracer show: memory at a moment, as one table of types by states, as the five tables
 * of an address summary, or as the list of regions.
 * In: a file, a moment. Out: tables or JSON. The SQL of the summaries is in show_summary.c. */
#include "answer.h"
#include "levels.h"
#include "moment.h"
#include "options.h"
#include "show_summary.h"

static const char help[] =
    "usage: memtracer show FILE [--at MOMENT] [--run N]\n"
    "       memtracer show FILE --summary | --regions [FILTER]\n"
    "\n"
    "The table of memory: a row a memory type, a column a state. By default at the end of\n"
    "the newest run.\n"
    "\n"
    "  --at MOMENT    12.5, 1m30s     time since the run's start\n"
    "                 loaded          the last mark \"loaded\"; loaded#2 the second one\n"
    "                 #12             sample 12\n"
    "                 start, end      first and last sample\n"
    "                 \"2026-11-29 12:00:00\"   wall clock, UTC\n"
    "  --run N        the N-th run of the file (memtracer info lists them)\n"
    "  --all          all fifteen columns (wide)\n"
    "  --summary      five tables: usage, type, state, protection, largest regions\n"
    "  --regions      the list of regions. FILTER: a type's name, an address in the region,\n"
    "                 or part of a file's or owner's name\n"
    "  --bytes        exact bytes instead of KiB, MiB\n"
    "  --json         machine-readable\n"
    "\n"
    "Example: what holds memory half a minute in, and which regions are heap?\n"
    "  memtracer show app.db --at 30\n"
    "  memtracer show app.db --at 30 --regions heap\n"
    "\n"
    "Columns: Size address space, Commit accessible, Private held by this process alone,\n"
    "WS resident, WS share resident and shareable, Largest longest run. - is unknown.\n"
    "Exit: 0 shown, 1 usage, 2 the file or the moment is not there.\n";

#define SQL_SHOW                                                                                   \
    "WITH " SQL_LEVELS_AT                                                                          \
    " SELECT type, size, committed, private, ws, ws_shareable, largest, blocks, charged,"          \
    " ws_private, ws_shared, pss, swap, locked, huge, lazy_free FROM ("                            \
    "SELECT * FROM levels_at UNION ALL "                                                           \
    "SELECT 1000, 'total', sum(size), sum(committed), sum(charged), sum(private), sum(ws),"        \
    " sum(ws_private), sum(ws_shareable), sum(ws_shared), sum(pss), sum(swap), sum(locked),"       \
    " sum(huge), sum(lazy_free), sum(blocks), max(largest) FROM levels_at"                         \
    " WHERE type <> 'free') ORDER BY place"

#define NARROW                                                                                     \
    {"Type", CELL_TEXT}, {"Size", CELL_BYTES}, {"Commit", CELL_BYTES}, {"Private", CELL_BYTES},    \
        {"WS", CELL_BYTES}, {"WS share", CELL_BYTES}, {"Largest", CELL_BYTES},                     \
    {                                                                                              \
        "Blocks", CELL_NUMBER                                                                      \
    }

static const struct table_column narrow[] = {
    NARROW,
    {NULL, CELL_BYTES},
    {NULL, CELL_BYTES},
    {NULL, CELL_BYTES},
    {NULL, CELL_BYTES},
    {NULL, CELL_BYTES},
    {NULL, CELL_BYTES},
    {NULL, CELL_BYTES},
    {NULL, CELL_BYTES},
};

static const struct table_column wide[] = {
    NARROW,
    {"Charged", CELL_BYTES},
    {"WS priv", CELL_BYTES},
    {"Shared", CELL_BYTES},
    {"PSS", CELL_BYTES},
    {"Swap", CELL_BYTES},
    {"Locked", CELL_BYTES},
    {"Huge", CELL_BYTES},
    {"Lazy", CELL_BYTES},
};

static const char sql_regions[] =
    "WITH " SQL_REGIONS_AT
    " SELECT base, bytes, protection_mask, type, ifnull(file_name, owner) AS name, base_address,"
    " end_address, page_type, alloc_type, protection, file_name, owner, offset, thread,"
    " confidence, ws, swap FROM regions_at WHERE ?3 IS NULL OR type = ?3"
    " OR (?4 IS NULL AND (instr(file_name, ?3) OR instr(owner, ?3)))"
    " OR (base <= ?4 AND ?4 < base + bytes) ORDER BY base < 0, base";

static const struct table_column region_columns[] = {
    {"Base", CELL_ADDRESS},
    {"Bytes", CELL_BYTES},
    {"Prot", CELL_TEXT},
    {"Type", CELL_TEXT},
    {"File or owner", CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},
    {NULL, CELL_NUMBER},
    {NULL, CELL_NUMBER},
    {NULL, CELL_TEXT},
    {NULL, CELL_BYTES},
    {NULL, CELL_BYTES},
};

static int show_table(struct answer *a, const struct moment *m, bool all)
{
    answer_bind(a, m->run);
    answer_bind(a, m->sample);
    return answer_rows(a, "types", SQL_SHOW, all ? wide : narrow, NULL);
}

static int show_regions(struct answer *a, const struct moment *m, const char *filter)
{
    int64_t address;
    size_t n = 0;
    int code;

    answer_bind(a, m->run);
    answer_bind(a, m->sample);
    answer_bind_text(a, filter);
    if (filter && options_address(filter, &address))
        answer_bind(a, address);
    else
        answer_bind_text(a, NULL);
    code = answer_rows(a, "regions", sql_regions, region_columns, &n);
    if (!code && !n && !a->json)
        puts(filter ? "no region fits the filter" : "the list of regions was not recorded");
    return code;
}

struct show_options {
    const char *at, *filter;
    bool all, summary, regions;
};

static int take(void *user, char **operands, int n)
{
    struct show_options *o = user;

    o->filter = n ? operands[0] : NULL;
    if ((!o->filter || o->regions) && !(o->summary && o->regions))
        return TOOL_OK;
    complain(o->filter ? "show: a FILTER goes with --regions"
                       : "show: --summary and --regions exclude each other");
    return TOOL_USAGE;
}

static int show(struct answer *a, void *user)
{
    const struct show_options *o = user;
    struct moment m;
    int code = moment_resolve(a, o->at, a->run, &m);

    if (code)
        return code;
    if (a->json)
        json_open(&a->out, NULL, '{');
    moment_print(a, "", &m);
    if (!a->json)
        putchar('\n');
    if (o->summary)
        code = show_summary(a, &m);
    else if (o->regions)
        code = show_regions(a, &m, o->filter);
    else
        code = show_table(a, &m, o->all);
    if (a->json)
        json_close(&a->out, '}');
    return code;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    struct show_options o = {0};
    const struct option_spec specs[] = {
        {"at", 0, OPTION_TEXT, &o.at},
        {"all", 0, OPTION_FLAG, &o.all},
        {"summary", 0, OPTION_FLAG, &o.summary},
        {"regions", 0, OPTION_FLAG, &o.regions},
        ANSWER_OPTIONS(a),
        {0},
    };

    return answer_question(&(struct question){self, &a, specs, show, &o, 0, 1, take}, argc, argv);
}

const struct command command_show = {"show", "the table of memory at a moment; its regions", help,
                                     run};
