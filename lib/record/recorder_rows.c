/* SPDX-License-Identifier: MIT */
/* record: one sample → rows of sample, level, counter.
 * In: a sample. Out: rows in the open transaction, or an extension in memory when nothing changed.
 * Called by the tick. What was "last written" moves on only when the whole sample is in. */
#include <string.h>

#include "base/error.h"
#include "record/fork_gate.h"
#include "record/recorder_private.h"

/* Flags that may last over many samples: while they stay the same, they are no news. */
#define LASTING                                                                                    \
    (MT_SAMPLE_TRUNCATED | MT_SAMPLE_NO_PAGES | MT_SAMPLE_PARTIAL | MT_SAMPLE_FAILED |             \
     MT_SAMPLE_REJECTED)

static bool type_changed(const struct mt_recorder *r, const struct mt_sample *s, unsigned type)
{
    uint64_t bit = UINT64_C(1) << type;

    if (!(s->levels->present & bit))
        return false;
    return (r->again & MT_AGAIN_LEVELS) || !(r->levels.present & bit) ||
           !mt_type_level_equal(&r->levels.type[type], &s->levels->type[type]);
}

static bool levels_changed(const struct mt_recorder *r, const struct mt_sample *s)
{
    for (unsigned t = 0; t < MT_TYPE_CAPACITY; t++)
        if (type_changed(r, s, t))
            return true;
    return false;
}

static bool lists_changed(const struct mt_sample *s)
{
    if (s->n_ended_regions || s->n_merged_regions || s->n_ended_modules || s->n_ended_threads)
        return true;
    for (uint32_t i = 0; s->intervals && i < s->n_intervals; i++)
        if (!s->intervals[i].row)
            return true;
    for (uint32_t i = 0; s->modules && i < s->n_modules; i++)
        if (!s->modules[i].row)
            return true;
    for (uint32_t i = 0; s->threads && i < s->n_threads; i++)
        if (!s->threads[i].row)
            return true;
    return false;
}

/* A list that must be written again and is here to be written. */
static bool something_lost(const struct mt_recorder *r, const struct mt_sample *s)
{
    uint32_t can = MT_AGAIN_LEVELS | MT_AGAIN_TYPES;

    can |= s->intervals ? MT_AGAIN_REGIONS : 0;
    can |= s->modules ? MT_AGAIN_MODULES : 0;
    can |= s->threads ? MT_AGAIN_THREADS : 0;
    return (r->again & can) != 0;
}

static bool counter_changed(const struct mt_recorder *r, const struct mt_counters *now, int i)
{
    uint64_t bit = UINT64_C(1) << i;

    if (r->again & MT_AGAIN_LEVELS)
        return (now->known & bit) != 0;
    return ((r->counters.known ^ now->known) & bit) ||
           ((now->known & bit) && r->counters.value[i] != now->value[i]);
}

/* What the host counts is news by itself; the kernel's counters only come along. */
static bool host_counters_changed(const struct mt_recorder *r, const struct mt_sample *s)
{
    for (int i = MT_COUNTER_USER_FIRST; s->counters && i < MT_COUNTER_CAPACITY; i++)
        if (counter_changed(r, s->counters, i))
            return true;
    return false;
}

static bool steady(const struct mt_recorder *r, const struct mt_sample *s)
{
    uint32_t flags = s->flags & ~MT_SAMPLE_LIST_KEPT, last = r->at.flags & ~MT_SAMPLE_LIST_KEPT;

    return !s->news && r->at.sample && flags == last && !(flags & ~LASTING) &&
           !something_lost(r, s) && !levels_changed(r, s) && !lists_changed(s) &&
           !host_counters_changed(r, s);
}

static void extend(struct mt_extension *more, const struct mt_sample *s)
{
    if (more->ticks++ == 0)
        more->since_ns = s->t_ns;
    more->until_ns = s->t_ns;
    more->cost_wall_ns += s->cost_wall_ns > 0 ? s->cost_wall_ns : 0;
    more->cost_cpu_ns += s->cost_cpu_ns > 0 ? s->cost_cpu_ns : 0;
    if ((int64_t)s->own_bytes > more->own_bytes)
        more->own_bytes = (int64_t)s->own_bytes;
}

int mt_recorder_flush_extension(struct mt_recorder *r)
{
    sqlite3_stmt *q = r->sql[MT_SQL_EXTEND];

    if (!r->more.ticks)
        return TRACER_OK;
    mt_db_bind(q, 1, r->at.sample);
    mt_db_bind(q, 2, r->more.until_ns);
    mt_db_bind(q, 3, r->more.ticks);
    mt_db_bind(q, 4, r->more.cost_wall_ns);
    mt_db_bind(q, 5, r->more.cost_cpu_ns);
    mt_db_bind(q, 6, r->more.own_bytes);
    return mt_recorder_run(r, MT_SQL_EXTEND, "write a sample");
}

static int write_sample_row(struct mt_recorder *r, const struct mt_sample *s, int64_t *out_row)
{
    sqlite3_stmt *q = r->sql[MT_SQL_SAMPLE];
    int error;

    mt_db_bind(q, 1, r->run);
    mt_db_bind(q, 2, s->t_ns);
    mt_db_bind(q, 3, s->wall_ns);
    mt_db_bind(q, 4, s->n_missed);
    mt_db_bind(q, 5, s->depth);
    mt_db_bind(q, 6, s->flags);
    mt_db_bind_known(q, 7, s->n_regions);
    mt_db_bind_known(q, 8, s->cost_wall_ns);
    mt_db_bind_known(q, 9, s->cost_cpu_ns);
    mt_db_bind(q, 10, (int64_t)s->own_bytes);
    error = mt_recorder_run(r, MT_SQL_SAMPLE, "write a sample");
    if (!error)
        *out_row = sqlite3_last_insert_rowid(r->db.handle);
    return error;
}

static int write_levels(struct mt_recorder *r, const struct mt_sample *s, int64_t row)
{
    sqlite3_stmt *q = r->sql[MT_SQL_LEVEL];
    int error = TRACER_OK;

    for (unsigned t = 0; t < MT_TYPE_CAPACITY && !error; t++) {
        const struct mt_type_level *level = &s->levels->type[t];

        if (!type_changed(r, s, t))
            continue;
        mt_db_bind(q, 1, r->run);
        mt_db_bind(q, 2, r->type_rows[t]);
        mt_db_bind(q, 3, row);
        for (int c = 0; c < MT_COLUMN_COUNT; c++)
            if (level->known >> c & 1u)
                mt_db_bind(q, 4 + c, level->value[c]);
        error = mt_recorder_run(r, MT_SQL_LEVEL, "write a sample");
    }
    return error;
}

void mt_recorder_forget_counters(struct mt_recorder *r)
{
    memset(&r->counter_rows[MT_COUNTER_USER_FIRST], 0,
           MT_USER_COUNTERS * sizeof(r->counter_rows[0]));
}

/* The counter's row in the file: an earlier run may have given the id to another name. */
static int need_counter(struct mt_recorder *r, const struct mt_sample *s, int i)
{
    sqlite3_stmt *find = r->sql[MT_SQL_COUNTER_FIND], *insert = r->sql[MT_SQL_COUNTER_KIND];
    const struct mt_counter_words *words;
    int error;

    if (r->counter_rows[i])
        return TRACER_OK;
    words = &s->counter_words[i - MT_COUNTER_USER_FIRST];
    mt_db_bind_text(find, 1, words->name);
    error = mt_db_run_number(&r->db, find, "write a counter", &r->counter_rows[i]);
    if (error || r->counter_rows[i])
        return error;
    mt_db_bind(insert, 1, i);
    mt_db_bind_text(insert, 2, words->name);
    mt_db_bind_text(insert, 3, words->unit);
    mt_db_bind_text(insert, 4, words->description);
    return mt_db_run_number(&r->db, insert, "write a counter", &r->counter_rows[i]);
}

static int write_counters(struct mt_recorder *r, const struct mt_sample *s, int64_t row)
{
    sqlite3_stmt *q = r->sql[MT_SQL_COUNTER];
    int error = TRACER_OK;

    for (int i = 0; s->counters && i < MT_COUNTER_CAPACITY && !error; i++) {
        if (!counter_changed(r, s->counters, i))
            continue;
        error = need_counter(r, s, i);
        if (error)
            return error;
        mt_db_bind(q, 1, r->run);
        mt_db_bind(q, 2, r->counter_rows[i]);
        mt_db_bind(q, 3, row);
        if (s->counters->known >> i & 1u)
            mt_db_bind(q, 4, (int64_t)s->counters->value[i]);
        error = mt_recorder_run(r, MT_SQL_COUNTER, "write a sample");
    }
    return error;
}

static int write_types_again(struct mt_recorder *r)
{
    int error = TRACER_OK;

    for (uint32_t i = 0; i < MT_USER_TYPES && !error; i++)
        if (r->user_types[i].used)
            error = mt_recorder_type(r, MT_TYPE_USER_FIRST + i, r->user_types[i].name,
                                     r->user_types[i].description);
    return error;
}

/* Of another process it is found out only when its modules are known. */
static int write_allocator(struct mt_recorder *r, const char *name)
{
    if (!name || !name[0] || name == r->allocator)
        return TRACER_OK;
    mt_db_bind(r->sql[MT_SQL_RUN_ALLOCATOR], 1, r->run);
    mt_db_bind_text(r->sql[MT_SQL_RUN_ALLOCATOR], 2, name);
    return mt_recorder_run(r, MT_SQL_RUN_ALLOCATOR, "write a sample");
}

static int write_sample(struct mt_recorder *r, const struct mt_sample *s, int64_t *out_row)
{
    int error = mt_recorder_flush_extension(r);

    if (!error && (r->again & MT_AGAIN_TYPES))
        error = write_types_again(r);
    if (!error)
        error = write_sample_row(r, s, out_row);
    if (!error)
        error = write_allocator(r, s->allocator);
    if (!error)
        error = write_levels(r, s, *out_row);
    if (!error)
        error = write_counters(r, s, *out_row);
    if (!error)
        error = mt_recorder_lists(r, s, *out_row);
    return error;
}

/* The sample is in: from here on it is what the next one is compared with. */
static void accept_sample(struct mt_recorder *r, const struct mt_sample *s, int64_t row)
{
    for (unsigned t = 0; t < MT_TYPE_CAPACITY; t++)
        if (s->levels->present >> t & 1u)
            r->levels.type[t] = s->levels->type[t];
    r->levels.present = s->levels->present;
    if (s->counters)
        r->counters = *s->counters;
    memset(&r->more, 0, sizeof(r->more));
    r->retention.n_tier[0]++;
    r->retention.added++;
    r->at.sample = row;
    r->at.flags = s->flags;
    if (s->allocator)
        r->allocator = s->allocator;
    r->again &= ~(MT_AGAIN_LEVELS | MT_AGAIN_TYPES);
    if (s->intervals)
        r->again &= ~MT_AGAIN_REGIONS;
    if (s->modules)
        r->again &= ~MT_AGAIN_MODULES;
    if (s->threads)
        r->again &= ~MT_AGAIN_THREADS;
}

/* Forgets what the failed sample wrote. Some failures make SQLite end the whole transaction. */
static void undo_sample(struct mt_recorder *r, const struct mt_position *before,
                        const struct mt_sample *s)
{
    mt_recorder_lists_undo(before, s);
    r->at = *before;
    mt_recorder_forget_counters(r);
    memset(r->string_rows, 0, r->string_capacity * sizeof(*r->string_rows));
    for (int i = 0; i < MT_SQL_COUNT; i++)
        sqlite3_clear_bindings(r->sql[i]);
    if (sqlite3_get_autocommit(r->db.handle)) {
        mt_recorder_rollback(r);
        return;
    }
    sqlite3_step(r->sql[MT_SQL_UNDO]);
    sqlite3_reset(r->sql[MT_SQL_UNDO]);
    sqlite3_step(r->sql[MT_SQL_RELEASE]);
    sqlite3_reset(r->sql[MT_SQL_RELEASE]);
}

static int add_sample(struct mt_recorder *r, const struct mt_sample *sample)
{
    struct mt_position before;
    int64_t row = 0;
    int error = mt_recorder_begin(r);

    if (!error)
        error = mt_recorder_run(r, MT_SQL_SAVE, "write a sample");
    if (error)
        return error;
    before = r->at;
    error = write_sample(r, sample, &row);
    if (!error)
        error = mt_recorder_run(r, MT_SQL_RELEASE, "write a sample");
    if (error)
        undo_sample(r, &before, sample);
    else
        accept_sample(r, sample, row);
    return error;
}

int mt_recorder_sample(struct mt_recorder *r, const struct mt_sample *sample)
{
    int error;

    if (steady(r, sample)) {
        extend(&r->more, sample);
        return TRACER_OK;
    }
    mt_fork_gate_enter();
    error = add_sample(r, sample);
    mt_fork_gate_leave();
    return error;
}
