/* SPDX-License-Identifier: MIT */
/* read: which limit is reached first, and words for verdicts.
 * In: moments at which limits are reached. Out: the earliest. Called by reader_verdict.c. */
#include <string.h>

#include "read/judging.h"

void mt_judging_limit(struct mt_judging *j, uint32_t limit, int64_t bytes, int64_t wall_ns)
{
    tracer_verdict *v = &j->out->v;

    if (wall_ns <= 0 || (v->limit != TRACER_LIMIT_NONE && v->limit_wall_ns <= wall_ns))
        return;
    v->limit = limit;
    v->limit_bytes = bytes;
    v->limit_wall_ns = wall_ns;
}

/* RLIMIT_DATA counts private writable memory: what is committed of these types. */
static bool is_data(const char *type)
{
    return strcmp(type, "heap") == 0 || strcmp(type, "managed_heap") == 0 ||
           strcmp(type, "private") == 0;
}

void mt_judging_data_limit(struct mt_judging *j)
{
    double level = 0, rate = 0, s;
    const struct mt_judged *out = j->out;

    for (unsigned k = 0; k < out->v.n_types; k++) {
        const tracer_type_verdict *t = &out->types[k];

        if (!is_data(t->type) || t->last_bytes == TRACER_UNKNOWN)
            continue;
        level += (double)t->last_bytes;
        rate += t->growing ? t->bytes_per_s : 0;
    }
    s = rate > 0 ? ((double)j->s->data_bytes - level) / rate : -1;
    if (j->s->data_bytes > 0 && s >= 0 && s < 1e9)
        mt_judging_limit(j, TRACER_LIMIT_DATA, j->s->data_bytes,
                         out->v.last_wall_ns + (int64_t)(s * 1e9));
}

static const char *word(const char *const *words, uint32_t n, uint32_t i)
{
    return i < n ? words[i] : NULL;
}

const char *tracer_shape_name(uint32_t shape)
{
    return shape < MT_VERDICT_CLASSES ? mt_verdict_name((enum mt_verdict_class)shape) : NULL;
}

const char *tracer_cause_name(uint32_t cause)
{
    static const char *const words[] = {
        "none",       "live growth", "allocator retention", "file-backed",  "reservation",
        "huge pages", "stacks",      "growth of regions",   "lazily freed",
    };

    return word(words, sizeof(words) / sizeof(words[0]), cause);
}

const char *tracer_limit_name(uint32_t limit)
{
    static const char *const words[] = {
        "none",        "cgroup limit",  "host memory",   "RLIMIT_AS",
        "RLIMIT_DATA", "address space", "max_map_count", "limit",
    };

    return word(words, sizeof(words) / sizeof(words[0]), limit);
}
