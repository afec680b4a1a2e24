/* SPDX-License-Identifier: MIT */
/* tools: a run → the tables of the page, which also stand there without a script.
 * In: a recording. Out: HTML. Called by cmd_report.c. All text of the file passes through
 * report_put_text(): names are hostile. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "judgement.h"
#include "one_run.h"
#include "options.h"
#include "report.h"
#include "symbols.h"
#include "utf8.h"

void report_put_text(FILE *out, const char *text, size_t n)
{
    char *clean = text_harmless(text, n);

    for (const char *c = clean; *c; c++)
        switch (*c) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default: fputc(*c, out);
        }
    free(clean);
}

/* ---- tables ---- */

#define HTML_COLUMNS 32

struct html_table {
    struct report *r;
    size_t n_rows;
    struct symbols_editor *names; /* of code */
};

/* What the names of code are made from is not shown. */
static bool is_shown(const char *name)
{
    return strncmp(name, "site_", 5) != 0;
}

/* By the name of its column: bytes, or as it is. */
static bool is_bytes(const char *name)
{
    static const char *const plain[] = {"sample", "pid",    "ticks", "missed", "blocks",
                                        "step",   "thread", "calls", "run",    "tid"};

    for (size_t i = 0; i < COUNT_OF(plain); i++)
        if (!strcmp(name, plain[i]))
            return false;
    return true;
}

/* first: a name there is the name of the row. */
static void put_cell(FILE *out, const char *name, const tracer_value *v, bool first)
{
    char human[HUMAN_BYTES];

    if (v->kind == TRACER_VALUE_INTEGER) {
        human_bytes(human, v->integer, !is_bytes(name));
        fprintf(out, "<td class=\"n\" data-value=\"%" PRId64 "\" title=\"%" PRId64 "\">%s</td>",
                v->integer, v->integer, human);
    } else if (v->kind == TRACER_VALUE_REAL)
        fprintf(out, "<td class=\"n\">%.10g</td>", v->real);
    else if (v->kind == TRACER_VALUE_NULL)
        fputs("<td class=\"n\" data-value=\"\">–</td>", out);
    else {
        fputs(first ? "<th scope=\"row\">" : "<td>", out);
        report_put_text(out, v->bytes, v->n_bytes);
        fputs(first ? "</th>" : "</td>", out);
    }
}

static void put_heads(FILE *out, uint32_t n_columns, const char *const *names)
{
    fputs("<thead><tr>", out);
    for (uint32_t i = 0; i < n_columns; i++) {
        if (!is_shown(names[i]))
            continue;
        fputs("<th scope=\"col\">", out);
        report_put_text(out, names[i], strlen(names[i]));
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

static int put_row(void *user, uint32_t n_columns, const char *const *names,
                   const tracer_value *values)
{
    struct html_table *t = user;
    tracer_value edited[HTML_COLUMNS];

    n_columns = n_columns < HTML_COLUMNS ? n_columns : HTML_COLUMNS;
    memcpy(edited, values, n_columns * sizeof(*values));
    symbols_edit(t->names, n_columns, names, edited);
    if (t->n_rows++ == 0)
        put_heads(t->r->out, n_columns, names);
    fputs("<tr>", t->r->out);
    for (uint32_t i = 0; i < n_columns; i++)
        if (is_shown(names[i]))
            put_cell(t->r->out, names[i], &edited[i], i == 0);
    fputs("</tr>\n", t->r->out);
    return !work_step(t->r->work);
}

struct table_source {
    const char *id, *title, *caption, *sql;
    bool folded; /* long: closed until one opens it */
};

/* ?1 is the run, ?2 its last sample. */
static int put_table(struct report *r, const struct table_source *s)
{
    struct symbols_editor names = {.symbols = symbols_new(), .is_return = true};
    struct html_table t = {r, 0, &names};
    char *sql = one_run_sql(s->sql);
    int code;

    fprintf(r->out, "<section aria-labelledby=\"h-%s\"><h2 id=\"h-%s\">%s</h2>\n", s->id, s->id,
            s->title);
    if (s->folded)
        fputs("<details><summary>show the table</summary>\n", r->out);
    fprintf(r->out,
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"h-%s\">"
            "<table id=\"%s\"><caption>%s</caption>\n",
            s->id, s->id, s->caption);
    answer_bind(r->answer, r->answer->run);
    if (strstr(s->sql, "?2"))
        answer_bind(r->answer, r->last_sample);
    code = answer_ask(r->answer, sql, put_row, &t);
    free(sql);
    symbols_free(names.symbols);
    fputs(t.n_rows ? "</tbody></table></div>\n"
                   : "<tbody><tr><td>none</td></tr></tbody></table></div>\n",
          r->out);
    fputs(s->folded ? "</details></section>\n" : "</section>\n", r->out);
    return code;
}

#define COLUMNS_OF_LEVEL                                                                           \
    "size, committed, charged, private, ws, ws_private, ws_shareable, ws_shared, pss, swap, "      \
    "locked,"                                                                                      \
    " huge, lazy_free, blocks, largest"

static const char at_end[] =
    "WITH l AS (SELECT t.id AS place, t.name, k.* FROM type t JOIN level k ON k.run = ?1 AND"
    " k.type = t.id AND k.sample = (SELECT max(x.sample) FROM level x WHERE x.run = ?1 AND"
    " x.type = t.id AND x.sample <= ?2))"
    " SELECT type, " COLUMNS_OF_LEVEL " FROM (SELECT place, name AS type, " COLUMNS_OF_LEVEL
    " FROM l UNION ALL SELECT 1000, 'total', sum(size), sum(committed), sum(charged),"
    " sum(private), sum(ws), sum(ws_private), sum(ws_shareable), sum(ws_shared), sum(pss),"
    " sum(swap), sum(locked), sum(huge), sum(lazy_free), sum(blocks), max(largest) FROM l"
    " WHERE name <> 'free' HAVING count(*) > 0) ORDER BY place";

static const struct table_source overview = {
    "vmmap", "Types of memory", "Types of memory by states, at the end of the run", at_end, false};

static const struct table_source tables[] = {
    {"steps", "Steps", "Memory that grew in steps and was kept",
     "SELECT g.type, g.t_s, g.time, g.bytes, g.mark, g.held_after, g.site, g.sample,"
     " p.text AS site_path, c.build_id AS site_build_id, f.offset AS site_offset"
     " FROM punctuated_growth g LEFT JOIN frame f ON f.id = g.site_frame LEFT JOIN code c"
     " ON c.id = f.code LEFT JOIN string p ON p.id = c.path WHERE g.run = ?1 ORDER BY g.t_s"
     " LIMIT 1000",
     false},
    {"marks", "Marks", "What the program said it did",
     "SELECT m.t_ns / 1e9 AS t_s, m.label, m.sample, m.tid FROM mark m WHERE m.run = ?1"
     " ORDER BY m.t_ns, m.id LIMIT 2000",
     false},
    {"grew", "Growth", "Types of memory, first and last value of the run",
     "SELECT t.name AS type, a.ws AS first_ws, b.ws AS last_ws, b.ws - a.ws AS grew_ws,"
     " a.committed AS first_committed, b.committed AS last_committed,"
     " b.committed - a.committed AS grew_committed FROM type t"
     " JOIN level a ON a.run = ?1 AND a.type = t.id AND a.sample = (SELECT min(k.sample) FROM "
     "level k"
     " WHERE k.run = ?1 AND k.type = t.id)"
     " JOIN level b ON b.run = ?1 AND b.type = t.id AND b.sample = (SELECT max(k.sample) FROM "
     "level k"
     " WHERE k.run = ?1 AND k.type = t.id) WHERE t.name <> 'free' ORDER BY t.id",
     false},
    {"series", "Over time",
     "Resident (or, where that is unknown, committed) memory by type, at the "
     "moments it changed: 2,000 of them at most",
     "SELECT t_s, type, ws, private, committed, size FROM memory WHERE run = ?1 AND type <> 'free'"
     " AND sample IN (SELECT id FROM (SELECT id, ntile(400) OVER (ORDER BY t_ns) AS n,"
     " row_number() OVER (ORDER BY t_ns) AS k FROM sample WHERE run = ?1) GROUP BY n)"
     " ORDER BY t_s, type LIMIT 2000",
     true},
    {"sites", "Call sites",
     "What the calls took since the start, by call site; where calls were "
     "recorded (--stacks)",
     "WITH e AS MATERIALIZED (SELECT stack, kind, count(*) AS calls, sum(bytes) AS bytes FROM event"
     " WHERE run = ?1 GROUP BY stack, kind), c AS MATERIALIZED (SELECT * FROM call_site)"
     " SELECT k.name AS kind, sum(e.calls) AS calls, sum(e.bytes) AS bytes,"
     " c.path || printf('+0x%x', c.offset) AS site, c.path AS site_path,"
     " c.build_id AS site_build_id, c.offset AS site_offset FROM e JOIN event_kind k ON k.id = "
     "e.kind"
     " LEFT JOIN c ON c.stack = e.stack WHERE k.effect = 'TAKE' GROUP BY k.name, site"
     " ORDER BY sum(e.bytes) DESC LIMIT 100",
     true},
    {"events", "Events", "Regions that came, went, grew or shrank: the largest 500",
     "SELECT * FROM (SELECT t_s, kind, base_address, region_size, type, protection_mask, file_name,"
     " source FROM memory_event WHERE run = ?1 AND NOT ifnull(at_start, 0)"
     " ORDER BY region_size DESC LIMIT 500) ORDER BY t_s",
     true},
    {"regions", "Address space", "Regions alive at the end: the largest 500, by address",
     "SELECT base_address, bytes, type, protection, file_name, owner, confidence FROM ("
     "SELECT * FROM region_row WHERE run = ?1 AND first_sample <= ?2 AND (last_sample IS NULL OR"
     " last_sample >= ?2) ORDER BY bytes DESC LIMIT 500) ORDER BY base_address",
     true},
    {"cost", "What recording cost",
     "The tracer's own cost in this run; own_bytes is address space it had reserved",
     "SELECT ticks, missed, seconds, cpu_s, cpu_percent, cpu_us_per_tick, own_bytes, mean_depth"
     " FROM self_cost WHERE run = ?1",
     false},
};

int report_overview(struct report *r)
{
    return put_table(r, &overview);
}

int report_tables(struct report *r)
{
    int code = TOOL_OK;

    for (size_t i = 0; i < COUNT_OF(tables) && !code && !r->work->interrupted; i++)
        code = put_table(r, &tables[i]);
    return code;
}
