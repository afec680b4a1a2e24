/* SPDX-License-Identifier: MIT */
/* api: series measured elsewhere → a memtracer file.
 * In: samples, marks and lives in order of time. Out: runs written by the recorder, as if they had
 * been sampled. Called by the host and the CLI, one thread at a time.
 * Must not look at this process: nothing here is about it. */
#include "memtracer/import.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/label.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/sized.h"
#include "record/recorder.h"

#define FARTHEST_NS ((INT64_C(1) << 62) - 1)
#define PATH_BYTES 4096
#define LABEL_BYTES 256
#define NAME_BYTES 32
#define USER_TYPES (MT_TYPE_CAPACITY - MT_TYPE_USER_FIRST)
#define SAMPLES_A_COMMIT 4096

struct tracer_import {
    struct mt_recorder *recorder; /* NULL between lives */
    struct mt_os_facts facts;
    struct mt_run_info info;
    struct mt_levels levels;
    struct mt_counters counters, written; /* as set, and as of the sample before */
    uint64_t fresh;                       /* counters set since that sample */
    int64_t n_regions, written_regions;   /* -1 = unknown */
    bool fresh_regions;
    uint32_t n_types; /* of the series' own */
    uint64_t n_samples;
    int64_t last_ns; /* of the newest sample */
    int failed;      /* the first error of writing */
    char names[USER_TYPES][NAME_BYTES];
    char label[LABEL_BYTES];
    char path[PATH_BYTES];
};

static const char *const counter_names[MT_COUNTER_CAPACITY] = {
#define MT_COUNTER(name, id, text, unit, description) [MT_COUNTER_##name] = text,
#include "base/counter.def"
#undef MT_COUNTER
};

static const struct mt_field fields[] = {
    MT_FIELD(tracer_import_options, size),        MT_FIELD(tracer_import_options, interval_ms),
    MT_FIELD(tracer_import_options, label),       MT_FIELD(tracer_import_options, limit_bytes),
    MT_FIELD(tracer_import_options, max_regions),
};
static const struct mt_sized kind = MT_SIZED(tracer_import_options, fields);

static void set_facts(tracer_import *i, const tracer_import_options *o)
{
    mt_label_copy(i->label, sizeof(i->label), o->label && o->label[0] ? o->label : "import");
    mt_os_facts_read(mt_os_process_id(), &i->facts);
    i->facts.exe[0] = i->facts.allocator[0] = '\0';
    mt_label_copy(i->facts.name, sizeof(i->facts.name), i->label);
    i->facts.cgroup_limit_bytes = o->limit_bytes > 0 ? o->limit_bytes : -1;
    i->facts.host_memory_bytes = i->facts.address_limit_bytes = i->facts.data_limit_bytes = -1;
    i->facts.parent_pid = i->facts.process_start_ns = -1;
    i->n_regions = i->written_regions = -1;
    i->facts.max_regions = o->max_regions > 0 ? o->max_regions : -1;
    i->info.label = i->label;
    i->info.interval_ms = o->interval_ms ? o->interval_ms : 1000;
    i->info.commit_ms = 1000;
    i->info.flags = TRACER_F_NO_REGIONS;
    i->info.facts = &i->facts;
}

int tracer_import_open(const char *path, const tracer_import_options *options, tracer_import **out)
{
    tracer_import_options o = {0};
    tracer_import *i;
    int error = options ? mt_sized_take(&kind, options, &o) : TRACER_OK;

    if (error)
        return error;
    if (!path || !path[0] || !out)
        return mt_error_set(TRACER_EINVAL, "tracer_import_open: path or out is missing");
    i = mt_memory_alloc(sizeof(*i));
    if (!i)
        return mt_error_set(TRACER_ENOMEM, "no memory for an import");
    if (!mt_os_path_absolute(path, i->path, sizeof(i->path))) {
        mt_memory_free(i);
        return mt_error_set(TRACER_EINVAL, "%.200s: the path is too long", path);
    }
    set_facts(i, &o);
    *out = i;
    return TRACER_OK;
}

static bool name_is_fine(const char *name)
{
    size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;

    return n > 0 && n < NAME_BYTES && !name[n];
}

int tracer_import_type(tracer_import *i, const char *name, uint32_t *out_type)
{
    if (!i || !out_type || !name_is_fine(name))
        return mt_error_set(TRACER_EINVAL, "type name \"%.60s\": 1 to %d of [a-z0-9_]",
                            name ? name : "(NULL)", NAME_BYTES - 1);
    for (uint32_t t = 1; t < MT_TYPE_BUILTIN_END; t++)
        if (mt_type_name(t) && !strcmp(mt_type_name(t), name)) {
            *out_type = t;
            return TRACER_OK;
        }
    for (uint32_t t = 0; t < i->n_types; t++)
        if (!strcmp(i->names[t], name)) {
            *out_type = MT_TYPE_USER_FIRST + t;
            return TRACER_OK;
        }
    if (i->n_types == USER_TYPES)
        return mt_error_set(TRACER_ELIMIT, "more than %d types of its own", USER_TYPES);
    snprintf(i->names[i->n_types], NAME_BYTES, "%s", name);
    *out_type = MT_TYPE_USER_FIRST + i->n_types++;
    return i->recorder ? mt_recorder_type(i->recorder, *out_type, name, "") : TRACER_OK;
}

static int end_life(tracer_import *i)
{
    int error = i->recorder ? mt_recorder_close(i->recorder, "stopped", "") : TRACER_OK;

    i->recorder = NULL;
    if (error && !i->failed)
        i->failed = error;
    return error;
}

/* Two moments in these bounds have a difference that can be told. */
static int check_moment(int64_t wall_ns)
{
    if (wall_ns >= -FARTHEST_NS && wall_ns <= FARTHEST_NS)
        return TRACER_OK;
    return mt_error_set(TRACER_EINVAL,
                        "%lld ns is no moment: more than 146 years from 1970, or in another unit",
                        (long long)wall_ns);
}

/* What was set since the last sample belongs to the next one, which may be the new life's first. */
static void forget_life(tracer_import *i)
{
    i->levels.present = 0;
    i->counters.known &= i->fresh;
    if (!i->fresh_regions)
        i->n_regions = -1;
}

int tracer_import_life(tracer_import *i, int64_t wall_ns)
{
    int error = check_moment(wall_ns);

    if (error)
        return error;
    if (!i || (i->n_samples && wall_ns <= i->last_ns))
        return mt_error_set(TRACER_EINVAL, "tracer_import_life: a life begins after the samples "
                                           "of the one before");
    error = end_life(i);
    if (error)
        return error;
    i->info.start_wall_ns = wall_ns;
    i->info.start_monotonic_ns = 0;
    forget_life(i);
    error = mt_recorder_open(i->path, &i->info, NULL, &i->recorder);
    for (uint32_t t = 0; t < i->n_types && !error; t++)
        error = mt_recorder_type(i->recorder, MT_TYPE_USER_FIRST + t, i->names[t], "");
    if (error && !i->failed)
        i->failed = error;
    return error;
}

int tracer_import_counter(tracer_import *i, const char *name, uint64_t value)
{
    bool known = value <= INT64_MAX;

    if (!i || !name)
        return mt_error_set(TRACER_EINVAL, "tracer_import_counter: an argument is missing");
    if (!strcmp(name, "regions")) {
        i->n_regions = known ? (int64_t)value : -1;
        i->fresh_regions = true;
        return TRACER_OK;
    }
    for (int c = 0; c < MT_COUNTER_CAPACITY; c++)
        if (counter_names[c] && !strcmp(counter_names[c], name)) {
            i->fresh |= UINT64_C(1) << c;
            i->counters.known &= ~(UINT64_C(1) << c);
            i->counters.known |= (uint64_t)known << c;
            i->counters.value[c] = value;
            return TRACER_OK;
        }
    return mt_error_set(TRACER_EINVAL, "there is no counter \"%.60s\"", name);
}

static void take_type(struct mt_type_level *level, const tracer_type_bytes *from)
{
    level->known = from->known & MT_COLUMNS_ALL;
#define MT_COLUMN(name, number, column, field, unit, description)                                  \
    level->value[number] = (int64_t)from->field;
#include "base/state_column.def"
#undef MT_COLUMN
}

static int take_types(tracer_import *i, const tracer_type_bytes *types, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t t = types[k].type;

        if (t == 0 || t >= MT_TYPE_USER_FIRST + i->n_types ||
            (t >= MT_TYPE_BUILTIN_END && t < MT_TYPE_USER_FIRST))
            return mt_error_set(TRACER_EINVAL, "%u is not a type of this import", t);
        take_type(&i->levels.type[t], &types[k]);
        i->levels.present |= UINT64_C(1) << t;
    }
    return TRACER_OK;
}

/* Counters and regions of a recording come along with what changed in the types; in a series each
 * line was written by somebody who may look for it. */
static bool has_news(const tracer_import *i)
{
    if (i->n_regions != i->written_regions || i->counters.known != i->written.known)
        return true;
    for (int c = 0; c < MT_COUNTER_CAPACITY; c++)
        if (i->counters.known >> c & 1u && i->counters.value[c] != i->written.value[c])
            return true;
    return false;
}

static int write_sample(tracer_import *i, int64_t wall_ns)
{
    struct mt_sample s = {.t_ns = wall_ns - i->info.start_wall_ns,
                          .wall_ns = wall_ns,
                          .depth = MT_DEPTH_WHOLE,
                          .cost_wall_ns = -1,
                          .cost_cpu_ns = -1,
                          .n_regions = i->n_regions,
                          .news = has_news(i),
                          .levels = &i->levels,
                          .counters = &i->counters};
    int error = mt_recorder_sample(i->recorder, &s);

    i->last_ns = wall_ns;
    i->written = i->counters;
    i->written_regions = i->n_regions;
    i->fresh = 0;
    i->fresh_regions = false;
    if (!error && ++i->n_samples % SAMPLES_A_COMMIT == 0)
        error = mt_recorder_commit(i->recorder);
    if (error && !i->failed)
        i->failed = error;
    return error;
}

int tracer_import_sample(tracer_import *i, int64_t wall_ns, const tracer_type_bytes *types,
                         uint32_t n_types)
{
    int error = check_moment(wall_ns);

    if (error)
        return error;
    if (!i || (n_types && !types))
        return mt_error_set(TRACER_EINVAL, "tracer_import_sample: an argument is missing");
    if (i->n_samples && wall_ns <= i->last_ns)
        return mt_error_set(TRACER_EINVAL, "samples must come in order of time");
    if (!i->recorder)
        error = tracer_import_life(i, wall_ns);
    if (!error && wall_ns < i->info.start_wall_ns)
        error = mt_error_set(TRACER_EINVAL, "a sample lies before its life");
    if (!error)
        error = take_types(i, types, n_types);
    return error ? error : write_sample(i, wall_ns);
}

int tracer_import_mark(tracer_import *i, int64_t wall_ns, const char *label)
{
    char text[LABEL_BYTES];
    int error = TRACER_OK;

    if (!i || !label || !label[0])
        return mt_error_set(TRACER_EINVAL, "tracer_import_mark: the label is missing");
    error = check_moment(wall_ns);
    if (!error && !i->recorder)
        error = tracer_import_life(i, wall_ns);
    if (error)
        return error;
    mt_label_copy(text, sizeof(text), label);
    error = mt_recorder_mark(i->recorder, wall_ns - i->info.start_wall_ns, wall_ns, 0, text);
    if (error && !i->failed)
        i->failed = error;
    return error;
}

int tracer_import_close(tracer_import *i)
{
    int error;

    if (!i)
        return TRACER_OK;
    end_life(i);
    error = i->failed;
    mt_memory_free(i);
    return error;
}
