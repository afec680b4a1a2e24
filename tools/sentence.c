/* SPDX-License-Identifier: MIT */
/* tools: a verdict in words that a person agrees with.
 * In: a verdict. Out: one sentence a type, one on the limit, one on restarts.
 * Called by cmd_verdict.c and cmd_check.c. Says nothing that the verdict does not. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "human.h"
#include "judgement.h"

struct text {
    char *out;
    size_t n;
};

static void say(struct text *t, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(t->out + t->n, SENTENCE_BYTES - t->n, format, args);
    va_end(args);
    if (n > 0)
        t->n += (size_t)n < SENTENCE_BYTES - t->n ? (size_t)n : SENTENCE_BYTES - 1 - t->n;
}

static const char *bytes(char *buffer, int64_t n)
{
    human_bytes(buffer, n, false);
    return buffer;
}

static const char *seconds(char *buffer, int64_t ns)
{
    human_duration(buffer, ns);
    return buffer;
}

static void say_since(struct text *t, const tracer_verdict *v, const tracer_type_verdict *y)
{
    char a[HUMAN_BYTES];

    if (y->onset_wall_ns > v->first_wall_ns && y->onset_t_ns >= 1000000)
        say(t, " since %s", seconds(a, y->onset_t_ns));
    else
        say(t, " from the start");
}

/* The unit in which a person would tell it: at least one a unit of time, if any is so long. */
static void say_rate(struct text *t, double bytes_per_s)
{
    static const struct {
        double s;
        const char *name;
    } units[] = {{1, "s"}, {60, "min"}, {3600, "h"}, {86400, "day"}};
    char a[HUMAN_BYTES];
    size_t u = 0;

    while (u < 3 && bytes_per_s * units[u].s < 1 << 20)
        u++;
    say(t, "%s/%s", bytes(a, (int64_t)(bytes_per_s * units[u].s)), units[u].name);
}

static void say_steps(struct text *t, const tracer_verdict *v, const tracer_type_verdict *y,
                      bool chosen)
{
    char a[HUMAN_BYTES], b[HUMAN_BYTES];

    say(t, "grows in steps of %s", bytes(a, y->typical_step_bytes));
    if (chosen && v->action) {
        char label[128];

        snprintf(label, sizeof(label), "%s", v->action);
        say(t, " after \"%s\"", label);
    }
    say(t, ": %" PRIu32 " steps", y->n_steps);
    say_since(t, v, y);
    if (y->typical_interval_ns > 0 && !(chosen && v->action))
        say(t, ", one every %s", seconds(b, y->typical_interval_ns));
}

static void say_growth(struct text *t, const tracer_verdict *v, const tracer_type_verdict *y,
                       bool chosen)
{
    char a[HUMAN_BYTES];

    switch (y->shape) {
    case TRACER_SHAPE_PUNCTUATED: say_steps(t, v, y, chosen); return;
    case TRACER_SHAPE_LINEAR: say(t, "grows steadily by "); break;
    case TRACER_SHAPE_EXPONENTIAL: say(t, "grows ever faster, so far by "); break;
    case TRACER_SHAPE_FRAGMENTATION:
        say(t, "grows with every wave, ever more slowly, so far by ");
        break;
    }
    say_rate(t, y->bytes_per_s);
    say_since(t, v, y);
    say(t, ": %s in all", bytes(a, y->kept_bytes));
    if (y->measure != TRACER_MEASURE_SIZE && y->late_bytes_per_s > 0 &&
        (y->late_bytes_per_s < 0.85 * y->bytes_per_s ||
         y->late_bytes_per_s > 1.2 * y->bytes_per_s)) {
        say(t, ", lately by ");
        say_rate(t, y->late_bytes_per_s);
    }
}

static void say_retention(struct text *t, const tracer_type_verdict *y)
{
    char a[HUMAN_BYTES], b[HUMAN_BYTES];

    human_change(b, y->grew_in_use, false);
    say(t, ", retained by the allocator: its free memory grew by %s, what is in use by %s",
        bytes(a, y->grew_free), b + (y->grew_in_use > 0));
}

static void say_stacks(struct text *t, const tracer_type_verdict *y)
{
    char a[HUMAN_BYTES];

    say(t, ", stacks that stay while the number of threads does not grow");
    if (y->grew_size != TRACER_UNKNOWN && y->grew_size > 2 * y->kept_bytes)
        say(t, "; their address space grew by %s", bytes(a, y->grew_size));
}

static void say_held(struct text *t, const tracer_type_verdict *y)
{
    char a[HUMAN_BYTES];

    if (y->grew_held != TRACER_UNKNOWN && y->grew_held <= y->kept_bytes / 2)
        say(t, ", while held memory stays at %s", bytes(a, y->held_last_bytes));
}

/* Where most of the growth is in use it is not retained; where it is not, and nothing is known of
 * free memory, nobody knows. */
static void say_in_use(struct text *t, const tracer_type_verdict *y)
{
    char a[HUMAN_BYTES];

    if (strcmp(y->type, "heap") != 0 || y->grew_in_use == TRACER_UNKNOWN)
        return;
    human_change(a, y->grew_in_use, false);
    if (y->grew_in_use >= y->kept_bytes / 2)
        say(t, ", not retained by the allocator");
    else
        say(t, ", but what is in use changed by %s", a);
}

static void say_cause(struct text *t, const tracer_type_verdict *y)
{
    switch (y->cause) {
    case TRACER_CAUSE_LIVE:
        say(t, ", kept");
        if (y->measure != TRACER_MEASURE_SIZE)
            say_in_use(t, y);
        return;
    case TRACER_CAUSE_RETENTION: say_retention(t, y); return;
    case TRACER_CAUSE_FILE:
        say(t, ", pages of files that the system takes back when it needs memory: no leak");
        return;
    case TRACER_CAUSE_HUGE_PAGES: say(t, ", huge pages round up what is in use"); return;
    case TRACER_CAUSE_LAZY_FREE:
        say(t, ", given back lazily: the system takes it when it needs memory");
        return;
    case TRACER_CAUSE_STACKS: say_stacks(t, y); return;
    case TRACER_CAUSE_RESERVATION:
        say(t, ", address space only");
        say_held(t, y);
        return;
    case TRACER_CAUSE_REGIONS:
        say(t, ", address space in %" PRId64 " new regions", y->grew_blocks);
        say_held(t, y);
        return;
    }
}

static void say_short(struct text *t, const tracer_type_verdict *y)
{
    char a[HUMAN_BYTES];

    if (y->last_bytes == TRACER_UNKNOWN && y->needed_ns == 0) {
        say(t, "has no values of what is to be judged in this file; to record more cannot help");
        return;
    }
    if (y->likely == TRACER_SHAPE_JUMP)
        say(t, "grew by %s in %" PRIu32 " step%s, too early to say whether it goes on",
            bytes(a, y->kept_bytes > 0 ? y->kept_bytes : y->typical_step_bytes), y->n_steps,
            y->n_steps == 1 ? "" : "s");
    else if (y->likely == TRACER_SHAPE_WARMUP)
        say(t, "grew ever more slowly, too early to say whether it stays");
    else
        say(t, "was seen too briefly to say");
    say(t, "; record %s more", seconds(a, y->needed_ns));
}

static bool stayed(const tracer_type_verdict *y)
{
    return y->shape == TRACER_SHAPE_WARMUP || y->shape == TRACER_SHAPE_JUMP;
}

static void say_quiet(struct text *t, const tracer_type_verdict *y)
{
    char a[HUMAN_BYTES], b[HUMAN_BYTES];

    switch (y->shape) {
    case TRACER_SHAPE_STEADY: say(t, "does not grow"); break;
    case TRACER_SHAPE_SAWTOOTH: say(t, "rises and falls back to the same floor"); break;
    case TRACER_SHAPE_WARMUP: say(t, "grew, then stayed"); break;
    case TRACER_SHAPE_JUMP:
        say(t, "made one step of %s and stayed", bytes(a, y->typical_step_bytes));
        break;
    case TRACER_SHAPE_DIURNAL: say(t, "goes up and down in waves"); break;
    }
    if (y->last_bytes == TRACER_UNKNOWN)
        return;
    if (y->peak_bytes == TRACER_UNKNOWN || y->peak_bytes / 2 <= y->last_bytes)
        say(t, ": %s at the end", bytes(a, y->last_bytes));
    else if (stayed(y) && y->last_bytes <= y->first_bytes)
        say(t, " until it was given back: %s at the peak, %s at the end", bytes(b, y->peak_bytes),
            bytes(a, y->last_bytes));
    else
        say(t, ": %s at the end, %s at the peak, given back", bytes(a, y->last_bytes),
            bytes(b, y->peak_bytes));
}

void sentence_type(const tracer_verdict *v, uint32_t k, char *out)
{
    const tracer_type_verdict *y = v->types[k];
    struct text t = {out, 0};

    say(&t, "%s ", y->type);
    if (y->growing) {
        if (y->measure == TRACER_MEASURE_SIZE)
            say(&t, "(address space) ");
        say_growth(&t, v, y, k == v->type);
        say_cause(&t, y);
    } else if (y->shape == TRACER_SHAPE_TOO_SHORT)
        say_short(&t, y);
    else
        say_quiet(&t, y);
}

void sentence_limit(const tracer_verdict *v, char *out)
{
    char at[HUMAN_BYTES], a[HUMAN_BYTES];
    struct text t = {out, 0};
    int64_t left = v->limit_wall_ns - v->last_wall_ns;

    out[0] = '\0';
    if (v->limit == TRACER_LIMIT_NONE)
        return;
    human_wall(at, v->limit_wall_ns);
    if (v->limit == TRACER_LIMIT_REGIONS)
        snprintf(a, sizeof(a), "%" PRId64 " regions", v->limit_bytes);
    else
        bytes(a, v->limit_bytes);
    say(&t, "%s (%s) ", tracer_limit_name(v->limit), a);
    if (left <= 0)
        say(&t, "is reached");
    else
        say(&t, "will be reached in %s, at %s UTC", seconds(a, left), at);
    if (v->limit == TRACER_LIMIT_CGROUP)
        say(&t,
            ", or sooner: it also counts other processes and files that are read but not mapped");
}

void sentence_restarts(const tracer_verdict *v, char *out)
{
    struct text t = {out, 0};

    out[0] = '\0';
    if (v->hidden_by_restarts)
        say(&t, "restarts hide the growth: it began anew in %" PRIu32 " lives", v->n_lives);
}
