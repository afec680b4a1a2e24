/* SPDX-License-Identifier: MIT */
/* record: the lists of a sample → rows of region, module, thread with their intervals of life.
 * In: a sample's new, ended and changed elements. Out: rows, and their numbers in the elements.
 * Called by recorder_rows.c inside the sample's savepoint. After a rollback (`again`) a list is
 * written whole: rows that were lost get new ones, rows that stayed open and are gone end. */
#include <stdio.h>

#include "base/compiler.h"
#include "base/error.h"
#include "record/recorder_private.h"

/* region.flags: the bits of enum mt_change from here on */
#define REGION_CHANGE_SHIFT 11

/* The row of a name; 0 with *error set on failure. */
static int64_t string_row(struct mt_recorder *r, uint32_t id, int *error)
{
    size_t bytes;
    const char *text = mt_strings_get(r->strings, id, &bytes);
    sqlite3_stmt *find = r->sql[MT_SQL_STRING_FIND], *insert = r->sql[MT_SQL_STRING];
    int64_t row = id < r->string_capacity ? r->string_rows[id] : 0;

    if (row)
        mt_sweep_note(r, MT_SWEEP_NAMES, row);
    if (row || *error)
        return row;
    sqlite3_bind_text(find, 1, text, (int)bytes, SQLITE_STATIC);
    *error = mt_db_run_number(&r->db, find, "write names", &row);
    if (!*error && !row) {
        sqlite3_bind_text(insert, 1, text, (int)bytes, SQLITE_STATIC);
        *error = mt_recorder_run(r, MT_SQL_STRING, "write names");
        row = sqlite3_last_insert_rowid(r->db.handle);
    }
    if (!*error && id < r->string_capacity)
        r->string_rows[id] = row;
    mt_sweep_note(r, MT_SWEEP_NAMES, row);
    return row;
}

static void bind_string(struct mt_recorder *r, sqlite3_stmt *q, int i, uint32_t id, int *error)
{
    int64_t row = id ? string_row(r, id, error) : 0;

    if (row && !*error)
        mt_db_bind(q, i, row);
}

static int end_row(struct mt_recorder *r, enum mt_statement id, int64_t row)
{
    mt_db_bind(r->sql[id], 1, row);
    mt_db_bind(r->sql[id], 2, r->at.sample);
    return mt_recorder_run(r, id, "write a sample");
}

static int end_rows(struct mt_recorder *r, enum mt_statement id, const int64_t *rows, uint32_t n)
{
    int error = TRACER_OK;

    for (uint32_t i = 0; i < n && !error; i++)
        error = end_row(r, id, rows[i]);
    return error;
}

/* Opens again a row that end-all has just closed. */
static int reopen(struct mt_recorder *r, enum mt_statement id, int64_t row)
{
    mt_db_bind(r->sql[id], 1, row);
    return mt_recorder_run(r, id, "write a sample");
}

static int64_t region_flags(const struct mt_interval *v)
{
    static const struct {
        uint32_t region, claim;
        int64_t bit;
    } words[] = {
        {MT_REGION_SHARED, 0, 1},  {MT_REGION_FILE, 0, 2},      {0, MT_CLAIM_GUARD, 4},
        {0, MT_CLAIM_RESERVED, 8}, {0, MT_CLAIM_CACHED, 16},    {MT_REGION_HUGETLB, 0, 32},
        {MT_REGION_DEVICE, 0, 64}, {MT_REGION_DELETED, 0, 128}, {MT_REGION_COMMITTED, 0, 256},
        {0, MT_CLAIM_RELRO, 512},  {0, MT_CLAIM_BSS, 1024},
    };
    int64_t flags = 0;

    for (size_t i = 0; i < MT_COUNT_OF(words); i++)
        if ((v->region_flags & words[i].region) || (v->claim_flags & words[i].claim))
            flags |= words[i].bit;
    return flags | (int64_t)v->change << REGION_CHANGE_SHIFT;
}

static bool knows_ws(const struct mt_interval *v)
{
    return (v->pages.known >> MT_PAGE_RESIDENT & 1u) != 0;
}

/* Anonymous pages of a private mapping: nobody else has them. */
static uint64_t private_bytes(const struct mt_interval *v)
{
    bool counts =
        (v->pages.known >> MT_PAGE_ANONYMOUS & 1u) && !(v->region_flags & MT_REGION_SHARED);

    return counts ? v->pages.bytes[MT_PAGE_ANONYMOUS] : 0;
}

/* What was found out of fewer pages than there are now is no more than that; of more, nothing. */
static bool knows_why(const struct mt_interval *v)
{
    return v->explained && v->relocated + v->written <= private_bytes(v);
}

static void bind_why(sqlite3_stmt *q, int i, struct mt_interval *v)
{
    if (knows_why(v)) {
        mt_db_bind(q, i, (int64_t)v->relocated);
        mt_db_bind(q, i + 1, (int64_t)v->written);
    }
    v->recorded_why = v->explained;
}

static void bind_pages(sqlite3_stmt *q, int i, struct mt_interval *v)
{
    mt_db_bind(q, i, (int64_t)v->pages.bytes[MT_PAGE_RESIDENT]);
    if (v->pages.known >> MT_PAGE_SWAP & 1u)
        mt_db_bind(q, i + 1, (int64_t)v->pages.bytes[MT_PAGE_SWAP]);
    if (v->pages.known >> MT_PAGE_ANONYMOUS & 1u)
        mt_db_bind(q, i + 2, (int64_t)private_bytes(v));
    bind_why(q, i + 3, v);
    v->recorded_ws = v->pages.bytes[MT_PAGE_RESIDENT] + private_bytes(v);
    v->recorded_swap = v->pages.bytes[MT_PAGE_SWAP];
}

static int insert_region(struct mt_recorder *r, struct mt_interval *v, int64_t continues,
                         int64_t sample_row)
{
    sqlite3_stmt *q = r->sql[MT_SQL_REGION];
    int error = TRACER_OK;

    mt_db_bind(q, 1, r->run);
    mt_db_bind(q, 2, sample_row);
    if (continues)
        mt_db_bind(q, 3, continues);
    mt_db_bind(q, 4, (int64_t)v->base);
    mt_db_bind(q, 5, (int64_t)(v->end - v->base));
    mt_db_bind(q, 6, r->type_rows[v->type]);
    mt_db_bind(q, 7, v->protection);
    mt_db_bind(q, 8, region_flags(v));
    bind_string(r, q, 9, v->name, &error);
    mt_db_bind(q, 10, (int64_t)v->offset);
    if (v->inode)
        mt_db_bind(q, 11, (int64_t)v->inode);
    bind_string(r, q, 12, v->owner, &error);
    if (v->thread)
        mt_db_bind(q, 13, v->thread);
    sqlite3_bind_text(q, 14, &v->confidence, v->confidence ? 1 : 0, SQLITE_STATIC);
    if (knows_ws(v))
        bind_pages(q, 15, v);
    if (error)
        return error;
    mt_db_bind(q, 20, r->at.region_max + 1);
    error = mt_recorder_run(r, MT_SQL_REGION, "write regions");
    if (!error)
        v->row = ++r->at.region_max;
    return error;
}

/* Only after all pages were counted: elsewhere most numbers are carried over. */
static int update_pages(struct mt_recorder *r, const struct mt_sample *s, struct mt_interval *v)
{
    sqlite3_stmt *q = r->sql[MT_SQL_REGION_PAGES];

    if (s->depth < MT_DEPTH_WHOLE || !knows_ws(v) ||
        (v->recorded_why == v->explained &&
         v->recorded_ws == v->pages.bytes[MT_PAGE_RESIDENT] + private_bytes(v) &&
         v->recorded_swap == v->pages.bytes[MT_PAGE_SWAP]))
        return TRACER_OK;
    mt_db_bind(q, 1, v->row);
    bind_pages(q, 2, v);
    return mt_recorder_run(r, MT_SQL_REGION_PAGES, "write regions");
}

static int write_regions(struct mt_recorder *r, const struct mt_sample *s, int64_t sample_row)
{
    bool again = (r->again & MT_AGAIN_REGIONS) != 0;
    int64_t kept = r->committed.region_max;
    int error = again ? end_row(r, MT_SQL_REGION_END_ALL, r->run)
                      : end_rows(r, MT_SQL_REGION_END, s->ended_regions, s->n_ended_regions);

    if (!again && !error)
        error = end_rows(r, MT_SQL_REGION_MERGED, s->merged_regions, s->n_merged_regions);
    for (uint32_t i = 0; i < s->n_intervals && !error; i++) {
        struct mt_interval *v = &s->intervals[i];
        int64_t continues = s->continued ? s->continued[i] : 0;

        if (!v->row || (again && v->row > kept))
            error = insert_region(r, v, again && continues > kept ? 0 : continues, sample_row);
        else if (again)
            error = reopen(r, MT_SQL_REGION_END, v->row);
        if (!error)
            error = update_pages(r, s, v);
    }
    return error;
}

static void hexadecimal(const uint8_t *bytes, uint8_t n, char out[2 * MT_BUILD_ID_BYTES + 1])
{
    out[0] = 0;
    for (int i = 0; i < n && i < MT_BUILD_ID_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static int insert_module(struct mt_recorder *r, struct mt_module *m, int64_t sample_row)
{
    sqlite3_stmt *q = r->sql[MT_SQL_MODULE];
    char build_id[2 * MT_BUILD_ID_BYTES + 1];
    int error = TRACER_OK;

    hexadecimal(m->build_id, m->build_id_bytes, build_id);
    mt_db_bind(q, 1, r->run);
    mt_db_bind(q, 2, sample_row);
    mt_db_bind(q, 3, (int64_t)m->base);
    mt_db_bind(q, 4, (int64_t)(m->end - m->base));
    mt_db_bind(q, 5, string_row(r, m->path, &error));
    if (build_id[0])
        mt_db_bind_text(q, 6, build_id);
    if (error)
        return error;
    mt_db_bind(q, 7, r->at.module_max + 1);
    error = mt_recorder_run(r, MT_SQL_MODULE, "write modules");
    if (!error)
        m->row = ++r->at.module_max;
    return error;
}

static int write_modules(struct mt_recorder *r, const struct mt_sample *s, int64_t sample_row)
{
    bool again = (r->again & MT_AGAIN_MODULES) != 0;
    int error = again ? end_row(r, MT_SQL_MODULE_END_ALL, r->run)
                      : end_rows(r, MT_SQL_MODULE_END, s->ended_modules, s->n_ended_modules);

    for (uint32_t i = 0; i < s->n_modules && !error; i++) {
        struct mt_module *m = &s->modules[i];

        if (!m->row || (again && m->row > r->committed.module_max))
            error = insert_module(r, m, sample_row);
        else if (again)
            error = reopen(r, MT_SQL_MODULE_END, m->row);
    }
    return error;
}

static int insert_thread(struct mt_recorder *r, struct mt_thread *t, int64_t sample_row)
{
    sqlite3_stmt *q = r->sql[MT_SQL_THREAD];
    int error = TRACER_OK;

    mt_db_bind(q, 1, r->run);
    mt_db_bind(q, 2, sample_row);
    mt_db_bind(q, 3, t->tid);
    bind_string(r, q, 4, t->name, &error);
    if (t->stack_base) {
        mt_db_bind(q, 5, (int64_t)t->stack_base);
        mt_db_bind(q, 6, (int64_t)t->stack_bytes);
        mt_db_bind(q, 7, (int64_t)t->guard_bytes);
    }
    if (error)
        return error;
    mt_db_bind(q, 8, r->at.thread_max + 1);
    error = mt_recorder_run(r, MT_SQL_THREAD, "write threads");
    if (!error)
        t->row = ++r->at.thread_max;
    return error;
}

static int write_threads(struct mt_recorder *r, const struct mt_sample *s, int64_t sample_row)
{
    bool again = (r->again & MT_AGAIN_THREADS) != 0;
    int error = again ? end_row(r, MT_SQL_THREAD_END_ALL, r->run)
                      : end_rows(r, MT_SQL_THREAD_END, s->ended_threads, s->n_ended_threads);

    for (uint32_t i = 0; i < s->n_threads && !error; i++) {
        struct mt_thread *t = &s->threads[i];

        if (!t->row || (again && t->row > r->committed.thread_max))
            error = insert_thread(r, t, sample_row);
        else if (again)
            error = reopen(r, MT_SQL_THREAD_END, t->row);
    }
    return error;
}

int mt_recorder_lists(struct mt_recorder *r, const struct mt_sample *s, int64_t sample_row)
{
    int error = TRACER_OK;

    if (s->intervals)
        error = write_regions(r, s, sample_row);
    if (!error && s->modules)
        error = write_modules(r, s, sample_row);
    if (!error && s->threads)
        error = write_threads(r, s, sample_row);
    return error;
}

void mt_recorder_lists_undo(const struct mt_position *before, const struct mt_sample *s)
{
    for (uint32_t i = 0; s->intervals && i < s->n_intervals; i++)
        if (s->intervals[i].row > before->region_max)
            s->intervals[i].row = 0;
    for (uint32_t i = 0; s->modules && i < s->n_modules; i++)
        if (s->modules[i].row > before->module_max)
            s->modules[i].row = 0;
    for (uint32_t i = 0; s->threads && i < s->n_threads; i++)
        if (s->threads[i].row > before->thread_max)
            s->threads[i].row = 0;
}
