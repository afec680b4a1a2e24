/* SPDX-License-Identifier: MIT */
/* read/verdict: the opinion on one type in one life.
 * In: the thinned life. Out: its class with a confidence, and the steps if it is a staircase.
 * Called by verdict.c; runs the stages in order and chooses between what they say. */
#include <math.h>

#include "read/verdict/parts.h"

#define PENALTY 3.0       /* of a cut, in σ² ln n */
#define PLATEAU 0.07      /* of the growth: less in the last two fifths is a plateau */
#define LAST_THIRD 0.02   /* and so is less than this in the last third */
#define MOST_STEPS 55     /* more are pieces of a rate, not events */
#define POINTS_PER_STEP 4 /* a staircase's floor is seen between its steps; one less … */
#define MOST_INSIDE 0.4   /* of the growth may seem to happen between steps */
#define SMALL_INSIDE 0.1  /* of it may really happen there */
#define MOST_INSIDE_Z 3.0
#define FEWEST_STEPS 3
#define MANY_STEPS 12       /* their sizes have a trend that can be told */
#define CLEAN 0.06          /* of a step: what lies nearer to the levels needs no excuse */
#define MARGIN 1            /* of information, in favour of a curve */
#define SLOWING 0.65        /* a power of time below this slows down */
#define BENT 0.6            /* of the squares a straight line leaves, at most, by a curve */
#define FEWEST_FOLDS 2.9    /* the class begins at 3.2, and noise flattens a fit */
#define LATE_ONSET 0.7      /* of the squares a straight line leaves */
#define MOVES 0.93          /* lag-one correlation of what is more than noise */
#define UNEVEN 2.5          /* of two steps the smaller is then noise */
#define JUMP_ROUGHNESS 0.15 /* of the growth: what wanders is no level */
#define MOMENT 0.04         /* of the life */
#define FLATTENED 0.2       /* of the growth, at most, in the last two fifths of what fills up */
#define FILLS_UP 0.4        /* of the squares a straight line leaves, at most, by what fills up */
#define GOES_ON 0.35        /* of those are left by a line with a bend: it goes on behind it */
#define RATCHET 1.5         /* … and so many by a power of time, which has no end */
#define HIDDEN_UNEXPLAINED 0.03 /* of the growth, by a line that never falls */
#define HIDDEN_WIDTHS 1.5       /* widths in a plateau, and more … */
#define HIDDEN_PRICE 8          /* … the less the points lie on levels */
#define HIDDEN_INSIDE 0.1       /* of the growth may seem to lie between hidden steps */
#define HIDDEN_ROUGHNESS 0.15   /* of the typical step */

/* Bayes' information of a fit with `parameters` to `n` independent points, smaller is better. */
static double information(const struct mt_vd_work *w, double sse, double parameters, double n)
{
    double least = w->life.page * w->life.page / 12;

    return n * log(sse / w->floor.n + least) + parameters * log(n);
}

static double best_smooth(const struct mt_vd_work *w, double n)
{
    double best = INFINITY;

    for (unsigned c = 0; c < MT_VD_CURVES; c++)
        best = fmin(best, information(w, w->shape.fit[c].sse, 4, n));
    return best;
}

/* Many steps that get smaller as a power of time are a ratchet's. */
static bool slows_down(const struct mt_vd_work *w)
{
    const struct mt_vd_fit *f = w->shape.fit;
    double straight = fmin(f[MT_VD_LINE].sse, f[MT_VD_HINGE].sse);

    return w->stairs.n >= MANY_STEPS && f[MT_VD_POWER].parameter < SLOWING &&
           f[MT_VD_POWER].sse < 0.35 * straight;
}

/* Nothing is kept between the steps of a staircase, and it needs fewer words than a curve. */
static bool is_staircase(const struct mt_vd_work *w)
{
    const struct mt_vd_stairs *s = &w->stairs;
    bool clean = sqrt(s->sse / w->floor.n) < CLEAN * s->typical;
    double r = clean ? 0 : fmin(fmax(s->whiteness, 0), 0.9);
    double n = w->floor.n * (1 - r) / (1 + r);
    unsigned points = POINTS_PER_STEP - w->floor.waves; /* … where each is the least of a wave */

    return s->n >= 1 && s->n <= MOST_STEPS && s->n * points <= w->floor.n &&
           s->inside < MOST_INSIDE && (s->inside < SMALL_INSIDE || s->inside_z < MOST_INSIDE_Z) &&
           information(w, s->sse, 3 * s->n + 1, n) + MARGIN < best_smooth(w, n) && !slows_down(w);
}

static enum mt_verdict_class choose_smooth(const struct mt_vd_work *w)
{
    const struct mt_vd_fit *f = w->shape.fit;
    double straight = fmin(f[MT_VD_LINE].sse, f[MT_VD_HINGE].sse);
    double bent = fmin(fmin(straight, f[MT_VD_CLAMP].sse), 3 * f[MT_VD_KINK].sse);

    if (f[MT_VD_EXP].sse < BENT * straight && f[MT_VD_EXP].parameter > FEWEST_FOLDS)
        return MT_VERDICT_EXPONENTIAL;
    if (f[MT_VD_POWER].sse < BENT * bent && f[MT_VD_POWER].parameter < SLOWING)
        return MT_VERDICT_FRAGMENTATION;
    return MT_VERDICT_LINEAR;
}

/* One step: alone, or all but alone, or taken in a few goes within a moment. Where waves lie above
 * it must have been seen twice since, because the last block may hold no trough. */
static bool is_jump(const struct mt_vd_work *w)
{
    const struct mt_vd_stairs *s = &w->stairs;
    unsigned last = w->floor.n - w->pieces.first[w->pieces.n - 1];
    double largest = fmax(s->at[0].bytes, s->at[s->n - 1].bytes);
    double smallest = fmin(s->at[0].bytes, s->at[s->n - 1].bytes);

    if (w->floor.waves && last < 2)
        return false;
    if (sqrt(s->sse / w->floor.n) > JUMP_ROUGHNESS * w->floor.growth)
        return false;
    if (s->n == 2 && largest > UNEVEN * smallest)
        return true;
    return s->at[s->n - 1].after_s - s->at[0].before_s < MOMENT * w->thin.end_s || s->n == 1;
}

static bool has_stopped(const struct mt_vd_work *w)
{
    return w->trend.late < PLATEAU || w->trend.last_third < LAST_THIRD;
}

/* What has a bound and comes near to it, such as a cache while it is filled: each part of the time
 * adds less than the one before, and neither a slower rate behind a bend nor a power of time
 * explains it better. What little it still adds may be noise on a plateau, or not: more time tells.
 */
static bool fills_up(const struct mt_vd_work *w)
{
    const struct mt_vd_fit *f = w->shape.fit;
    double filled = fmin(f[MT_VD_SATURATE].sse, fmin(f[MT_VD_CLAMP].sse, f[MT_VD_ROOT_CLAMP].sse));

    return w->trend.late < FLATTENED && filled < FILLS_UP * f[MT_VD_LINE].sse &&
           f[MT_VD_KINK].sse > GOES_ON * filled && f[MT_VD_POWER].sse > RATCHET * filled;
}

static enum mt_verdict_class choose_rising(const struct mt_vd_work *w)
{
    bool stairs = is_staircase(w);
    enum mt_verdict_class shape;

    if (stairs && is_jump(w))
        return MT_VERDICT_JUMP;
    if (stairs && w->stairs.n == 1)
        return MT_VERDICT_STEADY;
    if (has_stopped(w))
        return MT_VERDICT_WARMUP;
    if (stairs && w->stairs.n < FEWEST_STEPS)
        return MT_VERDICT_TOO_SHORT;
    if (stairs)
        return MT_VERDICT_PUNCTUATED;
    shape = choose_smooth(w);
    return shape == MT_VERDICT_LINEAR && fills_up(w) ? MT_VERDICT_TOO_SHORT : shape;
}

/* Ramps and drops: more time, and more samples, go up than down. */
static bool is_sawtooth(const struct mt_vd_wave *v)
{
    if (v->swings < 3 || v->middle < 0.2)
        return false;
    if (v->rise_share > 0.8)
        return true;
    return v->swings >= 5 && v->middle > 0.25 &&
           (v->rise_fall > 4 || (v->rise_fall > 1.9 && v->rise_share > 0.64));
}

static enum mt_verdict_class choose_still(const struct mt_vd_work *w)
{
    const struct mt_vd_wave *v = &w->wave;

    if (w->thin.swing <= 8 * w->life.page)
        return MT_VERDICT_STEADY;
    if (is_sawtooth(v))
        return MT_VERDICT_SAWTOOTH;
    return v->harmonic > 0.8 && v->cycles > 1.9 ? MT_VERDICT_DIURNAL : MT_VERDICT_STEADY;
}

static double cut_penalty(const struct mt_vd_work *w)
{
    return PENALTY * w->floor.sigma * w->floor.sigma * log(w->floor.n + 1);
}

/* A staircase under waves: on the opening, every plateau must be seen over several widths, and
 * next to nothing may lie between the steps. */
static double hidden_stairs(struct mt_vd_work *w, unsigned width)
{
    const struct mt_vd_stairs *s = &w->stairs;
    double plateau, roughness;

    mt_vd_open_floor(w, width);
    mt_vd_judge_trend(w);
    if (!w->trend.rising || w->floor.unexplained > HIDDEN_UNEXPLAINED)
        return INFINITY;
    mt_vd_partition(w, cut_penalty(w));
    mt_vd_clean_stairs(w);
    if (s->n < FEWEST_STEPS || s->n > MOST_STEPS)
        return INFINITY;
    plateau = (s->at[s->n - 1].after_s - s->at[0].after_s) / (s->n - 1) / w->thin.end_s *
              w->thin.n / width;
    roughness = sqrt(s->sse / w->floor.n) / s->typical;
    if (plateau < HIDDEN_WIDTHS + HIDDEN_PRICE * roughness || fabs(s->inside) > HIDDEN_INSIDE)
        return INFINITY;
    return roughness;
}

static bool find_hidden_stairs(struct mt_vd_work *w)
{
    double best = HIDDEN_ROUGHNESS;
    unsigned at = 0;

    for (unsigned width = 2; width * 8 <= w->thin.n; width = mt_vd_next_width(width)) {
        double roughness = hidden_stairs(w, width);

        if (roughness < best) {
            best = roughness;
            at = width;
        }
    }
    return at > 0 && hidden_stairs(w, at) <= best;
}

static double between(double x)
{
    return fmin(fmax(x, 0.05), 0.99);
}

static double sure_of_rise(const struct mt_vd_trend *t)
{
    return between(1 - t->drawdown - 2 / fmax(t->certainty, 1));
}

static double sure_of_none(const struct mt_vd_trend *t)
{
    return between(0.5 + t->drawdown / 2);
}

static double highest(const struct mt_vd_life *life)
{
    double most = life->v[0];

    for (size_t i = 1; i < life->n; i++)
        most = fmax(most, life->v[i]);
    return most;
}

/* Since when, how much, and where it will be: from the steps, or from the curve that fits,
 * which may overshoot: no more is kept than was ever there above the beginning. */
static void measure_growth(const struct mt_vd_work *w, struct mt_vd_opinion *out)
{
    const struct mt_vd_fit *f = w->shape.fit, *line = &f[MT_VD_LINE], *hinge = &f[MT_VD_HINGE];
    const struct mt_vd_stairs *s = &w->stairs;
    double seen = 1 - w->life.t[0] / fmax(w->thin.end_s, 1e-9); /* a start may be left out */

    out->kept = w->floor.growth;
    out->onset_s = w->thin.t[0];
    out->level = w->floor.rising[w->floor.n - 1];
    out->power = 1;
    if (out->shape == MT_VERDICT_PUNCTUATED) {
        out->onset_s = s->at[0].after_s;
        out->kept = s->at[s->n - 1].above - s->at[0].below;
    } else if (out->shape == MT_VERDICT_LINEAR) {
        bool late = hinge->sse < LATE_ONSET * line->sse;

        out->onset_s = late ? hinge->parameter * w->thin.end_s : out->onset_s;
        out->kept = late ? hinge->gain * (1 - hinge->parameter) : line->gain * seen;
        out->level = late ? hinge->offset + out->kept : line->offset + line->gain;
    } else if (out->shape == MT_VERDICT_FRAGMENTATION) {
        out->kept = f[MT_VD_POWER].gain;
        out->power = f[MT_VD_POWER].parameter;
    } else if (out->shape == MT_VERDICT_EXPONENTIAL) {
        out->kept = f[MT_VD_EXP].gain * (1 - exp(-f[MT_VD_EXP].parameter));
        out->folds = f[MT_VD_EXP].parameter;
    }
    out->kept = fmin(out->kept, highest(&w->life) - fmin(w->life.v[0], w->floor.y[0]));
}

static enum mt_verdict_class first_look(struct mt_vd_work *w)
{
    enum mt_verdict_class shape = MT_VERDICT_STEADY;

    w->stairs.n = 0;
    if (w->trend.rising) {
        mt_vd_partition(w, cut_penalty(w));
        mt_vd_clean_stairs(w);
        mt_vd_fit_shapes(w);
        shape = choose_rising(w);
    }
    if (shape != MT_VERDICT_STEADY)
        return shape;
    mt_vd_measure_waves(w);
    return choose_still(w);
}

/* Staircases may hide under waves from the first look only where it saw none of the clear shapes.
 */
static bool worth_second_look(const struct mt_vd_work *w, enum mt_verdict_class shape)
{
    return (shape == MT_VERDICT_LINEAR || shape == MT_VERDICT_STEADY ||
            shape == MT_VERDICT_TOO_SHORT) &&
           (w->floor.waves || !w->trend.rising);
}

/* The opinion on the life as it stands. */
static void look(struct mt_vd_work *w, struct mt_vd_opinion *out)
{
    bool fills;

    mt_vd_thin_out(w);
    mt_vd_find_floor(w);
    mt_vd_judge_trend(w);
    out->shape = first_look(w);
    fills = out->shape == MT_VERDICT_TOO_SHORT && !is_staircase(w);
    if (fills)
        w->stairs.n = 0;
    else if (worth_second_look(w, out->shape) && find_hidden_stairs(w))
        out->shape = has_stopped(w) ? MT_VERDICT_WARMUP : MT_VERDICT_PUNCTUATED;
    out->likely = fills                                ? MT_VERDICT_WARMUP
                  : out->shape == MT_VERDICT_TOO_SHORT ? MT_VERDICT_JUMP
                                                       : out->shape;
    out->swing = w->thin.swing;
    out->confidence = w->trend.rising ? sure_of_rise(&w->trend) : sure_of_none(&w->trend);
    out->moves = out->shape != MT_VERDICT_STEADY || w->wave.memory > MOVES;
    measure_growth(w, out);
}

/* A high start that ended must not hide what grows after it; where nothing does, the first opinion
 * stands. */
static void look_behind_start(struct mt_vd_work *w, struct mt_vd_opinion *out)
{
    struct mt_vd_life whole = w->life;
    struct mt_vd_opinion later = {0};

    if (mt_verdict_is_leak(out->shape) || !mt_vd_skip_high_start(w))
        return;
    look(w, &later);
    if (mt_verdict_is_leak(later.shape)) {
        later.swing = out->swing;
        *out = later;
        return;
    }
    w->life = whole;
    look(w, out);
}

void mt_vd_form_opinion(struct mt_vd_work *w, struct mt_vd_opinion *out)
{
    mt_vd_repair(w);
    mt_vd_skip_start(w);
    look(w, out);
    look_behind_start(w, out);
}
