/* SPDX-License-Identifier: MIT */
/* tools: the five tables of an address summary, at any sample.
 * In: a file and a moment. Out: usage, type, state, protection, largest region by usage. At the
 * newest sample they say what the views of the same names say (a test compares them).
 * Called by cmd_show.c. */
#include "show_summary.h"

#include "levels.h"
#include "options.h"

/* Bytes of all address space, and of what is in use. */
#define SQL_BASE                                                                                   \
    "WITH " SQL_LEVELS_AT ", " SQL_REGIONS_AT                                                      \
    ", kinds AS (SELECT * FROM levels_at WHERE size > 0 AND type <> 'page_table')"                 \
    ", sums AS (SELECT nullif(sum(size), 0) AS every,"                                             \
    " nullif(sum(iif(type = 'free', 0, size)), 0) AS busy FROM kinds) "

#define SQL_PERCENT(bytes, is_free)                                                                \
    " iif(" is_free ", NULL, round(100.0 * (" bytes ") / (SELECT busy FROM sums), 2))"             \
    " AS percent_of_busy, round(100.0 * (" bytes ") / (SELECT every FROM sums), 2)"                \
    " AS percent_of_total "

static const char sql_usage[] =
    SQL_BASE "SELECT type AS usage, blocks AS regions, size AS bytes," SQL_PERCENT(
        "size", "type = 'free'") "FROM kinds ORDER BY type <> 'free', size DESC";

static const char sql_type[] = SQL_BASE "SELECT type, regions, bytes," SQL_PERCENT(
    "bytes", "0") "FROM (SELECT CASE WHEN type = 'image' THEN 'MEM_IMAGE'"
                  " WHEN type IN ('mapped_file', 'shareable', 'device') THEN 'MEM_MAPPED'"
                  " ELSE 'MEM_PRIVATE' END AS type, sum(blocks) AS regions, sum(size) AS bytes"
                  " FROM kinds WHERE type <> 'free' GROUP BY 1) ORDER BY bytes DESC";

static const char sql_state[] = SQL_BASE
    ", states AS (SELECT 'MEM_FREE' AS state, blocks AS regions, size AS bytes FROM levels_at"
    " WHERE type = 'free' UNION ALL"
    " SELECT 'MEM_COMMIT', (SELECT nullif(sum(alloc_type = 'COMMIT'), 0) FROM regions_at),"
    " sum(committed) FROM levels_at WHERE type NOT IN ('free', 'page_table') UNION ALL"
    " SELECT 'MEM_RESERVE', (SELECT sum(alloc_type = 'RESERVE') FROM regions_at),"
    " sum(size - ifnull(committed, 0)) FROM levels_at WHERE type NOT IN ('free', 'page_table'))"
    " SELECT state, regions, bytes, iif(state = 'MEM_FREE', NULL, round(100.0 * bytes"
    " / nullif(sum(iif(state = 'MEM_FREE', 0, bytes)) OVER (), 0), 2)) AS percent_of_busy,"
    " round(100.0 * bytes / nullif(sum(bytes) OVER (), 0), 2) AS percent_of_total"
    " FROM states WHERE bytes IS NOT NULL";

static const char sql_protect[] =
    SQL_BASE "SELECT 'PAGE_' || replace(protection, ' GUARD', '|PAGE_GUARD') AS protect,"
             " count(*) AS regions, sum(bytes) AS bytes, round(100.0 * sum(bytes)"
             " / nullif(sum(sum(bytes)) OVER (), 0), 2) AS percent_of_busy,"
             " round(100.0 * sum(bytes) / (SELECT every FROM sums), 2) AS percent_of_total"
             " FROM regions_at GROUP BY protection ORDER BY bytes DESC";

static const char sql_largest[] = SQL_BASE
    ", tops AS (SELECT type, base_address, file_name, owner, max(bytes) AS bytes FROM regions_at"
    " GROUP BY type)"
    " SELECT k.type AS usage, r.base_address, ifnull(r.bytes, k.largest) AS bytes," SQL_PERCENT(
        "ifnull(r.bytes, k.largest)",
        "k.type = 'free'") ", ifnull(r.file_name, r.owner) AS name"
                           " FROM kinds k LEFT JOIN tops r ON r.type = k.type ORDER BY k.type <> "
                           "'free', 3 DESC";

#define FIGURES                                                                                    \
    {"Regions", CELL_NUMBER}, {"Bytes", CELL_BYTES}, {"% of busy", CELL_PERCENT},                  \
    {                                                                                              \
        "% of total", CELL_PERCENT                                                                 \
    }

static const struct table_column usage_columns[] = {{"Usage", CELL_TEXT}, FIGURES};
static const struct table_column type_columns[] = {{"Type", CELL_TEXT}, FIGURES};
static const struct table_column state_columns[] = {{"State", CELL_TEXT}, FIGURES};
static const struct table_column protect_columns[] = {{"Protect", CELL_TEXT}, FIGURES};
static const struct table_column largest_columns[] = {
    {"Largest by usage", CELL_TEXT}, {"Base", CELL_NUMBER},        {"Bytes", CELL_BYTES},
    {"% of busy", CELL_PERCENT},     {"% of total", CELL_PERCENT}, {"File or owner", CELL_TEXT},
};

static const struct {
    const char *key, *sql;
    const struct table_column *columns;
} parts[] = {
    {"usage", sql_usage, usage_columns},       {"type", sql_type, type_columns},
    {"state", sql_state, state_columns},       {"protect", sql_protect, protect_columns},
    {"largest", sql_largest, largest_columns},
};

int show_summary(struct answer *a, const struct moment *m)
{
    int code = TOOL_OK;

    for (size_t i = 0; !code && i < COUNT_OF(parts); i++) {
        if (i && !a->json)
            putchar('\n');
        answer_bind(a, m->run);
        answer_bind(a, m->sample);
        code = answer_rows(a, parts[i].key, parts[i].sql, parts[i].columns, NULL);
    }
    return code;
}
