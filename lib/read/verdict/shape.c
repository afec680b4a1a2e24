/* SPDX-License-Identifier: MIT */
/* read/verdict: which smooth curve does the floor follow?
 * In: the floor's points. Out: for each curve the best fit: offset + gain × curve(time, parameter),
 * the parameter by search, the other two by least squares.
 * Called by verdict.c; must not choose between the curves. */
#include <math.h>

#include "read/verdict/parts.h"

#define TRIES 48

/* u = time in the life, 0 … 1; p = the parameter, see `first` and `last` below. */
static double line(double u, double p)
{
    (void)p;
    return u;
}

static double hinge(double u, double p)
{
    return u > p ? u - p : 0;
}

static double clamp(double u, double p)
{
    return u < p ? u : p;
}

static double rising_exp(double u, double p)
{
    return exp(p * (u - 1));
}

static double power(double u, double p)
{
    return pow(u, p);
}

static double saturate(double u, double p)
{
    return 1 - exp(-p * u);
}

static double root_clamp(double u, double p)
{
    return sqrt(u < p ? u : p);
}

static const struct {
    double (*at)(double u, double p);
    double first, last; /* of the parameter's search */
} curves[MT_VD_CURVES] = {
    [MT_VD_LINE] = {line, 1, 1},
    [MT_VD_HINGE] = {hinge, 0.02, 0.8},
    [MT_VD_CLAMP] = {clamp, 0.02, 0.98},
    [MT_VD_EXP] = {rising_exp, 1, 9},
    [MT_VD_POWER] = {power, 0.2, 0.9},
    [MT_VD_SATURATE] = {saturate, 1, 60},
    [MT_VD_ROOT_CLAMP] = {root_clamp, 0.02, 0.98},
};

static struct mt_vd_fit fit_one(const struct mt_vd_floor *f, double end, unsigned c, double p)
{
    struct mt_vd_fit r = {.parameter = p};
    double n = f->n, sx = 0, sy = 0, sxx = 0, sxy = 0, d;

    for (unsigned i = 0; i < f->n; i++) {
        double x = curves[c].at(f->t[i] / end, p), y = f->y[i] - f->y[0];

        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    d = n * sxx - sx * sx;
    r.gain = d > 1e-12 ? (n * sxy - sx * sy) / d : 0;
    r.offset = (sy - r.gain * sx) / n;
    for (unsigned i = 0; i < f->n; i++) {
        double x = curves[c].at(f->t[i] / end, p);
        double e = f->y[i] - f->y[0] - r.offset - r.gain * x;

        r.sse += e * e;
    }
    r.offset += f->y[0];
    return r;
}

/* Sums of products of two columns about their fits by a straight line. */
static double beside_line(const struct mt_vd_floor *f, double end, const double *a, const double *b)
{
    double n = f->n, su = 0, suu = 0, sa = 0, sb = 0, sua = 0, sub = 0, sab = 0;

    for (unsigned i = 0; i < f->n; i++) {
        double u = f->t[i] / end;

        su += u;
        suu += u * u;
        sa += a[i];
        sb += b[i];
        sua += u * a[i];
        sub += u * b[i];
        sab += a[i] * b[i];
    }
    suu -= su * su / n;
    return sab - sa * sb / n - (sua - su * sa / n) * (sub - su * sb / n) / fmax(suu, 1e-12);
}

/* The line with one change of slope that fits best; both slopes must rise. */
static struct mt_vd_fit fit_kink(struct mt_vd_work *w, double end)
{
    const struct mt_vd_floor *f = &w->floor;
    double *y = w->scratch, *h = y + MT_VD_POINTS;
    struct mt_vd_fit best = w->shape.fit[MT_VD_LINE];

    for (unsigned i = 0; i < f->n; i++)
        y[i] = f->y[i] - f->y[0];
    for (double p = 0.1; p < 0.91; p += 0.025) {
        double hh, hy, sse;

        for (unsigned i = 0; i < f->n; i++)
            h[i] = hinge(f->t[i] / end, p);
        hh = beside_line(f, end, h, h);
        hy = beside_line(f, end, h, y);
        sse = beside_line(f, end, y, y) - hy * hy / fmax(hh, 1e-12);
        if (hh > 1e-9 && sse < best.sse)
            best = (struct mt_vd_fit){.sse = fmax(sse, 0), .parameter = p, .gain = hy / hh};
    }
    return best;
}

void mt_vd_fit_shapes(struct mt_vd_work *w)
{
    const struct mt_vd_floor *f = &w->floor;
    double end = fmax(w->thin.end_s, 1e-9);

    for (unsigned c = 0; c < MT_VD_CURVES; c++) {
        double p = curves[c].first, ratio = pow(curves[c].last / p, 1.0 / TRIES);

        if (!curves[c].at)
            continue;
        w->shape.fit[c] = fit_one(f, end, c, p);
        for (unsigned i = 0; ratio > 1 && i < TRIES; i++) {
            struct mt_vd_fit r = fit_one(f, end, c, p *= ratio);

            if (r.sse < w->shape.fit[c].sse)
                w->shape.fit[c] = r;
        }
    }
    w->shape.fit[MT_VD_KINK] = fit_kink(w, end);
}
