/* SPDX-License-Identifier: MIT */
/* read: one call of tracer_reader_verdict while it is worked on. */
#ifndef MT_READ_JUDGING_H
#define MT_READ_JUDGING_H

#include "read/series.h"

/* All that a verdict points to, in one block. */
struct mt_judged {
    tracer_verdict v; /* first: freed by its address */
    const tracer_type_verdict *list[MT_VERDICT_TYPES];
    tracer_type_verdict types[MT_VERDICT_TYPES];
    char names[MT_VERDICT_TYPES][64];
    char action[256];
    tracer_verdict_step steps[MT_VERDICT_TYPES][MT_VERDICT_STEPS];
};

struct mt_judging {
    tracer_reader *r;
    const struct mt_series *s;
    struct mt_judged *out;
    int64_t *values[MT_VERDICT_TYPES]; /* of each type what is judged … */
    int64_t *sizes[MT_VERDICT_TYPES];  /* … and its address space, or what is held where that is
                                          judged; NULL = not asked for */
};

/* The pure judge on n_types series; limit 0 = none. */
int mt_judging_judge(const struct mt_judging *j, const int64_t *const *values, unsigned n_types,
                     int64_t limit, struct mt_verdict **out);

/* moves.c: counts memory that got another type for that type from its beginning on. */
void mt_judging_join_moves(const struct mt_judging *j);

/* actions.c: replaces the verdict where marks explain more. */
int mt_judging_actions(const struct mt_judging *j, int64_t limit, struct mt_verdict **inout);

/* ends.c: first, last and highest value; the slope of the floor over the last half. */
void mt_judging_ends(const struct mt_series *s, const int64_t *v, tracer_type_verdict *t);
double mt_judging_late_slope(const struct mt_series *s, const int64_t *v);

/* cause.c: what else grew with type k, and why it grows; its verdict is already there. */
int mt_judging_cause(struct mt_judging *j, unsigned k);

/* amends.c: what is held beside what is judged; a growth of both is no reservation. */
int mt_judging_held(struct mt_judging *j, unsigned k, uint32_t measure);
void mt_judging_no_reservation(tracer_type_verdict *t);
/* Does type k still grow, now that its slope over the last half is known? */
bool mt_judging_weigh_late(const struct mt_judging *j, unsigned k);

/* limits.c: keeps the limit that is reached first. */
void mt_judging_limit(struct mt_judging *j, uint32_t limit, int64_t bytes, int64_t wall_ns);
void mt_judging_data_limit(struct mt_judging *j);

#endif
