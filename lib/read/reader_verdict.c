/* SPDX-License-Identifier: MIT */
/* read: a file → verdicts.
 * In: a reader and what to judge. Out: shape, cause and time left of each type and of the process.
 * Called by the host and the CLI. The judgement on a series is verdict/'s; here series are loaded,
 * held against each other, and told in the public words. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "read/judging.h"

#define ADDRESS_SPACE (INT64_C(1) << 47)
#define MANY_SAMPLES 12 /* without a value of a type: the file has none */
#define LEAST_RESERVATION (INT64_C(1) << 20)

int mt_judging_judge(const struct mt_judging *j, const int64_t *const *values, unsigned n_types,
                     int64_t limit, struct mt_verdict **out)
{
    const struct mt_series *s = j->s;
    struct mt_verdict_input in = {
        .n = s->n,
        .t_ns = s->t_ns,
        .n_types = n_types,
        .values = values,
        .n_markers = s->n_marks,
        .markers = s->marks,
        .n_sessions = s->n_lives,
        .session_starts_ns = s->starts_ns,
        .limit_bytes = limit > 0 ? limit : 0,
        .page_bytes = s->page_bytes,
    };
    int error = mt_verdict_judge(&in, out);

    return error ? mt_error_set(error, "no memory to judge %s", j->r->path) : TRACER_OK;
}

/* ---- what is said of one type ---- */

static int64_t since_start(const struct mt_series *s, int64_t wall_ns)
{
    int64_t start = s->lives[0].start_ns;

    for (unsigned k = 0; k < s->n_lives && s->lives[k].start_ns <= wall_ns; k++)
        start = s->lives[k].start_ns;
    return wall_ns - start;
}

static void tell_steps(struct mt_judging *j, unsigned k, const struct mt_verdict_type *from)
{
    tracer_type_verdict *t = &j->out->types[k];

    t->n_steps = from->n_steps;
    t->steps = j->out->steps[k];
    for (unsigned i = 0; i < from->n_steps; i++) {
        const struct mt_verdict_step *f = &from->steps[i];

        j->out->steps[k][i] =
            (tracer_verdict_step){f->t_ns,  f->before_ns, f->after_ns, since_start(j->s, f->t_ns),
                                  f->bytes, f->kept_bytes};
    }
}

static void tell_type(struct mt_judging *j, unsigned k, uint32_t measure,
                      const struct mt_verdict_type *from)
{
    tracer_type_verdict *t = &j->out->types[k];

    t->measure = measure;
    t->shape = from->shape;
    t->likely = from->likely;
    t->growing = t->leak = from->leak;
    t->cause = from->leak ? TRACER_CAUSE_LIVE : TRACER_CAUSE_NONE;
    t->confidence = from->confidence;
    t->onset_wall_ns = from->leak ? from->onset_ns : 0;
    t->onset_t_ns = from->leak ? since_start(j->s, from->onset_ns) : 0;
    t->kept_bytes = from->kept_bytes;
    t->bytes_per_s = from->bytes_per_s;
    t->swing_bytes = from->swing_bytes;
    t->needed_ns = t->last_bytes == TRACER_UNKNOWN && j->s->n >= MANY_SAMPLES ? 0 : from->needed_ns;
    t->typical_step_bytes = from->typical_step_bytes;
    t->typical_interval_ns = from->typical_interval_ns;
    tell_steps(j, k, from);
}

/* ---- the process ---- */

static int load_all(struct mt_judging *j, uint32_t measure)
{
    int error = TRACER_OK;

    for (unsigned k = 0; k < j->s->n_types && !error; k++)
        error = mt_series_load(j->r, j->s, j->s->types[k].id, measure, j->values[k], j->sizes[k]);
    return error;
}

static void tell_action(struct mt_judging *j, const struct mt_verdict *v)
{
    tracer_verdict *out = &j->out->v;

    if (!v->action)
        return;
    memcpy(j->out->action, v->action, strlen(v->action) + 1);
    out->action = j->out->action;
    out->n_actions = v->n_actions;
    out->n_actions_stepless = v->n_actions_stepless;
}

static void choose_limit(const struct mt_judging *j, int64_t given, uint32_t *out_limit,
                         int64_t *out_bytes)
{
    const struct mt_series *s = j->s;
    bool host = s->host_bytes > 0 && (s->cgroup_bytes <= 0 || s->host_bytes < s->cgroup_bytes);

    *out_limit = given > 0 ? TRACER_LIMIT_GIVEN : host ? TRACER_LIMIT_HOST : TRACER_LIMIT_CGROUP;
    *out_bytes = given > 0 ? given : host ? s->host_bytes : s->cgroup_bytes;
}

/* The same without the types whose pages the system takes back when it needs them. */
static int judge_kept(struct mt_judging *j, int64_t limit, int64_t *out_ns)
{
    const int64_t *values[MT_VERDICT_TYPES];
    struct mt_verdict *v = NULL;
    unsigned n = 0;
    int error;

    for (unsigned k = 0; k < j->s->n_types; k++)
        if (j->out->types[k].cause != TRACER_CAUSE_FILE &&
            j->out->types[k].cause != TRACER_CAUSE_LAZY_FREE)
            values[n++] = j->values[k];
    *out_ns = 0;
    if (n == 0)
        return TRACER_OK;
    error = mt_judging_judge(j, values, n, limit, &v);
    if (!error)
        *out_ns = v->exhaustion_ns;
    mt_verdict_free(v);
    return error;
}

static int judge_main(struct mt_judging *j, const tracer_verdict_options *o)
{
    struct mt_verdict *v = NULL;
    uint32_t limit;
    int64_t bytes, reached;
    bool reclaimed = false, growing = false;
    int error = load_all(j, o->measure);

    if (!error)
        mt_judging_join_moves(j);
    choose_limit(j, o->limit_bytes, &limit, &bytes);
    if (!error)
        error = mt_judging_judge(j, (const int64_t *const *)j->values, j->s->n_types, bytes, &v);
    if (!error)
        error = mt_judging_actions(j, bytes, &v);
    for (unsigned k = 0; k < j->s->n_types && !error; k++) {
        mt_judging_ends(j->s, j->values[k], &j->out->types[k]);
        tell_type(j, k, o->measure, &v->types[k]);
        j->out->types[k].late_bytes_per_s = mt_judging_late_slope(j->s, j->values[k]);
        growing = mt_judging_weigh_late(j, k) || growing;
        error = mt_judging_cause(j, k);
        if (!error)
            error = mt_judging_held(j, k, o->measure);
        reclaimed = reclaimed || j->out->types[k].cause == TRACER_CAUSE_FILE ||
                    j->out->types[k].cause == TRACER_CAUSE_LAZY_FREE;
    }
    if (error)
        return mt_verdict_free(v), error;
    j->out->v.type = v->type;
    tell_action(j, v);
    reached = growing ? v->exhaustion_ns : 0;
    mt_verdict_free(v);
    if (reclaimed)
        error = judge_kept(j, bytes, &reached);
    if (o->measure == TRACER_MEASURE_HELD)
        mt_judging_limit(j, limit, bytes, reached);
    return error;
}

/* Address space that grows while what is held does not. */
static int judge_size(struct mt_judging *j)
{
    int64_t address = j->s->address_bytes > 0 ? j->s->address_bytes : ADDRESS_SPACE;
    struct mt_verdict *v = NULL;
    int error = mt_judging_judge(j, (const int64_t *const *)j->sizes, j->s->n_types, address, &v);

    for (unsigned k = 0; k < j->s->n_types && !error; k++) {
        const struct mt_verdict_type *t = &v->types[k];

        if (j->out->types[k].growing || !t->leak || t->kept_bytes < LEAST_RESERVATION)
            continue;
        tell_type(j, k, TRACER_MEASURE_SIZE, t);
        j->out->types[k].late_bytes_per_s = mt_judging_late_slope(j->s, j->sizes[k]);
        if (mt_judging_weigh_late(j, k))
            error = mt_judging_cause(j, k);
        mt_judging_no_reservation(&j->out->types[k]);
    }
    if (!error)
        mt_judging_limit(
            j, j->s->address_bytes > 0 ? TRACER_LIMIT_ADDRESS : TRACER_LIMIT_ADDRESS_SPACE, address,
            v->exhaustion_ns);
    mt_verdict_free(v);
    return error;
}

static int judge_regions(struct mt_judging *j)
{
    const struct mt_series *s = j->s;
    const int64_t *values[1] = {s->regions};
    struct mt_verdict *v = NULL;
    tracer_type_verdict ends;
    int64_t page = s->page_bytes > 0 ? s->page_bytes : 4096;
    int error;

    mt_judging_ends(s, s->regions, &ends);
    j->out->v.regions_first = ends.first_bytes;
    j->out->v.regions_last = ends.last_bytes;
    for (size_t i = 0; i < s->n; i++) /* one region weighs as much as a page */
        if (s->regions[i] != MT_VERDICT_UNKNOWN)
            s->regions[i] = mt_series_within(s->regions[i], 0, MT_SERIES_REGIONS_MOST) * page;
    error = mt_judging_judge(j, values, 1, s->max_regions * page, &v);
    if (error)
        return error;
    j->out->v.regions_growing = v->leak && v->types[0].kept_bytes >= 64 * page;
    if (j->out->v.regions_growing)
        mt_judging_limit(j, TRACER_LIMIT_REGIONS, s->max_regions, v->exhaustion_ns);
    mt_verdict_free(v);
    return TRACER_OK;
}

/* Did a restart take away growth that comes again in the next life? */
static bool hidden_by_restarts(const struct mt_judging *j, unsigned k)
{
    const struct mt_series *s = j->s;

    for (unsigned life = 1; life < s->n_lives; life++) {
        size_t at = s->lives[life].first_slot * s->per_slot;
        int64_t before, after;

        if (s->lives[life].end_slot == s->lives[life].first_slot || at == 0)
            continue;
        before = j->values[k][at - 1];
        after = j->values[k][at];
        if (before != MT_VERDICT_UNKNOWN && after != MT_VERDICT_UNKNOWN &&
            before - after >= j->out->types[k].kept_bytes / 2)
            return true;
    }
    return false;
}

/* The type in question: the one that leaks most; without a leak the judge's own choice. */
static void conclude(struct mt_judging *j)
{
    struct mt_judged *out = j->out;
    int64_t most = -1;

    for (unsigned k = 0; k < out->v.n_types; k++)
        if (out->types[k].leak && out->types[k].kept_bytes > most) {
            most = out->types[k].kept_bytes;
            out->v.type = k;
            out->v.leak = 1;
        }
    out->v.too_short = !out->v.leak && (out->v.n_types == 0 ||
                                        out->types[out->v.type].shape == TRACER_SHAPE_TOO_SHORT);
}

static void begin_verdict(struct mt_judging *j)
{
    const struct mt_series *s = j->s;
    struct mt_judged *out = j->out;

    out->v.size = sizeof(out->v);
    out->v.n_types = s->n_types;
    out->v.types = out->list;
    out->v.n_lives = s->n_lives;
    out->v.regions_first = out->v.regions_last = TRACER_UNKNOWN;
    out->v.n_samples = (int64_t)s->n;
    if (s->n > 0) {
        out->v.first_wall_ns = s->t_ns[0];
        out->v.last_wall_ns = s->t_ns[s->n - 1];
        out->v.run = s->lives[s->n_lives - 1].run;
        out->v.run_start_wall_ns = s->lives[s->n_lives - 1].start_ns;
    }
    for (unsigned k = 0; k < s->n_types; k++) {
        memcpy(out->names[k], s->types[k].name, sizeof(out->names[k]));
        out->types[k].size = sizeof(out->types[k]);
        out->types[k].type = out->names[k];
        out->list[k] = &out->types[k];
    }
}

static int judge_file(struct mt_judging *j, const tracer_verdict_options *o)
{
    int error;

    begin_verdict(j);
    if (j->s->n == 0 || j->s->n_types == 0) {
        j->out->v.n_types = 0;
        j->out->v.too_short = 1;
        return TRACER_OK;
    }
    error = judge_main(j, o);
    for (unsigned k = 0; k < j->s->n_types && !error; k++)
        if (j->out->types[k].leak && hidden_by_restarts(j, k))
            j->out->v.hidden_by_restarts = 1;
    if (!error && o->measure == TRACER_MEASURE_HELD) {
        mt_judging_data_limit(j);
        error = judge_size(j);
    }
    if (!error)
        error = judge_regions(j);
    conclude(j);
    return error;
}

/* Room for what is judged of each type and, where held memory or the address space is, for the
 * other of both. */
static int64_t *take_room(struct mt_judging *j, uint32_t measure)
{
    unsigned n = j->s->n_types, columns = measure == TRACER_MEASURE_COMMITTED ? n : 2 * n;
    int64_t *room = mt_memory_alloc((columns * j->s->n + 1) * sizeof(int64_t));

    for (unsigned k = 0; room && k < n; k++) {
        j->values[k] = room + k * j->s->n;
        j->sizes[k] = columns > n ? room + (n + k) * j->s->n : NULL;
    }
    return room;
}

static const struct mt_field fields[] = {
    MT_FIELD(tracer_verdict_options, size),
    MT_FIELD(tracer_verdict_options, measure),
    MT_FIELD(tracer_verdict_options, run),
    MT_FIELD(tracer_verdict_options, since_wall_ns),
    MT_FIELD(tracer_verdict_options, until_wall_ns),
    MT_FIELD(tracer_verdict_options, limit_bytes),
    MT_FIELD(tracer_verdict_options, type),
};
static const struct mt_sized kind = MT_SIZED(tracer_verdict_options, fields);

static int read_options(const tracer_verdict_options *from, tracer_verdict_options *out)
{
    int error = TRACER_OK;

    memset(out, 0, sizeof(*out));
    if (from)
        error = mt_sized_take(&kind, from, out);
    if (!error && out->measure > TRACER_MEASURE_SIZE)
        error = mt_error_set(TRACER_EINVAL, "there is no measure %u", out->measure);
    return error;
}

int tracer_reader_verdict(tracer_reader *r, const tracer_verdict_options *options,
                          const tracer_verdict **out)
{
    tracer_verdict_options o;
    struct mt_judging j = {.r = r};
    struct mt_series *s = NULL;
    int64_t *room = NULL;
    int error = read_options(options, &o);

    if (error)
        return error;
    if (!r || !out)
        return mt_error_set(TRACER_EINVAL, "tracer_reader_verdict: reader or out is missing");
    mt_read_begin(r);
    error = mt_series_open(r, &o, &s);
    if (error)
        return error;
    j.s = s;
    j.out = mt_memory_alloc(sizeof(*j.out));
    room = take_room(&j, o.measure);
    error = j.out && room ? judge_file(&j, &o)
                          : mt_error_set(TRACER_ENOMEM, "no memory to judge %s", r->path);
    mt_memory_free(room);
    mt_series_free(s);
    if (error)
        mt_memory_free(j.out);
    else
        *out = &j.out->v;
    return error;
}

void tracer_verdict_free(const tracer_verdict *v)
{
    mt_memory_free((void *)(uintptr_t)v);
}
