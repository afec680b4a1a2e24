/* SPDX-License-Identifier: MIT */
/* sampler: the thread. In: the clock and the host's requests. Out: ticks at absolute deadlines.
 * Started and stopped by api/. Must not call the host's code but the log callback, must hold the
 * lock for a few instructions only, must never wait without the stop request being heard. */
#include "sampler/sampler.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sampler/drain.h"
#include "sampler/stages.h"

#define NS_PER_MS INT64_C(1000000)

/* A mark is followed by a sample soon, but a host that marks in a loop must not make the sampler
 * run in one: two samples are at least this part of the interval, 1 ms, and this many times their
 * cost apart. */
#define MARK_SHARE 10
#define MARK_COST_TIMES 20

/* After a failed write the file is tried again at this pace. */
#define RETRY_NS (INT64_C(1000) * NS_PER_MS)

struct pace {
    int64_t interval_ns;
    int64_t due_ns; /* of the next tick of the timer */
    int64_t last_tick_ns;
    int64_t last_cost_ns; /* of that tick */
    int64_t commit_ns;    /* of the next commit, where there is something to commit */
    bool dirty;           /* something was sampled since the last commit */
    uint64_t n_skipped;   /* moments of the timer that passed unused since the last tick */
    int64_t retry_ns;     /* 0 = the file is fine; else not to be written before */
};

/* What the loop takes out of the shared part in one look. */
struct wake {
    bool stop, paused, marked;
    uint64_t samples_asked, flushes_asked;
    bool sample, flush;
    bool claims_changed;
};

/* The file says so, too, once a cause; it tells a later reader what the samples lack. */
static void degrade(struct tracer *t, const char *text)
{
    mt_os_lock_acquire(t->lock);
    t->running_state = TRACER_STATE_DEGRADED;
    if (t->stats.state == TRACER_STATE_RECORDING)
        t->stats.state = TRACER_STATE_DEGRADED;
    mt_os_lock_release(t->lock);
    mt_recorder_state(t->work->recorder, "degraded", text);
}

void mt_sampler_problem(struct tracer *t, enum mt_problem which, int level, const char *text)
{
    bool first = !(t->problems_logged >> which & 1u);
    tracer_log_fn log = t->options.log;

    mt_os_lock_acquire(t->lock);
    snprintf(t->problem, sizeof(t->problem), "%s", text);
    mt_os_lock_release(t->lock);
    t->problems_logged |= 1u << which;
    if (first && level >= TRACER_LOG_WARNING && which != MT_PROBLEM_RECORD)
        degrade(t, text);
    if (first && log)
        log(t->options.log_user, level, text);
}

static void set_state(struct tracer *t, uint32_t state)
{
    mt_os_lock_acquire(t->lock);
    t->stats.state = state;
    mt_os_lock_release(t->lock);
}

static void defer_error(struct tracer *t, int error)
{
    mt_os_lock_acquire(t->lock);
    if (!t->error) {
        t->error = error;
        snprintf(t->error_detail, sizeof(t->error_detail), "%s", mt_error_detail());
    }
    mt_os_lock_release(t->lock);
}

static int64_t mark_due_ns(const struct pace *p)
{
    int64_t apart = p->interval_ns / MARK_SHARE;
    int64_t due_ns;

    if (apart < NS_PER_MS)
        apart = NS_PER_MS;
    if (apart < p->last_cost_ns * MARK_COST_TIMES)
        apart = p->last_cost_ns * MARK_COST_TIMES;
    due_ns = p->last_tick_ns + apart;
    return due_ns > p->retry_ns ? due_ns : p->retry_ns;
}

/* When the loop has something to do if nobody asks; under the lock. */
static int64_t next_deadline(const struct tracer *t, const struct pace *p)
{
    int64_t next = t->paused ? INT64_MAX : p->due_ns;

    if (t->n_marks > 0 && mark_due_ns(p) < next)
        next = mark_due_ns(p);
    if (mt_drain_due_ns(t) < next)
        next = p->retry_ns > mt_drain_due_ns(t) ? p->retry_ns : mt_drain_due_ns(t);
    return p->dirty && p->commit_ns < next ? p->commit_ns : next;
}

static struct wake look_at_requests(struct tracer *t, const struct pace *p)
{
    struct wake w = {.stop = t->stop_asked,
                     .paused = t->paused,
                     .samples_asked = t->samples_asked,
                     .flushes_asked = t->flushes_asked,
                     .claims_changed = t->claims_number != t->claims_seen};

    w.sample = t->samples_asked > t->samples_done;
    w.flush = t->flushes_asked > t->flushes_done;
    w.marked = t->n_marks > 0 && mt_os_monotonic_ns() >= mark_due_ns(p);
    return w;
}

static struct wake wait_for_work(struct tracer *t, const struct pace *p)
{
    struct wake w;

    mt_os_lock_acquire(t->lock);
    while (!t->stop_asked && t->samples_asked == t->samples_done &&
           t->flushes_asked == t->flushes_done && mt_os_monotonic_ns() < next_deadline(t, p))
        mt_os_lock_wait(t->lock, next_deadline(t, p));
    w = look_at_requests(t, p);
    mt_os_lock_release(t->lock);
    return w;
}

/* Ticks whose moment has passed are counted, not made up for: after a suspend of an hour there is
 * one sample, not 3600. */
static uint32_t advance(struct pace *p, int64_t now_ns)
{
    int64_t late = now_ns - p->due_ns;
    int64_t missed = late > 0 ? late / p->interval_ns : 0;

    p->due_ns += (missed + 1) * p->interval_ns;
    return missed > UINT32_MAX ? UINT32_MAX : (uint32_t)missed;
}

/* The file cannot be written: values go on in memory, the file is tried again later. */
static void suspend_writing(struct tracer *t, struct pace *p, int error)
{
    char text[MT_PROBLEM_BYTES];

    defer_error(t, error);
    mt_recorder_rollback(t->work->recorder);
    mt_requests_rolled_back(t);
    snprintf(text, sizeof(text), "recording is suspended and tried again every second: %.400s",
             mt_error_detail());
    mt_sampler_problem(t, MT_PROBLEM_RECORD, TRACER_LOG_ERROR, text);
    set_state(t, TRACER_STATE_SUSPENDED);
    p->retry_ns = mt_os_monotonic_ns() + RETRY_NS;
}

/* The file could not say so at the time. */
static void tell_suspended(struct tracer *t, struct pace *p)
{
    char text[MT_PROBLEM_BYTES];

    snprintf(text, sizeof(text), "recording was suspended for a while: %.400s", t->error_detail);
    mt_recorder_state(t->work->recorder,
                      t->running_state == TRACER_STATE_DEGRADED ? "degraded" : "recording", text);
    p->dirty = true;
}

static int commit(struct tracer *t, struct pace *p)
{
    int error = mt_recorder_commit(t->work->recorder);
    bool again = p->retry_ns != 0;

    if (error) {
        suspend_writing(t, p, error);
        return error;
    }
    mt_requests_committed(t);
    mt_os_lock_acquire(t->lock);
    t->stats.file_bytes = mt_recorder_file_bytes(t->work->recorder);
    if (t->stats.state == TRACER_STATE_SUSPENDED)
        t->stats.state = t->paused ? TRACER_STATE_PAUSED : t->running_state;
    mt_os_lock_release(t->lock);
    p->retry_ns = 0;
    p->dirty = false;
    if (again)
        tell_suspended(t, p);
    return TRACER_OK;
}

/* Marks that found no room are missed by whoever asks "after what?": the file must say so. */
static void tell_dropped(struct tracer *t)
{
    uint64_t n;

    mt_os_lock_acquire(t->lock);
    n = t->stats.n_dropped;
    mt_os_lock_release(t->lock);
    if (n && !(t->problems_logged >> MT_PROBLEM_DROPPED & 1u))
        mt_sampler_problem(t, MT_PROBLEM_DROPPED, TRACER_LOG_WARNING,
                           "marks came faster than they could be written, some are missing; "
                           "mark less often");
}

static bool process_is_gone(const struct tracer *t)
{
    return t->work->source_error == TRACER_ESTATE;
}

/* A claim made while the tick ran is seen by the next one. */
static void claims_are_seen(struct tracer *t)
{
    mt_os_lock_acquire(t->lock);
    t->claims_seen = t->work->claims_number;
    mt_os_lock_release(t->lock);
}

static int drain(struct tracer *t, struct pace *p)
{
    bool any;
    int error = mt_drain(t, &any);

    p->dirty = p->dirty || any;
    return error;
}

/* Exact events go on between the ticks: their ring is no larger than it has to be. */
static int drain_if_due(struct tracer *t, struct pace *p, int64_t now_ns)
{
    int error = TRACER_OK;

    if (now_ns >= mt_drain_due_ns(t) && now_ns >= p->retry_ns)
        error = drain(t, p);
    if (error)
        suspend_writing(t, p, error);
    return error;
}

/* One tick with what waits before it. */
static int record(struct tracer *t, struct pace *p, const struct mt_tick_request *request)
{
    int error = mt_requests_record(t);

    if (!error)
        error = drain(t, p);
    p->last_tick_ns = mt_os_monotonic_ns();
    p->dirty = true;
    tell_dropped(t);
    if (!error)
        error = mt_tick(t, request);
    if (!error && request->at_least && !t->work->source_error)
        claims_are_seen(t);
    p->last_cost_ns = mt_os_monotonic_ns() - p->last_tick_ns;
    if (error)
        suspend_writing(t, p, error);
    return error;
}

static int tick_if_due(struct tracer *t, struct pace *p, const struct wake *w, int64_t now_ns)
{
    struct mt_tick_request request = {.explicit_sample = w->sample,
                                      .at_least = w->claims_changed ? MT_DEPTH_PAGES : 0};
    bool due = !w->paused && now_ns >= p->due_ns;

    if (due)
        p->n_skipped += advance(p, now_ns);
    if (w->sample || ((due || w->marked) && now_ns >= p->retry_ns)) {
        request.n_missed = p->n_skipped > UINT32_MAX ? UINT32_MAX : (uint32_t)p->n_skipped;
        p->n_skipped = 0;
        return record(t, p, &request);
    }
    p->n_skipped += due;
    return TRACER_OK;
}

static int commit_if_due(struct tracer *t, struct pace *p, const struct wake *w, int64_t now_ns)
{
    bool due = p->dirty && (now_ns >= p->commit_ns || mt_requests_want_commit(t));

    if (due)
        p->commit_ns = now_ns + (int64_t)t->options.commit_ms * NS_PER_MS;
    if (w->sample || w->flush)
        return commit(t, p);
    if (due && now_ns >= p->retry_ns && (p->retry_ns || !mt_recorder_can_wait(t->work->recorder)))
        return commit(t, p);
    return TRACER_OK;
}

static void answer(struct tracer *t, const struct wake *w, int error)
{
    mt_os_lock_acquire(t->lock);
    t->samples_done = w->samples_asked;
    t->flushes_done = w->flushes_asked;
    t->flush_result = error;
    if (error)
        snprintf(t->error_detail, sizeof(t->error_detail), "%s", mt_error_detail());
    mt_os_lock_signal_all(t->lock);
    mt_os_lock_release(t->lock);
}

/* True when the loop goes on. */
static bool work_once(struct tracer *t, struct pace *p)
{
    struct wake w = wait_for_work(t, p);
    int64_t now_ns = mt_os_monotonic_ns();
    int error;

    if (w.stop)
        return false;
    error = drain_if_due(t, p, now_ns);
    if (!error)
        error = tick_if_due(t, p, &w, now_ns);
    if (!error)
        error = commit_if_due(t, p, &w, now_ns);
    if (!error && w.sample)
        error = t->work->source_error;
    if (w.sample || w.flush)
        answer(t, &w, error);
    return !process_is_gone(t);
}

static void run_loop(struct tracer *t)
{
    struct pace p = {.interval_ns = (int64_t)t->options.interval_ms * NS_PER_MS};
    const struct mt_tick_request full = {.explicit_sample = true};
    int error = record(t, &p, &full);

    if (!error)
        commit(t, &p);
    p.due_ns = t->start_monotonic_ns + p.interval_ns;
    p.commit_ns = p.last_tick_ns + (int64_t)t->options.commit_ms * NS_PER_MS;
    while (!process_is_gone(t) && work_once(t, &p))
        ;
    if (!process_is_gone(t) && record(t, &p, &full))
        record(t, &p, &full); /* what was begun and lost is no reason to end without it */
    if (p.retry_ns)           /* the end may be written, what the last tries lost is lost */
        tell_suspended(t, &p);
}

static void enter_phase(struct tracer *t, enum mt_phase phase, int error)
{
    mt_os_lock_acquire(t->lock);
    t->phase = phase;
    if (error && !t->error) {
        t->error = error;
        snprintf(t->error_detail, sizeof(t->error_detail), "%s", mt_error_detail());
    }
    if (phase != MT_PHASE_RUNNING) {
        t->samples_done = t->samples_asked;
        t->flushes_done = t->flushes_asked;
        t->flush_result = TRACER_ESTATE;
        t->stats.state = TRACER_STATE_ENDED;
    } else {
        t->running_state = TRACER_STATE_RECORDING;
        t->stats.state = TRACER_STATE_RECORDING;
    }
    mt_os_lock_signal_all(t->lock);
    mt_os_lock_release(t->lock);
}

void mt_sampler_run(void *user)
{
    struct tracer *t = user;
    bool own = mt_os_thread_own_descriptors();
    int error = mt_stages_open(t);
    char detail[96] = "";
    uint64_t n_dropped;
    bool ended;

    if (error) {
        mt_stages_close(t, "ended", "");
        enter_phase(t, MT_PHASE_FAILED, error);
        return;
    }
    enter_phase(t, MT_PHASE_RUNNING, TRACER_OK);
    if (!own)
        mt_sampler_problem(t, MT_PROBLEM_SHARED_DESCRIPTORS, TRACER_LOG_WARNING,
                           "this system gives the sampler no descriptor table of its own: a host "
                           "that closes descriptors it does not know ends the recording");
    run_loop(t);
    mt_os_lock_acquire(t->lock);
    ended = !t->stop_asked;
    n_dropped = t->stats.n_dropped;
    mt_os_lock_release(t->lock);
    if (n_dropped)
        snprintf(detail, sizeof(detail), "%" PRIu64 " marks are missing: they came too fast",
                 n_dropped);
    else if (ended)
        snprintf(detail, sizeof(detail), "the watched process ended");
    error = mt_stages_close(t, ended ? "ended" : "stopped", detail);
    enter_phase(t, MT_PHASE_FINISHED, error);
}
