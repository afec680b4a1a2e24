/* SPDX-License-Identifier: MIT */
/* tools: recording → JSON lines: one object a line, each with the kind of its record.
 * In: a recording. Out: runs, levels, marks, steps, counters, modules, regions, in this order.
 * Called by cmd_export.c. Keeps 64-bit integers whole and says NULL where a value is unknown. */
#include "export.h"
#include "options.h"

struct lines {
    struct exporting *e;
    const char *record;
};

static const struct {
    const char *record, *sql;
} records[] = {
    {"run", "SELECT * FROM run r WHERE ?1 IN (0, r.id) ORDER BY r.id"},
    {"level",
     "SELECT r.id AS run, s.id AS sample, s.t_ns, s.wall_ns, s.until_ns, t.name AS type, l.size,"
     " l.committed, l.charged, l.private, l.ws, l.ws_private, l.ws_shareable, l.ws_shared, l.pss,"
     " l.swap, l.locked, l.huge, l.lazy_free, l.blocks, l.largest"
     " FROM run r CROSS JOIN sample s ON s.run = r.id CROSS JOIN type t"
     " CROSS JOIN level l ON l.run = r.id AND l.type = t.id AND l.sample = s.id"
     " WHERE ?1 IN (0, r.id) ORDER BY r.id, s.t_ns, s.id, t.id"},
    {"mark", "SELECT run, sample, t_ns, wall_ns, tid, label FROM mark WHERE ?1 IN (0, run)"
             " ORDER BY run, t_ns, id"},
    {"step", "SELECT * FROM punctuated_growth WHERE ?1 IN (0, run)"},
    {"counter", "SELECT c.run, c.sample, k.name AS counter, k.unit, c.value FROM counter c"
                " JOIN counter_kind k ON k.id = c.counter WHERE ?1 IN (0, c.run)"
                " ORDER BY c.run, c.sample, k.id"},
    {"module", "SELECT m.run, m.first_sample, m.last_sample, printf('0x%012x', m.base) AS base,"
               " m.bytes, s.text AS path, m.build_id FROM module m JOIN string s ON s.id = m.path"
               " WHERE ?1 IN (0, m.run) ORDER BY m.id"},
    {"region", "SELECT run, first_sample, last_sample, continues, base_address, bytes, type,"
               " protection, file_name, offset, owner, thread, confidence, ws, swap"
               " FROM region_row WHERE ?1 IN (0, run) ORDER BY id"},
};

static int put_line(void *user, uint32_t n_columns, const char *const *names,
                    const tracer_value *values)
{
    struct lines *l = user;
    struct json j = {.file = l->e->out, .compact = true};

    json_open(&j, NULL, '{');
    json_string(&j, "record", l->record);
    for (uint32_t i = 0; i < n_columns; i++)
        json_value(&j, names[i], &values[i]);
    json_close(&j, '}');
    return !work_step(l->e->work);
}

int export_lines(struct exporting *e)
{
    int code = TOOL_OK;

    for (size_t i = 0; i < COUNT_OF(records) && !code && !e->work->interrupted; i++) {
        struct lines l = {e, records[i].record};

        code = export_ask(e, records[i].sql, put_line, &l);
    }
    return code;
}
