/* SPDX-License-Identifier: MIT */
/* record: samples → rows of the file. One recorder is used by one thread (the sampler's), which
 * also opened it. It is the only writer and the only one to checkpoint. Its statements are
 * prepared at open; no SQL is built from strings. */
#ifndef MT_RECORD_RECORDER_H
#define MT_RECORD_RECORDER_H

#include "base/os/os.h"
#include "base/sample.h"
#include "base/strings.h"

struct mt_recorder;

struct mt_run_info {
    const char *label; /* NULL = facts.name */
    uint32_t pid;
    uint32_t interval_ms;
    uint32_t commit_ms;
    uint32_t flags; /* TRACER_F_… */
    uint64_t budget_ns;
    uint64_t max_file_bytes; /* 0 = none */
    int64_t start_monotonic_ns;
    int64_t start_wall_ns;
    const struct mt_os_facts *facts;
};

/* Opens or makes the file and begins a run. `path` is absolute. Checks before any write: EDB (a
 * foreign file, a directory), ESCHEMA, EDENIED, EIO, ESTATE (a live process records into it). */
int mt_recorder_open(const char *path, const struct mt_run_info *info,
                     const struct mt_strings *strings, struct mt_recorder **out);

/* Adds a sample to the open transaction. A sample in which no type, region, module, thread
 * changed against the one before, and without flags or news, extends that one's row (ticks,
 * until_ns).
 * Sets `row` in the sample's new intervals, modules and threads. On failure nothing of the
 * sample is kept and the next one carries the difference. */
int mt_recorder_sample(struct mt_recorder *r, const struct mt_sample *sample);

int mt_recorder_mark(struct mt_recorder *r, int64_t t_ns, int64_t wall_ns, uint32_t tid,
                     const char *label);
int mt_recorder_type(struct mt_recorder *r, uint32_t id, const char *name, const char *description);

/* Keeps a state of the run ("recording", "degraded", …); its sentence joins those before it, each
 * once, so that the end of a run does not take away what it lacked. */
int mt_recorder_state(struct mt_recorder *r, const char *state, const char *detail);

/* What is committed outlives this process; it is synced, so that it outlives the machine, too, once
 * per commit_ms of the run, and no more often than once a second. */
int mt_recorder_commit(struct mt_recorder *r);

/* True while there is nothing to commit but steady ticks of less than a minute: they can wait for
 * the next change, so that a quiet process costs the disk nothing. What is not synced yet does not
 * wait. */
bool mt_recorder_can_wait(const struct mt_recorder *r);

/* Rolls back what cannot be committed, so that a later try can begin anew. */
void mt_recorder_rollback(struct mt_recorder *r);

/* An address among what SQLite allocated for this recorder, for mt_claimer_own_address(). */
uint64_t mt_recorder_own_address(const struct mt_recorder *r);

/* The file with its -wal in bytes, as of the last commit. */
uint64_t mt_recorder_file_bytes(const struct mt_recorder *r);

/* Commits, writes the state, makes one plain file of it, frees. Returns the first error. */
int mt_recorder_close(struct mt_recorder *r, const char *state, const char *detail);

#endif
