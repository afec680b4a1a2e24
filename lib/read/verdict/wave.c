/* SPDX-License-Identifier: MIT */
/* read/verdict: what comes and goes, when nothing is retained.
 * In: the thinned life. Out: how much of it one smooth period explains, how its large swings rise
 * and fall, and where its middle lies.
 * Called by verdict.c; must not be asked about a floor that rises. */
#include <math.h>

#include "read/verdict/parts.h"

#define BASES 5 /* 1, and sine and cosine of the period and of its half */

/* Solves a small symmetric system in place; false when it is singular. */
static bool solve(double a[BASES][BASES + 1])
{
    for (unsigned k = 0; k < BASES; k++) {
        if (fabs(a[k][k]) < 1e-9)
            return false;
        for (unsigned i = 0; i < BASES; i++) {
            double q = i == k ? 0 : a[i][k] / a[k][k];

            for (unsigned j = k; j <= BASES && q != 0; j++)
                a[i][j] -= q * a[k][j];
        }
    }
    return true;
}

/* Share of the variance explained by a wave of `cycles` periods with one overtone. */
static double explained(const struct mt_vd_thin *thin, double cycles, double mean, double variance)
{
    double a[BASES][BASES + 1] = {{0}}, gain = 0, right[BASES];
    unsigned stride = 1 + thin->n / 512;

    for (unsigned i = 0; i < thin->n; i += stride) {
        double x = 6.283185307179586 * cycles * thin->t[i] / thin->end_s;
        double b[BASES + 1] = {1, cos(x), sin(x), cos(2 * x), sin(2 * x), thin->middle[i] - mean};

        for (unsigned r = 0; r < BASES; r++)
            for (unsigned c = 0; c <= BASES; c++)
                a[r][c] += b[r] * b[c];
    }
    for (unsigned r = 0; r < BASES; r++)
        right[r] = a[r][BASES];
    if (!solve(a))
        return 0;
    for (unsigned r = 0; r < BASES; r++)
        gain += right[r] * a[r][BASES] / a[r][r];
    return gain / fmax(variance, 1);
}

static void find_period(struct mt_vd_work *w)
{
    const struct mt_vd_thin *thin = &w->thin;
    double mean = 0, variance = 0;
    unsigned stride = 1 + thin->n / 512, m = 0;

    for (unsigned i = 0; i < thin->n; i += stride, m++)
        mean += thin->middle[i];
    mean /= m;
    for (unsigned i = 0; i < thin->n; i += stride)
        variance += (thin->middle[i] - mean) * (thin->middle[i] - mean);
    for (double cycles = 1.5; cycles < 14; cycles += 0.1) {
        double e = explained(thin, cycles, mean, variance);

        if (e > w->wave.harmonic) {
            w->wave.harmonic = e;
            w->wave.cycles = cycles;
        }
    }
}

/* A zigzag of swings larger than `least`: where it last turned, and the time it went up and down.
 */
struct zigzag {
    double least, rise_s, fall_s;
    size_t low, high;
    unsigned falls;
    bool up;
};

static void go_up(const struct mt_vd_life *life, struct zigzag *z, size_t i)
{
    if (life->v[i] > life->v[z->high])
        z->high = i;
    if (life->v[z->high] - life->v[i] < z->least)
        return;
    z->rise_s += life->t[z->high] - life->t[z->low];
    z->falls++;
    z->low = i;
    z->up = false;
}

static void go_down(const struct mt_vd_life *life, struct zigzag *z, size_t i)
{
    if (life->v[i] <= life->v[z->low])
        z->low = i;
    if (life->v[i] - life->v[z->low] < z->least)
        return;
    z->fall_s += life->t[z->low] - life->t[z->high];
    z->high = i;
    z->up = true;
}

static void walk_swings(struct mt_vd_work *w)
{
    struct zigzag z = {.least = fmax(w->thin.swing / 3, 1), .up = true};

    for (size_t i = 1; i < w->life.n; i++) {
        if (z.up)
            go_up(&w->life, &z, i);
        else
            go_down(&w->life, &z, i);
    }
    w->wave.swings = z.falls;
    w->wave.rise_fall = z.fall_s > 0 ? z.rise_s / z.fall_s : 0;
}

/* Of the changes between samples that can be told from noise, how many are rises. */
static double rise_share(const struct mt_vd_life *life, double least)
{
    size_t rises = 0, falls = 0;

    for (size_t i = 1; i < life->n; i++) {
        rises += life->v[i] - life->v[i - 1] > least;
        falls += life->v[i - 1] - life->v[i] > least;
    }
    return rises + falls > 0 ? rises / (double)(rises + falls) : 0.5;
}

void mt_vd_measure_waves(struct mt_vd_work *w)
{
    const struct mt_vd_thin *thin = &w->thin;
    double low = INFINITY;
    unsigned near = 0;

    w->wave = (struct mt_vd_wave){0};
    for (unsigned i = 0; i < thin->n; i++) {
        low = fmin(low, thin->least[i]);
        w->scratch[i] = thin->middle[i];
    }
    w->wave.middle = (mt_vd_median(w->scratch, thin->n) - low) / fmax(thin->swing, 1);
    for (unsigned i = 0; i < thin->n; i++)
        near += thin->middle[i] < low + 0.25 * thin->swing;
    w->wave.low_share = near / (double)thin->n;
    w->wave.memory = mt_vd_memory(thin->middle, thin->n);
    w->wave.rise_share = rise_share(&w->life, thin->swing / 200);
    find_period(w);
    walk_swings(w);
}
