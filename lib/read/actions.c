/* SPDX-License-Identifier: MIT */
/* read: growth that an action causes, judged while the action was done.
 * In: series with marks and a verdict that saw no leak. Out: a better one, where each of a few
 * actions left a step. Called by reader_verdict.c. Must not blame what did not leak each time. */
#include "read/judging.h"

/* The end of the time in which an action was still done: as long after its last time as it took
 * from the one before; 0 when it came fewer than three times, or not in the second half. */
static int64_t active_until(const struct mt_series *s, const char *label)
{
    int64_t last = 0, before = 0;
    unsigned n = 0;

    for (size_t i = 0; i < s->n_marks; i++) {
        if (s->marks[i].label != label)
            continue;
        before = last;
        last = s->marks[i].t_ns;
        n++;
    }
    if (n < 3 || last - s->t_ns[0] < (s->t_ns[s->n - 1] - s->t_ns[0]) / 2)
        return 0;
    return last + (last - before);
}

/* Growth that rests because its cause does is no warm-up: what is leaked by each of a few actions
 * is judged over the time in which they were done. */
int mt_judging_actions(const struct mt_judging *j, int64_t limit, struct mt_verdict **inout)
{
    struct mt_series *s = (struct mt_series *)(uintptr_t)j->s;
    size_t whole = s->n;
    int error = TRACER_OK;

    for (unsigned k = 0; k < s->n_labels && !error && !(*inout)->leak; k++) {
        int64_t until = active_until(s, s->labels[k]);
        struct mt_verdict *v = NULL;

        while (until && s->n > 0 && s->t_ns[s->n - 1] > until)
            s->n--;
        if (s->n > 0 && s->n < whole)
            error = mt_judging_judge(j, (const int64_t *const *)j->values, s->n_types, limit, &v);
        s->n = whole;
        if (!error && v && v->shape == MT_VERDICT_PUNCTUATED && v->action == s->labels[k] &&
            v->n_actions_stepless == 0) {
            struct mt_verdict *old = *inout;

            *inout = v;
            v = old;
        }
        mt_verdict_free(v);
    }
    return error;
}
