/* SPDX-License-Identifier: MIT */
/* tools: recording → CSV (RFC 4180).
 * In: a recording. Out: tidy rows, one a type and change; or three tables in the shape of
 * MemoryTracer's, one row a moment. Called by cmd_export.c. Unknown is an empty field, never 0. */
#include <inttypes.h>
#include <stdlib.h>

#include "export.h"

static void put_text(FILE *out, const tracer_value *v)
{
    const char *end = v->bytes + v->n_bytes;

    fputc('"', out);
    for (const char *c = v->bytes; c < end; c++) {
        if (*c == '"')
            fputc('"', out);
        fputc(*c, out);
    }
    fputc('"', out);
}

static void put_value(FILE *out, const tracer_value *v)
{
    if (v->kind == TRACER_VALUE_INTEGER)
        fprintf(out, "%" PRId64, v->integer);
    else if (v->kind == TRACER_VALUE_REAL)
        fprintf(out, "%.15g", v->real);
    else if (v->kind != TRACER_VALUE_NULL)
        put_text(out, v);
}

static int put_row(void *user, uint32_t n_columns, const char *const *names,
                   const tracer_value *values)
{
    struct exporting *e = user;

    (void)names;
    for (uint32_t i = 0; i < n_columns; i++) {
        if (i)
            fputc(',', e->out);
        put_value(e->out, &values[i]);
    }
    fputc('\n', e->out);
    return !work_step(e->work);
}

int export_csv(struct exporting *e)
{
    static const char sql[] =
        "SELECT r.id, r.label, r.pid, s.id, s.t_ns / 1e9,"
        " coalesce((SELECT n.t_ns FROM level k JOIN sample n ON n.id = k.sample"
        "           WHERE k.run = l.run AND k.type = l.type AND k.sample > l.sample"
        "           ORDER BY k.sample LIMIT 1),"
        "          (SELECT max(n.until_ns) FROM sample n WHERE n.run = r.id)) / 1e9,"
        " strftime('%Y-%m-%d %H:%M:%f', s.wall_ns / 1e9, 'unixepoch'), t.name,"
        " l.size, l.committed, l.charged, l.private, l.ws, l.ws_private, l.ws_shareable,"
        " l.ws_shared, l.pss, l.swap, l.locked, l.huge, l.lazy_free, l.blocks, l.largest"
        " FROM run r CROSS JOIN sample s ON s.run = r.id CROSS JOIN type t"
        " CROSS JOIN level l ON l.run = r.id AND l.type = t.id AND l.sample = s.id"
        " WHERE ?1 IN (0, r.id) ORDER BY r.id, s.t_ns, s.id, t.id";

    fputs("run,label,pid,sample,t_s,until_s,time,type,size,committed,charged,private,ws,ws_private,"
          "ws_shareable,ws_shared,pss,swap,locked,huge,lazy_free,blocks,largest\n",
          e->out);
    return export_ask(e, sql, put_row, e);
}

/* ---- MemoryTracer's three files ---- */

/* Its rows and columns, in its order; what we tell apart and it does not is added up in C. */
enum {
    MT_TOTAL,
    MT_IMAGE,
    MT_MAPPED,
    MT_SHAREABLE,
    MT_HEAP,
    MT_STACK,
    MT_PRIVATE,
    MT_UNUSABLE,
    MT_FREE,
    MT_ROWS
};
enum { MT_SIZE, MT_PRIVATE_BYTE = 2, MT_LARGEST = 8, MT_COLUMNS = 9 };

static const char types_header[] =
    "TIME,PMGT_TOTAL,PMGT_IMAGE,PMGT_MAPPED_FILE,PMGT_SHAREABLE,PMGT_HEAP,PMGT_STACK,PMGT_PRIVATE,"
    "PMGT_UNUSABLE,PMGT_FREE\n";
static const char states_header[] =
    "TIME,PMDT_SIZE,PMDT_COMMITTED,PMDT_PRIVATE_BYTE,PMDT_WS_TOTAL,PMDT_WS_PRIVATE,"
    "PMDT_WS_SHAREABLE,PMDT_WS_SHARED,PMDT_BLOCKS,PMDT_LARGEST\n";

static const char *const endings[] = {"MemType", "MemState", "PrivateByte"};

#define TYPE_MOST 256

struct memorytracer {
    struct exporting *e;
    FILE *out[3];
    int64_t level[TYPE_MOST][MT_COLUMNS]; /* the newest of each type, by its id */
    bool known[TYPE_MOST][MT_COLUMNS];
    int64_t sample;
    char time[32];
};

/* Of a type by its id: image, mapped_file, shareable, heap, managed_heap, stack, private, device,
 * page_table, unusable, free, tracer; the host's own are heaps. */
static int row_of(int64_t type)
{
    static const int rows[] = {MT_TOTAL,    MT_IMAGE, MT_MAPPED,  MT_SHAREABLE, MT_HEAP,
                               MT_HEAP,     MT_STACK, MT_PRIVATE, MT_MAPPED,    MT_TOTAL,
                               MT_UNUSABLE, MT_FREE,  MT_PRIVATE};

    return type < 13 ? rows[type] : MT_HEAP;
}

static int64_t cell(const struct memorytracer *m, int row, int column, bool *known)
{
    int64_t sum = 0;

    for (int t = 0; t < TYPE_MOST; t++) {
        bool here = row == MT_TOTAL ? row_of(t) != MT_FREE : row_of(t) == row;

        if (!here || !m->known[t][column])
            continue;
        *known = true;
        if (column == MT_LARGEST)
            sum = m->level[t][column] > sum ? m->level[t][column] : sum;
        else
            sum += m->level[t][column];
    }
    return sum;
}

static void put_cell(FILE *out, const struct memorytracer *m, int row, int column)
{
    bool known = false;
    int64_t value = cell(m, row, column, &known);

    if (known)
        fprintf(out, ",%" PRId64, value);
    else
        fputc(',', out);
}

static void put_moment(struct memorytracer *m)
{
    if (!m->sample)
        return;
    for (int i = 0; i < 3; i++)
        fputs(m->time, m->out[i]);
    for (int row = 0; row < MT_ROWS; row++) {
        put_cell(m->out[0], m, row, MT_SIZE);
        put_cell(m->out[2], m, row, MT_PRIVATE_BYTE);
    }
    for (int column = 0; column < MT_COLUMNS; column++)
        put_cell(m->out[1], m, MT_TOTAL, column);
    for (int i = 0; i < 3; i++)
        fputc('\n', m->out[i]);
}

static int take_level(void *user, uint32_t n_columns, const char *const *names,
                      const tracer_value *values)
{
    struct memorytracer *m = user;
    int64_t type = values[2].integer;

    (void)n_columns, (void)names;
    if (values[0].integer != m->sample)
        put_moment(m);
    m->sample = values[0].integer;
    snprintf(m->time, sizeof(m->time), "%s", values[1].bytes);
    for (int c = 0; type > 0 && type < TYPE_MOST && c < MT_COLUMNS; c++) {
        m->level[type][c] = values[3 + c].integer;
        m->known[type][c] = EXPORT_KNOWN(values[3 + c]);
    }
    return !work_step(m->e->work);
}

static int write_moments(struct memorytracer *m)
{
    static const char sql[] =
        "SELECT s.id, strftime('%Y-%m-%d %H:%M:%f', s.wall_ns / 1e9, 'unixepoch'), t.id, l.size,"
        " l.committed, l.private, l.ws, l.ws_private, l.ws_shareable, l.ws_shared, l.blocks,"
        " l.largest"
        " FROM sample s CROSS JOIN type t"
        " CROSS JOIN level l ON l.run = s.run AND l.type = t.id AND l.sample = s.id"
        " WHERE s.run = ?1 ORDER BY s.t_ns, s.id, t.id";
    int code;

    fputs(types_header, m->out[0]);
    fputs(states_header, m->out[1]);
    fputs(types_header, m->out[2]);
    code = export_ask(m->e, sql, take_level, m);
    put_moment(m);
    return code;
}

int export_memorytracer(struct exporting *e, const char *folder)
{
    static struct memorytracer m;
    struct out_file files[3] = {{0}, {0}, {0}};
    char paths[3][OUT_PATH_BYTES];
    int64_t pid = 0;
    bool found;
    int code;

    answer_bind(e->answer, e->answer->run);
    code = answer_integers(e->answer, "SELECT pid FROM run WHERE id = ?1", &pid, 1, &found);
    if (!code)
        code = out_folder_make(folder);
    m.e = e;
    for (int i = 0; i < 3 && !code; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%.4000s/%" PRId64 "_%s.csv", folder, pid, endings[i]);
        code = out_file_open(&files[i], paths[i]);
        m.out[i] = files[i].file;
    }
    if (!code)
        code = write_moments(&m);
    if (!code)
        code = work_end(e->work);
    return out_file_close(files, 3, code);
}
