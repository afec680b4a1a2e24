/* SPDX-License-Identifier: MIT */
/* read/verdict: after which action do the steps come?
 * In: the steps of a type with the samples around them, and the markers. Out: the label that comes
 * before steps more often than its own frequency explains, with how often it came without one.
 * Called by verdict.c; must not blame a label that is merely frequent. */
#include <math.h>
#include <string.h>

#include "read/verdict/blame.h"

#define MOST_LABELS 128
#define STEP_HAS_CULPRIT 0.9 /* share of steps that the culprit is seen to precede */
#define CULPRIT_HAS_STEP 0.6 /* share of the culprit's times that bring a step */
#define LEAST_SCORE 2.0      /* evidence in e-folds */
#define SURE_SCORE 8.0
#define UNEXPLAINED 0.7 /* of the culprit's mean step: less, without it, is no step */

struct label {
    const char *text;
    unsigned count;
    double score;
};

/* Index of the first marker after `t`. */
static size_t marker_after(const struct mt_verdict_input *in, int64_t t)
{
    size_t low = 0, high = in->n_markers;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (in->markers[middle].t_ns <= t)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Does the label come within `slack` of the time in which the step happened? */
static bool precedes(const struct mt_verdict_input *in, const char *label,
                     const struct mt_verdict_step *step, int64_t slack)
{
    for (size_t i = marker_after(in, step->after_ns + slack / 2); i > 0; i--) {
        const struct mt_verdict_marker *m = &in->markers[i - 1];

        if (m->t_ns < step->before_ns - slack)
            return false;
        if (strcmp(m->label, label) == 0)
            return true;
    }
    return false;
}

static bool followed(const struct mt_verdict_type *type, int64_t t_ns, int64_t slack)
{
    for (unsigned k = 0; k < type->n_steps; k++)
        if (t_ns >= type->steps[k].before_ns - slack && t_ns <= type->steps[k].after_ns + slack / 2)
            return true;
    return false;
}

/* In a window so wide that chance alone hits as often, neither hits nor misses say anything. */
static double evidence(bool hit, double usual, double chance)
{
    chance = fmax(chance, 1e-4);
    if (chance >= usual)
        return 0;
    return hit ? log(usual / chance) : log((1 - usual) / (1 - chance));
}

/* A step that the label precedes speaks for it by how unlikely that is by chance, one that it does
 * not precede speaks against it. Likewise each time the label came, but weaker: a culprit need not
 * leak every time. */
static double score(const struct mt_verdict_input *in, const struct mt_verdict_type *type,
                    const struct label *label, int64_t slack)
{
    double span = (double)(in->t_ns[in->n - 1] - in->t_ns[0]), sum = 0, covered = 0;

    for (unsigned k = 0; k < type->n_steps; k++) {
        const struct mt_verdict_step *s = &type->steps[k];
        double window = (double)(s->after_ns - s->before_ns) + 1.5 * (double)slack;
        double chance = 1 - exp(-(double)label->count * window / span);

        covered += window / span;
        sum += evidence(precedes(in, label->text, s, slack), STEP_HAS_CULPRIT, chance);
    }
    for (size_t i = 0; i < in->n_markers; i++)
        if (strcmp(in->markers[i].label, label->text) == 0)
            sum += evidence(followed(type, in->markers[i].t_ns, slack), CULPRIT_HAS_STEP, covered);
    return sum;
}

static unsigned list_labels(const struct mt_verdict_input *in, struct label *out)
{
    unsigned n = 0;

    for (size_t i = 0; i < in->n_markers; i++) {
        unsigned k = 0;

        while (k < n && strcmp(out[k].text, in->markers[i].label) != 0)
            k++;
        if (k == n && n < MOST_LABELS)
            out[n++] = (struct label){.text = in->markers[i].label};
        if (k < n)
            out[k].count++;
    }
    return n;
}

static unsigned count_stepless(const struct mt_verdict_input *in,
                               const struct mt_verdict_type *type, const struct label *label,
                               int64_t lag)
{
    unsigned with = 0;

    for (unsigned k = 0; k < type->n_steps; k++)
        with += precedes(in, label->text, &type->steps[k], lag);
    return label->count > with ? label->count - with : 0;
}

/* Small rises that the culprit does not explain are the allocator's, not steps of this leak. */
static void drop_unexplained(const struct mt_verdict_input *in, const char *action, int64_t slack,
                             struct mt_verdict_type *type)
{
    double sum = 0;
    unsigned explained = 0, n = 0;

    for (unsigned k = 0; k < type->n_steps; k++)
        if (precedes(in, action, &type->steps[k], slack)) {
            sum += (double)type->steps[k].bytes;
            explained++;
        }
    for (unsigned k = 0; k < type->n_steps; k++)
        if (precedes(in, action, &type->steps[k], slack) ||
            (double)type->steps[k].bytes * explained > UNEXPLAINED * sum)
            type->steps[n++] = type->steps[k];
    type->n_steps = n;
}

void mt_vd_blame(const struct mt_verdict_input *in, struct mt_verdict *v)
{
    struct mt_verdict_type *type = &v->types[v->type];
    struct label labels[MOST_LABELS];
    unsigned n = list_labels(in, labels);
    int64_t usual = in->n > 1 ? (in->t_ns[in->n - 1] - in->t_ns[0]) / (int64_t)(in->n - 1) : 0;
    int64_t best_slack = 0;
    double best = LEAST_SCORE;

    for (unsigned k = 0; k < n; k++) {
        for (int64_t slack = usual / 2; slack > 0 && slack <= 8 * usual; slack *= 2) {
            double x = score(in, type, &labels[k], slack);

            if (x <= best)
                continue;
            best = x;
            best_slack = slack;
            v->action = labels[k].text;
            v->n_actions = labels[k].count;
            v->n_actions_stepless = count_stepless(in, type, &labels[k], slack);
        }
    }
    if (best > SURE_SCORE)
        drop_unexplained(in, v->action, 2 * best_slack, type);
}
