/* SPDX-License-Identifier: MIT */
/* What the files of read/verdict/ pass to each other. One type of one process life at a time:
 *
 *   life ──thin──▶ curves ──floor──▶ floor ──trend──▶ rising? ──segment, shape──▶ class ──steps──▶
 * steps
 *
 * Seconds since the life's first sample, bytes as double: exact below 2^53. */
#ifndef MT_READ_VERDICT_PARTS_H
#define MT_READ_VERDICT_PARTS_H

#include "read/verdict/verdict.h"

#define MT_VD_THIN 2048  /* bins of a thinned life */
#define MT_VD_POINTS 512 /* points of a floor: a partition costs their square */
#define MT_VD_COARSE 40  /* points on which a trend is judged */

/* One type of one life at full resolution. */
struct mt_vd_life {
    size_t n;
    double *t;
    double *v;      /* torn reads repaired */
    double page;    /* the smallest change that can be seen */
    double step_s;  /* middle interval between samples */
    bool restarted; /* an earlier life is in the series */
};

struct mt_vd_thin {
    unsigned n;
    unsigned per_bin;     /* samples in one bin */
    double t[MT_VD_THIN]; /* of the least value */
    double least[MT_VD_THIN];
    double middle[MT_VD_THIN];
    double calm[MT_VD_THIN]; /* the middle without short bursts */
    double swing;            /* highest less lowest sample */
    double end_s;            /* of the last sample */
};

/* What is retained: few points, each the least (or, where nothing but noise lies on it, the
 * middle) value of a block. */
struct mt_vd_floor {
    unsigned n;
    unsigned width; /* samples in a block */
    bool waves;     /* least values: something comes and goes above */
    double t[MT_VD_POINTS];
    double y[MT_VD_POINTS];
    double rising[MT_VD_POINTS]; /* the best fit that never falls */
    double sigma;                /* noise of one point */
    double spread;      /* the same for a mean of points: more where neighbours are correlated */
    double growth;      /* of `rising` */
    double unexplained; /* mean distance to `rising`, of the growth */
};

struct mt_vd_trend {
    double growth;
    double drawdown;  /* largest fall, of the growth */
    double certainty; /* growth against noise */
    double tau;       /* Kendall's, of at most MT_VD_COARSE blocks */
    double late;      /* share of the growth in the last two fifths */
    double last_third;
    bool rising;
};

/* A partition into pieces of one level each. */
struct mt_vd_pieces {
    unsigned n;
    unsigned first[MT_VD_POINTS + 1]; /* first[n] = number of points */
    double level[MT_VD_POINTS];
};

/* Rises between the levels of a partition that passed cleaning. */
struct mt_vd_stairs {
    unsigned n;
    struct {
        double before_s, after_s; /* the last point below, the first one above */
        double at_s;              /* best guess, once placed */
        double bytes;
        double below, above; /* the levels */
    } at[MT_VERDICT_STEPS];
    double sse;       /* squared distance of the floor's points to the levels */
    double whiteness; /* lag-one correlation of what the levels leave */
    double inside;    /* growth between the steps, of all growth */
    double inside_z;  /* the same in standard errors */
    double typical;   /* middle of the sizes */
};

/* What one life says about one type. */
struct mt_vd_opinion {
    enum mt_verdict_class shape;
    double confidence;
    enum mt_verdict_class likely;
    double swing;
    double onset_s;
    double kept;  /* bytes, from the onset to the end */
    double level; /* of the floor at the end */
    double power; /* the growth goes on as time to this power */
    double folds; /* exponential only: e-folds over the life */
    double life_s;
    bool moves; /* more than noise */
};

enum mt_vd_curve {
    MT_VD_LINE,
    MT_VD_HINGE,      /* flat, then a line */
    MT_VD_CLAMP,      /* a line, then flat */
    MT_VD_EXP,        /* exp(r t), r > 0 */
    MT_VD_POWER,      /* t^p, p < 1 */
    MT_VD_SATURATE,   /* 1 - exp(-r t) */
    MT_VD_KINK,       /* a line that changes its slope once */
    MT_VD_ROOT_CLAMP, /* square root, then flat */
    MT_VD_CURVES
};

struct mt_vd_fit {
    double sse;
    double parameter; /* breakpoint in s, exponent, or e-folds over the life */
    double offset;
    double gain;
};

struct mt_vd_shape {
    struct mt_vd_fit fit[MT_VD_CURVES];
    double flat_sse;
};

struct mt_vd_wave {
    double harmonic;   /* share of the variance that one smooth period explains */
    double cycles;     /* of that period in the life */
    double rise_fall;  /* time spent rising to time spent falling, of large swings */
    unsigned swings;   /* large falls */
    double low_share;  /* share of time near the lowest level */
    double middle;     /* middle value within the swing */
    double memory;     /* lag-one correlation */
    double rise_share; /* rises among all changes between samples */
};

/* All memory of one call, sized by the longest life. */
struct mt_vd_work {
    double *t, *v; /* room for the longest life */
    struct mt_vd_life life;
    struct mt_vd_thin thin;
    struct mt_vd_floor floor, candidate;
    struct mt_vd_trend trend;
    struct mt_vd_pieces pieces;
    struct mt_vd_shape shape;
    struct mt_vd_wave wave;
    struct mt_vd_stairs stairs;
    double scratch[4 * MT_VD_THIN];
    unsigned index[2 * MT_VD_THIN];
};

/* math.c */
double mt_vd_median(double *v, size_t n); /* reorders v */
void mt_vd_isotonic(const double *y, unsigned n, double *out);
double mt_vd_memory(const double *y, unsigned n);
double mt_vd_noise(const double *y, unsigned n, double *scratch);

/* thin.c */
void mt_vd_repair(struct mt_vd_work *w);
void mt_vd_skip_start(struct mt_vd_work *w);
void mt_vd_thin_out(struct mt_vd_work *w);

/* floor.c */
void mt_vd_find_floor(struct mt_vd_work *w);
void mt_vd_open_floor(struct mt_vd_work *w, unsigned width);
unsigned mt_vd_next_width(unsigned width); /* of the ladder */

/* start.c: false = there is no high start, the life is as it was */
bool mt_vd_skip_high_start(struct mt_vd_work *w);

/* trend.c */
void mt_vd_judge_trend(struct mt_vd_work *w);

/* segment.c */
void mt_vd_partition(struct mt_vd_work *w, double penalty);

/* stairs.c */
void mt_vd_clean_stairs(struct mt_vd_work *w);

/* steps.c: puts the steps where the full resolution shows them */
void mt_vd_place_steps(struct mt_vd_work *w);

/* shape.c */
void mt_vd_fit_shapes(struct mt_vd_work *w);

/* wave.c */
void mt_vd_measure_waves(struct mt_vd_work *w);

/* opinion.c */
void mt_vd_form_opinion(struct mt_vd_work *w, struct mt_vd_opinion *out);

#endif
