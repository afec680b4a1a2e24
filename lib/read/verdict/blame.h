/* SPDX-License-Identifier: MIT */
#ifndef MT_READ_VERDICT_BLAME_H
#define MT_READ_VERDICT_BLAME_H

#include "read/verdict/verdict.h"

/* Sets action, n_actions and n_actions_stepless from the steps of the type in question. */
void mt_vd_blame(const struct mt_verdict_input *in, struct mt_verdict *v);

/* Sets exhaustion_ns from the levels of all types and the growth of those that leak. */
struct mt_vd_opinion;
void mt_vd_foresee(const struct mt_verdict_input *in, const struct mt_vd_opinion *last,
                   struct mt_verdict *v);

#endif
