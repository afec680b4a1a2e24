/* SPDX-License-Identifier: MIT */
/* read/verdict: the opinion on one type in one life.
 * In: the thinned life. Out: its class with a confidence, and the steps if it is a staircase.
 * Called by verdict.c; runs the stages in order and chooses between what they say. */
#include <math.h>

#include "read/verdict/parts.h"

#define PENALTY 3.0        /* of a cut, in σ² ln n */
#define PLATEAU 0.07       /* of the growth: less in the last two fifths is a plateau */
#define MOST_STEPS 55      /* more are pieces of a rate, not events */
#define POINTS_PER_STEP 3  /* a staircase's floor is seen between its steps */
#define MOST_INSIDE 0.4    /* of the growth may seem to happen between steps */
#define SMALL_INSIDE 0.05  /* of it may really happen there */
#define MOST_INSIDE_Z 4.0
#define FEWEST_STEPS 3
#define HIDDEN_UNEXPLAINED 0.03 /* of the growth, by a line that never falls */
#define HIDDEN_WIDTHS 4         /* widths in a middle plateau */
#define HIDDEN_INSIDE 0.12      /* of the growth may seem to lie between hidden steps */
#define HIDDEN_ROUGHNESS 0.2    /* of the typical step */

/* Bayes' information of a fit with `parameters`, smaller is better. */
static double information(const struct mt_vd_work *w, double sse, double parameters)
{
    double n = w->floor.n, least = w->life.page * w->life.page / 12;

    return n * log(sse / n + least) + parameters * log(n);
}

static double best_smooth(const struct mt_vd_work *w)
{
    double best = INFINITY;

    for (unsigned c = 0; c < MT_VD_CURVES; c++)
        best = fmin(best, information(w, w->shape.fit[c].sse, 4));
    return best;
}

/* Nothing is kept between the steps of a staircase, and it needs fewer words than a curve. */
static bool is_staircase(const struct mt_vd_work *w)
{
    const struct mt_vd_stairs *s = &w->stairs;

    return s->n >= 1 && s->n <= MOST_STEPS && s->n * POINTS_PER_STEP <= w->floor.n &&
           s->inside < MOST_INSIDE && (s->inside < SMALL_INSIDE || s->inside_z < MOST_INSIDE_Z) &&
           information(w, s->sse, 3 * s->n + 1) < best_smooth(w);
}

static enum mt_verdict_class choose_smooth(const struct mt_vd_work *w)
{
    const struct mt_vd_fit *f = w->shape.fit;
    double straight = fmin(f[MT_VD_LINE].sse, f[MT_VD_HINGE].sse);
    double bent = fmin(straight, f[MT_VD_CLAMP].sse);

    if (f[MT_VD_EXP].sse < 0.8 * straight && f[MT_VD_EXP].parameter > 2.2)
        return MT_VERDICT_EXPONENTIAL;
    if (f[MT_VD_POWER].sse < 0.6 * bent && f[MT_VD_POWER].parameter < 0.65)
        return MT_VERDICT_FRAGMENTATION;
    return MT_VERDICT_LINEAR;
}

static enum mt_verdict_class choose_rising(const struct mt_vd_work *w)
{
    bool stairs = is_staircase(w);

    if (stairs && w->stairs.n == 1)
        return MT_VERDICT_JUMP;
    if (w->trend.late < PLATEAU)
        return MT_VERDICT_WARMUP;
    if (stairs)
        return w->stairs.n < FEWEST_STEPS ? MT_VERDICT_TOO_SHORT : MT_VERDICT_PUNCTUATED;
    return choose_smooth(w);
}

static enum mt_verdict_class choose_still(const struct mt_vd_work *w)
{
    const struct mt_vd_wave *v = &w->wave;

    if (w->thin.swing <= 8 * w->life.page)
        return MT_VERDICT_STEADY;
    if (v->harmonic > 0.8 && v->cycles > 1.9)
        return MT_VERDICT_DIURNAL;
    if (v->swings >= 4 && v->rise_fall > 1.9 && v->middle > 0.25)
        return MT_VERDICT_SAWTOOTH;
    return MT_VERDICT_STEADY;
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
    double plateau;

    mt_vd_open_floor(w, width);
    mt_vd_judge_trend(w);
    if (!w->trend.rising || w->floor.unexplained > HIDDEN_UNEXPLAINED)
        return INFINITY;
    mt_vd_partition(w, cut_penalty(w));
    mt_vd_clean_stairs(w);
    if (s->n < FEWEST_STEPS || s->n > MOST_STEPS)
        return INFINITY;
    plateau = (s->at[s->n - 1].after_s - s->at[0].after_s) / (s->n - 1) / w->thin.end_s;
    if (plateau * w->thin.n < HIDDEN_WIDTHS * width || fabs(s->inside) > HIDDEN_INSIDE)
        return INFINITY;
    return sqrt(s->sse / w->floor.n) / s->typical;
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

void mt_vd_form_opinion(struct mt_vd_work *w, struct mt_vd_opinion *out)
{
    mt_vd_repair(w);
    mt_vd_skip_start(w);
    mt_vd_thin_out(w);
    mt_vd_find_floor(w);
    mt_vd_judge_trend(w);
    out->swing = w->thin.swing;
    out->confidence = 0.5;
    out->until_s = 0;
    w->stairs.n = 0;
    if (w->trend.rising) {
        mt_vd_partition(w, cut_penalty(w));
        mt_vd_clean_stairs(w);
        mt_vd_fit_shapes(w);
        out->shape = choose_rising(w);
    } else {
        mt_vd_measure_waves(w);
        out->shape = choose_still(w);
    }
    if ((out->shape == MT_VERDICT_LINEAR || out->shape == MT_VERDICT_STEADY) &&
        find_hidden_stairs(w))
        out->shape = w->trend.late < PLATEAU ? MT_VERDICT_WARMUP : MT_VERDICT_PUNCTUATED;
    out->likely = out->shape;
    out->kept = w->floor.growth;
    out->onset_s = w->stairs.n > 0 ? w->stairs.at[0].after_s : 0;
}
