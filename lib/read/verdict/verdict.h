/* SPDX-License-Identifier: MIT */
/* Verdicts over series of memory: which kind leaks, in which shape, since when, how fast, after
 * which action, until when. Pure: values in, values out; no file, no clock, no SQLite.
 * Any thread; each call has its own work memory, about 100 bytes a sample. */
#ifndef MT_READ_VERDICT_VERDICT_H
#define MT_READ_VERDICT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_VERDICT_UNKNOWN INT64_MIN /* a value that was not measured */
#define MT_VERDICT_TYPES 64          /* types of one call at most */
#define MT_VERDICT_STEPS 256         /* steps kept for one type at most, the earliest */

/* Leaks first: memory that is kept and goes on growing. */
enum mt_verdict_class {
    MT_VERDICT_PUNCTUATED,    /* discrete steps, nothing kept between them, still going on */
    MT_VERDICT_LINEAR,        /* many small allocations at a rate */
    MT_VERDICT_EXPONENTIAL,   /* grows by a factor in equal times */
    MT_VERDICT_FRAGMENTATION, /* the floor rises with every wave, ever more slowly */
    MT_VERDICT_STEADY,        /* noise, bursts, what comes and goes */
    MT_VERDICT_SAWTOOTH,      /* ramps and drops to the same floor */
    MT_VERDICT_WARMUP,        /* grew, then stayed on a plateau */
    MT_VERDICT_JUMP,          /* one step that stays */
    MT_VERDICT_DIURNAL,       /* a smooth periodic wave */
    MT_VERDICT_TOO_SHORT,     /* cannot be told yet; see `likely` and `needed_ns` */
    MT_VERDICT_CLASSES
};

struct mt_verdict_marker {
    int64_t t_ns;
    const char *label; /* compared as text */
};

struct mt_verdict_input {
    size_t n;                                /* samples */
    const int64_t *t_ns;                     /* rising strictly; need not be evenly spaced */
    unsigned n_types;                        /* at most MT_VERDICT_TYPES */
    const int64_t *const *values;            /* [type][sample], bytes or MT_VERDICT_UNKNOWN */
    size_t n_markers;                        /* 0 = no actions are known */
    const struct mt_verdict_marker *markers; /* in order of time */
    size_t n_sessions;                       /* 0 = one process life */
    const int64_t *session_starts_ns;        /* in order of time */
    int64_t limit_bytes;                     /* the sum of all types must not pass it; 0 = none */
    int64_t page_bytes;                      /* the smallest change that can be seen; 0 = 4096 */
};

struct mt_verdict_step {
    int64_t t_ns;       /* best guess */
    int64_t before_ns;  /* it came after the sample at this time … */
    int64_t after_ns;   /* … and before or with this one */
    int64_t bytes;      /* height of the step */
    int64_t kept_bytes; /* held since the onset right after it */
};

struct mt_verdict_type {
    enum mt_verdict_class shape;
    enum mt_verdict_class likely; /* the best guess; differs from `shape` when too short only */
    bool leak;
    double confidence;           /* 0 … 1, in `likely` */
    int64_t onset_ns;            /* first step, or where the growth begins; leaks only */
    int64_t kept_bytes;          /* growth that was never given back; leaks only */
    double bytes_per_s;          /* from onset to the end; leaks only */
    int64_t swing_bytes;         /* highest less lowest value, torn reads left out */
    int64_t needed_ns;           /* too short only: how much longer must be recorded */
    int64_t typical_step_bytes;  /* middle of the steps; 0 = none */
    int64_t typical_interval_ns; /* middle of the times between steps; 0 = none */
    unsigned n_steps;
    struct mt_verdict_step steps[MT_VERDICT_STEPS];
};

struct mt_verdict {
    enum mt_verdict_class shape;
    bool leak;
    double confidence;
    unsigned type;         /* the type in question; n_types = none */
    int64_t exhaustion_ns; /* when the limit is reached; 0 = not, or not known */
    const char *action;    /* label of the marker that leaks, NULL = none; the caller's text */
    unsigned n_actions;    /* how often it happened */
    unsigned n_actions_stepless; /* how often without a step */
    unsigned n_types;
    struct mt_verdict_type types[]; /* as in the input */
};

/* Judges all types. Returns 0 and a verdict to free, or TRACER_EINVAL, TRACER_ENOMEM. */
int mt_verdict_judge(const struct mt_verdict_input *in, struct mt_verdict **out);

/* Accepts NULL. */
void mt_verdict_free(struct mt_verdict *v);

/* "punctuated", …; NULL for other numbers. */
const char *mt_verdict_name(enum mt_verdict_class c);

bool mt_verdict_is_leak(enum mt_verdict_class c);

#endif
