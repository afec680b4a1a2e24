/* SPDX-License-Identifier: MIT */
/* tools: memtracer where: what lies, or once lay, at an address.
 * In: tables region and module of one run. Out: every interval of life that covered the address,
 * so that an address of an unloaded library still has a name. */
#include <inttypes.h>

#include "answer.h"
#include "moment.h"
#include "options.h"
#include "symbols.h"

static const char help[] =
    "usage: memtracer where FILE ADDRESS [--at MOMENT] [--run N]\n"
    "\n"
    "Whose memory is at an address, at the end or at a moment; and what was there before or came\n"
    "later, libraries that were unloaded included. ADDRESS is hexadecimal with 0x. Of a library: "
    "the\n"
    "offset in it, and the function where its file is still the one of that build-id.\n"
    "\n"
    "  --at MOMENT    see memtracer show --help\n"
    "  --run N        the N-th run of the file; default the newest\n"
    "  --bytes        exact bytes instead of KiB, MiB\n"
    "  --json         machine-readable\n"
    "\n"
    "Example: a crash dump names an address in no module; which library was there?\n"
    "  memtracer where app.db 0x7f0012345678\n"
    "\n"
    "Exit: 0 something is there at that moment, 1 usage, 2 the file or the moment is not there,\n"
    "3 nothing is there at that moment (what was or will be is shown all the same).\n";

static const char sql_lives[] =
    "WITH lives AS ("
    "SELECT 'region' AS what, base, bytes, first_sample, last_sample, protection_mask, type,"
    " ifnull(file_name, owner) AS name, file_name, owner, confidence, thread,"
    " NULL AS site_path, NULL AS site_build_id FROM region_row WHERE run = ?1 AND base <= ?3 AND "
    "?3 < base + bytes UNION ALL "
    "SELECT 'module', m.base, m.bytes, m.first_sample, m.last_sample, NULL, NULL, p.text, p.text,"
    " NULL, NULL, NULL, p.text, m.build_id FROM module m JOIN string p ON p.id = m.path"
    " WHERE m.run = ?1 AND m.base <= ?3 AND ?3 < m.base + m.bytes)"
    " SELECT CASE WHEN first_sample > ?2 THEN 'later' WHEN last_sample < ?2 THEN 'gone'"
    " ELSE 'there' END AS state, what, v.base, v.bytes, a.t_ns AS first_ns,"
    " b.until_ns AS last_ns, protection_mask, type, v.name, ?3 - v.base AS address_offset,"
    " file_name, owner, confidence, thread, NULL AS site, site_path, site_build_id,"
    " ?3 - v.base AS site_offset FROM lives v"
    " LEFT JOIN sample a ON a.id = first_sample LEFT JOIN sample b ON b.id = last_sample"
    " ORDER BY first_sample, what, v.bytes";

static const struct table_column columns[] = {
    {"State", CELL_TEXT},  {"What", CELL_TEXT}, {"Base", CELL_ADDRESS},
    {"Bytes", CELL_BYTES}, {"From s", CELL_NS}, {"To s", CELL_NS},
    {"Prot", CELL_TEXT},   {"Type", CELL_TEXT}, {"File or owner", CELL_TEXT},
    {NULL, CELL_NUMBER},   {NULL, CELL_TEXT},   {NULL, CELL_TEXT},
    {NULL, CELL_TEXT},     {NULL, CELL_NUMBER}, {"Symbol", CELL_TEXT},
    {NULL, CELL_TEXT},     {NULL, CELL_TEXT},   {NULL, CELL_NUMBER},
};

static const char sql_there[] =
    "SELECT count(*) FROM region WHERE run = ?1 AND first_sample <= ?2"
    " AND ifnull(last_sample >= ?2, 1) AND base <= ?3 AND ?3 < base + bytes";

static void bind_place(struct answer *a, const struct moment *m, int64_t address)
{
    answer_bind(a, m->run);
    answer_bind(a, m->sample);
    answer_bind(a, address);
}

struct place {
    const char *at;
    int64_t address;
};

static int take(void *user, char **operands, int n)
{
    struct place *p = user;

    (void)n;
    if (options_address(operands[0], &p->address))
        return TOOL_OK;
    complain("where: \"%s\" is no address; write it as 0x7f0012345678", operands[0]);
    return TOOL_USAGE;
}

static int where(struct answer *a, void *user)
{
    const struct place *p = user;
    struct symbols_editor editor;
    struct moment m;
    int64_t n_there = 0;
    size_t n = 0;
    bool found;
    int code = moment_resolve(a, p->at, a->run, &m);

    if (code)
        return code;
    bind_place(a, &m, p->address);
    code = answer_integers(a, sql_there, &n_there, 1, &found);
    if (code)
        return code;
    if (a->json)
        json_open(&a->out, NULL, '{');
    moment_print(a, "", &m);
    if (a->json)
        json_address(&a->out, "address", p->address);
    else
        putchar('\n');
    bind_place(a, &m, p->address);
    editor.symbols = symbols_new();
    editor.is_return = false;
    a->edit = symbols_edit;
    a->edit_user = &editor;
    code = answer_rows(a, "lives", sql_lives, columns, &n);
    a->edit = NULL;
    symbols_free(editor.symbols);
    if (a->json)
        json_close(&a->out, '}');
    else if (!code && !n)
        printf("nothing was ever seen at 0x%012" PRIx64 "\n", (uint64_t)p->address);
    return code || n_there ? code : TOOL_NOTHING;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    struct place p = {0};
    const struct option_spec specs[] = {
        {"at", 0, OPTION_TEXT, &p.at},
        ANSWER_OPTIONS(a),
        {0},
    };

    return answer_question(&(struct question){self, &a, specs, where, &p, 1, 1, take}, argc, argv);
}

const struct command command_where = {"where", "what lies, or once lay, at an address", help, run};
