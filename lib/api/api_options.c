/* SPDX-License-Identifier: MIT */
/* api: checks options and the path. In: the caller's, of this or another version of the header.
 * Out: complete options in the tracer, or a sentence that names the field.
 * Called by tracer_start() in the host's thread. Must not allocate. */
#include "api/api_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/label.h"
#include "base/sized.h"
#include "trace/trace.h"

#define INTERVAL_MS_MOST 3600000u
#define INTERVAL_MS_DEFAULT 1000u
#define COMMIT_MS_DEFAULT 1000u
#define BUDGET_NS_MOST UINT64_C(3600000000000)
#define FILE_BYTES_LEAST (UINT64_C(1) << 20)

void tracer_options_init(tracer_options *options, uint32_t size)
{
    if (!options || size < sizeof(options->size))
        return;
    memset(options, 0, size);
    options->size = size;
}

static const struct mt_field fields[] = {
    MT_FIELD(tracer_options, size),        MT_FIELD(tracer_options, flags),
    MT_FIELD(tracer_options, interval_ms), MT_FIELD(tracer_options, commit_ms),
    MT_FIELD(tracer_options, budget_ns),   MT_FIELD(tracer_options, max_file_bytes),
    MT_FIELD(tracer_options, log),         MT_FIELD(tracer_options, log_user),
    MT_FIELD(tracer_options, label),       MT_FIELD(tracer_options, pid),
    MT_FIELD(tracer_options, reserved),    MT_FIELD(tracer_options, stack_min_bytes),
};
static const struct mt_sized kind = MT_SIZED(tracer_options, fields);

static int check_fields(const tracer_options *o)
{
    if (o->flags & ~TRACER_F_ALL)
        return mt_error_set(TRACER_EINVAL, "options.flags has unknown bits: 0x%" PRIx32,
                            o->flags & ~TRACER_F_ALL);
    if (o->interval_ms > INTERVAL_MS_MOST)
        return mt_error_set(TRACER_EINVAL,
                            "options.interval_ms is %" PRIu32 "; 1 to 3600000 (an hour), 0 = 1000",
                            o->interval_ms);
    if (o->commit_ms > INTERVAL_MS_MOST)
        return mt_error_set(TRACER_EINVAL,
                            "options.commit_ms is %" PRIu32 "; up to 3600000 (an hour), 0 = 1000",
                            o->commit_ms);
    if (o->budget_ns > BUDGET_NS_MOST)
        return mt_error_set(TRACER_EINVAL,
                            "options.budget_ns is %" PRIu64
                            "; up to an hour, 0 = 1 %% of the interval",
                            o->budget_ns);
    if (o->max_file_bytes && o->max_file_bytes < FILE_BYTES_LEAST)
        return mt_error_set(TRACER_EINVAL,
                            "options.max_file_bytes is %" PRIu64 "; at least 1048576, 0 = no cap",
                            o->max_file_bytes);
    if (o->reserved)
        return mt_error_set(TRACER_EVERSION, "options.reserved is %" PRIu32 "; it must be 0",
                            o->reserved);
    return TRACER_OK;
}

/* Asked for what cannot be had must fail loudly: a file without events looks like a quiet one. */
static int check_stacks(const tracer_options *o)
{
    if (!(o->flags & TRACER_F_STACKS))
        return TRACER_OK;
    if (o->pid)
        return mt_error_set(TRACER_EUNSUPPORTED,
                            "TRACER_F_STACKS sees this process's own calls only; record "
                            "process %" PRIu32 " without it, or from within",
                            o->pid);
    if (!mt_trace_find())
        return mt_error_set(TRACER_EUNSUPPORTED,
                            "TRACER_F_STACKS needs libmemtracer-stacks in the process (Linux): "
                            "link -lmemtracer-stacks, or set LD_PRELOAD");
    return TRACER_OK;
}

static void fill_in_defaults(tracer_options *o)
{
    if (!o->interval_ms)
        o->interval_ms = INTERVAL_MS_DEFAULT;
    if (!o->commit_ms)
        o->commit_ms = COMMIT_MS_DEFAULT;
    if (!o->budget_ns)
        o->budget_ns = (uint64_t)o->interval_ms * 10000; /* 1 % of the interval */
    if (!o->stack_min_bytes)
        o->stack_min_bytes = MT_TRACE_MIN_BYTES;
    if (o->pid == mt_os_process_id())
        o->pid = 0;
}

int mt_options_take(struct tracer *t, const tracer_options *given)
{
    int error;

    tracer_options_init(&t->options, sizeof(t->options));
    if (given) {
        error = mt_sized_take(&kind, given, &t->options);
        if (!error)
            error = check_fields(&t->options);
        if (error)
            return error;
    }
    fill_in_defaults(&t->options);
    error = check_stacks(&t->options);
    if (error)
        return error;
    if (t->options.label) {
        mt_label_copy(t->label_text, sizeof(t->label_text), t->options.label);
        t->options.label = t->label_text;
    }
    return TRACER_OK;
}

/* `out` has room for MT_PATH_BYTES. */
static int replace_pattern(const char *path, char *out)
{
    size_t used = 0;

    for (const char *p = path; *p; p++) {
        int n;

        if (p[0] == '%' && p[1] == 'p')
            n = snprintf(out + used, MT_PATH_BYTES - used, "%" PRIu32, mt_os_process_id());
        else if (p[0] == '%' && p[1] != '%')
            return mt_error_set(TRACER_EINVAL,
                                "path \"%.200s\" has %%%.1s; only %%p (process id) "
                                "and %%%% (a percent sign) are known",
                                path, p + 1);
        else
            n = snprintf(out + used, MT_PATH_BYTES - used, "%c", *p);
        p += *p == '%';
        used += (size_t)n;
        if (used >= MT_PATH_BYTES)
            return mt_error_set(TRACER_EINVAL, "path is longer than %d bytes", MT_PATH_BYTES - 1);
    }
    return TRACER_OK;
}

int mt_options_take_path(struct tracer *t, const char *path)
{
    char replaced[MT_PATH_BYTES];
    int error;

    if (!path)
        return mt_error_set(TRACER_EINVAL, "path is NULL; name a file, for example \"app.db\"");
    if (!path[0])
        return mt_error_set(TRACER_EINVAL, "path is empty; name a file, for example \"app.db\"");
    error = replace_pattern(path, replaced);
    if (error)
        return error;
    if (!mt_os_path_absolute(replaced, t->path, sizeof(t->path)))
        return mt_error_set(TRACER_EINVAL,
                            "path \"%.200s\" and the current directory are longer "
                            "than %d bytes together",
                            replaced, MT_PATH_BYTES - 1);
    return TRACER_OK;
}
