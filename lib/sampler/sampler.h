/* SPDX-License-Identifier: MIT */
/* sampler: the thread that samples, and what api/ and it share.
 *
 * Ownership: `struct tracer` is made and freed by api/; everything behind `work` belongs to the
 * sampler thread alone. What both touch is below "shared" and held by `lock`. */
#ifndef MT_SAMPLER_SAMPLER_H
#define MT_SAMPLER_SAMPLER_H

#include "base/os/os.h"
#include "base/region.h"
#include "claim/claim_symbols.h"
#include "memtracer/memtracer.h"

#define MT_PATH_BYTES 4096
#define MT_LABEL_BYTES 256
#define MT_TYPE_NAME_BYTES 32
#define MT_DESCRIPTION_BYTES 256
#define MT_PROBLEM_BYTES 512
#define MT_MARKS_CAPACITY 1024
#define MT_USER_TYPES (MT_TYPE_CAPACITY - MT_TYPE_USER_FIRST)
#define MT_USER_CLAIMS 4096

struct mt_mark {
    int64_t t_ns;
    int64_t wall_ns;
    uint32_t tid;
    char label[MT_LABEL_BYTES];
};

struct mt_user_type {
    char name[MT_TYPE_NAME_BYTES];
    char description[MT_DESCRIPTION_BYTES];
};

struct mt_user_claim {
    uint64_t base, end;
    uint32_t type;
    char label[MT_LABEL_BYTES];
};

enum mt_phase { MT_PHASE_STARTING, MT_PHASE_RUNNING, MT_PHASE_FAILED, MT_PHASE_FINISHED };

struct mt_work; /* the stages' state, sampler thread only: stages.h */

struct tracer {
    /* set before the thread starts, constant afterwards */
    uint32_t generation;    /* of mt_os_fork_generation(): another one means a forked child */
    tracer_options options; /* defaults filled in; label points to label_text */
    char path[MT_PATH_BYTES];
    char label_text[MT_LABEL_BYTES];
    struct mt_claim_symbols symbols;
    int64_t start_monotonic_ns;
    int64_t start_wall_ns;
    struct mt_os_lock *lock;
    struct mt_os_thread *thread;

    /* shared, under lock */
    enum mt_phase phase;
    int error; /* of start, later the first deferred one */
    char error_detail[MT_PROBLEM_BYTES];
    bool stop_asked, paused;
    uint64_t samples_asked, samples_done;
    uint64_t flushes_asked, flushes_done;
    int flush_result;
    struct mt_mark marks[MT_MARKS_CAPACITY]; /* waiting, oldest first */
    uint32_t n_marks;
    struct mt_user_type types[MT_USER_TYPES];
    uint32_t n_types, n_types_recorded;
    struct mt_user_claim claims[MT_USER_CLAIMS];
    uint32_t n_claims;
    uint32_t claims_number, claims_seen; /* changes of claims so far, and those a look has seen */
    struct mt_counter_words counter_words[MT_USER_COUNTERS]; /* constant once counted */
    uint32_t n_counters;
    struct mt_counters host_counters; /* set by the host, from USER_FIRST on */
    struct mt_levels levels;          /* newest; present 0 = none yet */
    uint32_t levels_flags;
    int64_t levels_t_ns, levels_wall_ns;
    tracer_stats stats;
    uint32_t running_state; /* RECORDING or DEGRADED: what stats.state is but for now */
    char problem[MT_PROBLEM_BYTES];

    /* sampler thread only */
    struct mt_work *work;
    uint32_t problems_logged; /* bits of enum mt_problem */
};

/* Causes that are told once each. */
enum mt_problem {
    MT_PROBLEM_SHARED_DESCRIPTORS,
    MT_PROBLEM_NO_PAGES,
    MT_PROBLEM_SAMPLE_FAILED,
    MT_PROBLEM_TRUNCATED,
    MT_PROBLEM_RECORD,
    MT_PROBLEM_DROPPED,
    MT_PROBLEM_EVENTS_LOST,
    MT_PROBLEM_PROCESS_GONE
};

/* What one tick is asked to do. */
struct mt_tick_request {
    bool explicit_sample; /* full depth, a row of its own */
    uint32_t n_missed;
    uint8_t at_least; /* enum mt_depth: look at least so deep */
};

/* ---- sampler.c ---- */

/* The thread's main function; `user` is a struct tracer. */
void mt_sampler_run(void *user);

/* Keeps a sentence as the newest problem and logs it the first time. Sampler thread only. */
void mt_sampler_problem(struct tracer *t, enum mt_problem which, int level, const char *text);

/* ---- stages.c: the state of the stages, made at start, freed at the end ---- */

int mt_stages_open(struct tracer *t);
int mt_stages_close(struct tracer *t, const char *state, const char *detail);

/* ---- tick.c ---- */

/* One pass: OS memory → regions → owners → types → differences → rows. Returns what the recorder
 * says; what the source says is left in work->source_error. */
int mt_tick(struct tracer *t, const struct mt_tick_request *request);

/* ---- observe.c: the left half of a tick ---- */

struct mt_sample;

/* Fills this tick's intervals and levels; adds to sample->flags, may raise sample->depth. */
int mt_observe(struct tracer *t, struct mt_sample *sample, int64_t begun_ns);

/* ---- counting.c: pages of this tick's intervals, within the budget ---- */

/* Fills pages; may raise sample->depth; PARTIAL = the budget ended first. */
void mt_count_pages(struct tracer *t, struct mt_sample *sample);

/* ---- requests.c: from the shared part to the stages ---- */

/* Writes waiting marks and new types to the recorder. What is not committed yet is remembered. */
int mt_requests_record(struct tracer *t);

/* Forgets what is in the file now; or puts it back to the front of the queue. */
void mt_requests_committed(struct tracer *t);
void mt_requests_rolled_back(struct tracer *t);

/* True when no more can be remembered before a commit. */
bool mt_requests_want_commit(const struct tracer *t);

/* Adds the host's counters to this tick's; last of all, as sources overwrite what is known. */
void mt_requests_count(struct tracer *t);

/* Appends the host's claims to the set. */
void mt_requests_claim(struct tracer *t);

#endif
