/* SPDX-License-Identifier: MIT */
/* read/verdict: the verdict on a process.
 * In: the series of all types, with process lives, markers and the limit. Out: a verdict on each
 * type and on the process.
 * Called by read/ and by tests; splits the series into lives, joins what they say, and must not
 * judge by itself. */
#include "read/verdict/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "memtracer/memtracer.h"
#include "read/verdict/blame.h"
#include "read/verdict/parts.h"

#define LEAST_PAGES 16    /* smaller shapes are not worth a word */
#define FEWEST_SAMPLES 12 /* in a life, to say anything */
#define MOST_STEPS 65     /* over all lives; more are pieces of a rate */
#define FEWEST_STEPS 3    /* of a staircase */
#define ALIKE 1.5         /* the largest to the smallest of them */

/* One type while its lives are joined. */
struct joined {
    struct mt_vd_opinion last;         /* of the last life that says what the type does */
    double weight[MT_VERDICT_CLASSES]; /* samples that say so, as sure as they are */
    double stepped;                    /* those that say warmup, but in steps */
    double certain[MT_VERDICT_CLASSES];
    unsigned lives_with_steps;
    double grown; /* bytes, over the lives that leak */
    double growing_s;
    int64_t onset_ns;
};

const char *mt_verdict_name(enum mt_verdict_class c)
{
    static const char *const names[MT_VERDICT_CLASSES] = {
        [MT_VERDICT_PUNCTUATED] = "punctuated",   [MT_VERDICT_LINEAR] = "linear",
        [MT_VERDICT_EXPONENTIAL] = "exponential", [MT_VERDICT_FRAGMENTATION] = "fragmentation",
        [MT_VERDICT_STEADY] = "steady",           [MT_VERDICT_SAWTOOTH] = "sawtooth",
        [MT_VERDICT_WARMUP] = "warmup",           [MT_VERDICT_JUMP] = "jump",
        [MT_VERDICT_DIURNAL] = "diurnal",         [MT_VERDICT_TOO_SHORT] = "too_short",
    };

    return c < MT_VERDICT_CLASSES ? names[c] : NULL;
}

bool mt_verdict_is_leak(enum mt_verdict_class c)
{
    return c <= MT_VERDICT_FRAGMENTATION;
}

/* The samples [from, to) of one type as a life; unknown values are left out. */
static void load_life(const struct mt_verdict_input *in, unsigned type, size_t from, size_t to,
                      struct mt_vd_work *w)
{
    struct mt_vd_life *life = &w->life;

    life->t = w->t;
    life->v = w->v;
    life->n = 0;
    life->restarted = from > 0;
    life->page = in->page_bytes > 0 ? (double)in->page_bytes : 4096;
    for (size_t i = from; i < to; i++) {
        if (in->values[type][i] == MT_VERDICT_UNKNOWN)
            continue;
        life->t[life->n] = (double)(in->t_ns[i] - in->t_ns[from]) / 1e9;
        life->v[life->n++] = (double)in->values[type][i];
    }
}

static int64_t to_ns(double s)
{
    return (int64_t)(s * 1e9);
}

static void take_steps(const struct mt_vd_work *w, int64_t start_ns, struct mt_verdict_type *out)
{
    double kept = 0;

    for (unsigned k = 0; k < w->stairs.n && out->n_steps < MT_VERDICT_STEPS; k++) {
        struct mt_verdict_step *s = &out->steps[out->n_steps++];

        kept += w->stairs.at[k].bytes;
        s->before_ns = start_ns + to_ns(w->stairs.at[k].before_s);
        s->after_ns = start_ns + to_ns(w->stairs.at[k].after_s);
        s->t_ns = start_ns + to_ns(w->stairs.at[k].at_s);
        s->bytes = (int64_t)w->stairs.at[k].bytes;
        s->kept_bytes = (int64_t)kept;
    }
}

static bool has_steps(enum mt_verdict_class c)
{
    return c == MT_VERDICT_PUNCTUATED || c == MT_VERDICT_JUMP || c == MT_VERDICT_TOO_SHORT;
}

/* A staircase that has come to rest: whether for good, other lives know. */
static bool rests(const struct mt_vd_work *w, enum mt_verdict_class c)
{
    return c == MT_VERDICT_WARMUP && w->stairs.n > 0;
}

static void join_life(struct mt_vd_work *w, int64_t start_ns, struct joined *j,
                      struct mt_verdict_type *out)
{
    struct mt_vd_opinion o = {0};
    int64_t swing;

    mt_vd_form_opinion(w, &o);
    j->weight[o.shape] += (double)w->life.n * o.confidence;
    j->certain[o.shape] = fmax(j->certain[o.shape], o.confidence);
    j->stepped += rests(w, o.shape) ? (double)w->life.n * o.confidence : 0;
    if (w->stairs.n > 0 && (has_steps(o.shape) || rests(w, o.shape))) {
        j->lives_with_steps++;
        mt_vd_place_steps(w);
        take_steps(w, start_ns, out);
    }
    if (mt_verdict_is_leak(o.shape) || o.shape == MT_VERDICT_TOO_SHORT) {
        if (j->grown == 0)
            j->onset_ns =
                start_ns +
                to_ns(w->stairs.n > 0 && has_steps(o.shape) ? w->stairs.at[0].before_s : o.onset_s);
        j->grown += o.kept;
        j->growing_s += w->thin.end_s - o.onset_s;
    }
    if (mt_verdict_is_leak(o.shape) || !mt_verdict_is_leak(j->last.shape)) {
        j->last = o;
        j->last.life_s = w->thin.end_s;
    }
    swing = (int64_t)o.swing;
    out->swing_bytes = swing > out->swing_bytes ? swing : out->swing_bytes;
}

/* Three steps or more of one size. */
static bool are_alike(const struct mt_verdict_type *t)
{
    int64_t least = INT64_MAX, most = 0;

    for (unsigned k = 0; k < t->n_steps; k++) {
        least = t->steps[k].bytes < least ? t->steps[k].bytes : least;
        most = t->steps[k].bytes > most ? t->steps[k].bytes : most;
    }
    return t->n_steps >= FEWEST_STEPS && (double)most < ALIKE * (double)least;
}

/* Lives too short for a verdict of their own may make a staircase together; and neither one step
 * nor a rest speaks against a staircase in another life. */
static void reconcile(struct joined *j, const struct mt_verdict_type *t)
{
    double *weight = j->weight;

    if (j->lives_with_steps > 1 && (t->n_steps >= 2 * j->lives_with_steps || are_alike(t)))
        weight[MT_VERDICT_PUNCTUATED] += weight[MT_VERDICT_TOO_SHORT];
    if (weight[MT_VERDICT_PUNCTUATED] > 0)
        weight[MT_VERDICT_JUMP] = 0;
    if (j->last.shape == MT_VERDICT_PUNCTUATED) {
        weight[MT_VERDICT_PUNCTUATED] += j->stepped;
        weight[MT_VERDICT_WARMUP] -= j->stepped;
    }
    if (t->n_steps > MOST_STEPS) {
        weight[MT_VERDICT_LINEAR] += weight[MT_VERDICT_PUNCTUATED];
        weight[MT_VERDICT_PUNCTUATED] = 0;
    }
}

/* The class that most samples speak for; any leak counts against all that is none. */
static enum mt_verdict_class heaviest(const struct joined *j)
{
    double leaking = 0, still = 0;
    unsigned best, to;

    for (unsigned c = 0; c < MT_VERDICT_TOO_SHORT; c++)
        *(mt_verdict_is_leak(c) ? &leaking : &still) += j->weight[c];
    if (leaking + still == 0)
        return MT_VERDICT_TOO_SHORT;
    best = leaking > still ? 0 : MT_VERDICT_STEADY;
    to = leaking > still ? MT_VERDICT_STEADY : MT_VERDICT_TOO_SHORT;
    for (unsigned c = best; c < to; c++)
        if (j->weight[c] > j->weight[best])
            best = c;
    return (enum mt_verdict_class)best;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t middle(int64_t *v, unsigned n)
{
    if (n == 0)
        return 0;
    qsort(v, n, sizeof *v, compare);
    return n % 2 ? v[n / 2] : v[n / 2 - 1] + (v[n / 2] - v[n / 2 - 1]) / 2;
}

static void sum_up_steps(struct mt_verdict_type *out)
{
    int64_t v[MT_VERDICT_STEPS];

    for (unsigned k = 0; k < out->n_steps; k++)
        v[k] = out->steps[k].bytes;
    out->typical_step_bytes = middle(v, out->n_steps);
    for (unsigned k = 1; k < out->n_steps; k++)
        v[k - 1] = out->steps[k].t_ns - out->steps[k - 1].t_ns;
    out->typical_interval_ns = out->n_steps > 1 ? middle(v, out->n_steps - 1) : 0;
}

static void conclude(const struct mt_verdict_input *in, struct joined *j,
                     struct mt_verdict_type *out)
{
    int64_t span = in->n > 0 ? in->t_ns[in->n - 1] - in->t_ns[0] : 0;

    reconcile(j, out);
    out->shape = out->likely = heaviest(j);
    out->leak = mt_verdict_is_leak(out->shape);
    out->confidence = j->certain[out->shape];
    if (!has_steps(out->shape))
        out->n_steps = 0;
    if (out->shape == MT_VERDICT_TOO_SHORT) {
        out->likely = j->last.likely == MT_VERDICT_WARMUP ? MT_VERDICT_WARMUP
                      : out->n_steps > 0                  ? MT_VERDICT_JUMP
                                                          : MT_VERDICT_STEADY;
        out->needed_ns = span > 0 ? span : (int64_t)1e9 * FEWEST_SAMPLES;
    }
    sum_up_steps(out);
    if (!out->leak)
        return;
    out->onset_ns = j->onset_ns;
    out->kept_bytes = (int64_t)j->last.kept;
    out->bytes_per_s = j->growing_s > 0 ? j->grown / j->growing_s : 0;
}

/* The end of the life that begins with sample `from`. */
static size_t life_end(const struct mt_verdict_input *in, size_t from)
{
    for (size_t s = 0; s < in->n_sessions; s++) {
        size_t low = from, high = in->n;

        if (in->session_starts_ns[s] <= in->t_ns[from])
            continue;
        while (low < high) {
            size_t m = low + (high - low) / 2;

            if (in->t_ns[m] < in->session_starts_ns[s])
                low = m + 1;
            else
                high = m;
        }
        return low;
    }
    return in->n;
}

static void judge_type(const struct mt_verdict_input *in, unsigned type, struct mt_vd_work *w,
                       struct joined *j, struct mt_verdict_type *out)
{
    for (size_t from = 0, to; from < in->n; from = to) {
        to = life_end(in, from);
        load_life(in, type, from, to, w);
        if (w->life.n >= FEWEST_SAMPLES)
            join_life(w, in->t_ns[from], j, out);
    }
    conclude(in, j, out);
}

/* What speaks for a type being the one in question: a leak, then a movement, then its size. */
static double claim(const struct mt_verdict_type *t, bool moves, double page)
{
    double size = (double)(t->leak ? t->kept_bytes : t->swing_bytes);

    return size + (t->leak ? 0x1p62 : moves && size >= LEAST_PAGES * page ? 0x1p60 : 0);
}

static void choose_type(struct mt_verdict *v, const struct mt_vd_opinion *last, double page)
{
    double most = -1;

    for (unsigned k = 0; k < v->n_types; k++) {
        double c = claim(&v->types[k], last[k].moves, page);

        if (c > most) {
            most = c;
            v->type = k;
        }
    }
    v->shape = v->types[v->type].shape;
    v->leak = v->types[v->type].leak;
    v->confidence = v->types[v->type].confidence;
}

static int check(const struct mt_verdict_input *in)
{
    if (!in || in->n_types == 0 || in->n_types > MT_VERDICT_TYPES || !in->values)
        return TRACER_EINVAL;
    if ((in->n > 0 && !in->t_ns) || in->n > SIZE_MAX / 64)
        return TRACER_EINVAL;
    return 0;
}

/* The verdict's and the work's memory; NULL when there is none. */
static struct mt_vd_work *get_memory(const struct mt_verdict_input *in, struct mt_verdict **out)
{
    struct mt_verdict *v = mt_memory_alloc(sizeof *v + in->n_types * sizeof v->types[0]);
    struct mt_vd_work *w = v ? mt_memory_alloc(sizeof *w + 2 * in->n * sizeof(double)) : NULL;

    if (!w) {
        mt_memory_free(v);
        return NULL;
    }
    w->t = (double *)(w + 1);
    w->v = w->t + in->n;
    v->n_types = in->n_types;
    *out = v;
    return w;
}

static void judge_all(const struct mt_verdict_input *in, struct mt_vd_work *w, struct mt_verdict *v)
{
    struct mt_vd_opinion last[MT_VERDICT_TYPES];

    for (unsigned k = 0; k < in->n_types; k++) {
        struct joined joined = {.last.shape = MT_VERDICT_TOO_SHORT};

        judge_type(in, k, w, &joined, &v->types[k]);
        last[k] = joined.last;
    }
    choose_type(v, last, in->page_bytes > 0 ? (double)in->page_bytes : 4096);
    if (v->types[v->type].n_steps > 0 && v->leak && in->n_markers > 0) {
        mt_vd_blame(in, v);
        sum_up_steps(&v->types[v->type]);
    }
    if (v->leak && in->limit_bytes > 0)
        mt_vd_foresee(in, last, v);
}

int mt_verdict_judge(const struct mt_verdict_input *in, struct mt_verdict **out)
{
    struct mt_verdict *v;
    struct mt_vd_work *w;

    if (check(in) != 0 || !out)
        return TRACER_EINVAL;
    w = get_memory(in, &v);
    if (!w)
        return TRACER_ENOMEM;
    judge_all(in, w, v);
    mt_memory_free(w);
    *out = v;
    return 0;
}

void mt_verdict_free(struct mt_verdict *v)
{
    mt_memory_free(v);
}
