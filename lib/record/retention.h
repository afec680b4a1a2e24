/* SPDX-License-Identifier: MIT */
/* record: what keeps a long recording small; see table tier in schema/tables.sql for the rules. */
#ifndef MT_RECORD_RETENTION_H
#define MT_RECORD_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

struct mt_recorder;

#define MT_BUCKET_SAMPLES 512
#define MT_TIERS 6
#define MT_SWEEP_STRINGS 524288

/* A bucket that is being thinned, some gaps a commit. */
struct mt_bucket {
    int64_t run;
    int64_t ids[MT_BUCKET_SAMPLES];
    uint8_t stays[MT_BUCKET_SAMPLES];
    bool asked[MT_BUCKET_SAMPLES]; /* the host asked for this sample */
    int n;                         /* 0 = no bucket is at work */
    int at;                        /* samples before this one are done; it stays */
    int tier;
    int removed;
};

/* What loses its users, in the order in which they lose them. */
enum mt_sweep_of { MT_SWEEP_STACKS, MT_SWEEP_FRAMES, MT_SWEEP_CODES, MT_SWEEP_NAMES, MT_SWEEPS };

/* The search for rows without a user: a window of row numbers at a time. */
struct mt_sweep {
    bool active;
    enum mt_sweep_of what;
    int stage;      /* table that is being read; the last stage deletes */
    int64_t cursor; /* row it has come to */
    int64_t base, top;
    uint64_t used[MT_SWEEP_STRINGS / 64];
};

struct mt_retention {
    int64_t upto[MT_TIERS];   /* newest sample of a tier; [0] unused */
    int64_t n_tier[MT_TIERS]; /* samples in it */
    int64_t keep;             /* setting thin_after_samples */
    int64_t n_marks, keep_marks, mark_after;
    int64_t last_after;         /* the last tier is thinned from here on */
    int64_t last_full;          /* samples in it that cannot become fewer */
    int64_t n_ended;            /* rows of lists removed since the last sweep of names */
    int64_t added, added_marks; /* written since the last commit */
    int64_t added_events;
    int64_t event_first, event_last, keep_events; /* rows of event: from, to; 0 = none */
    int64_t n_events_gone;                        /* since the last sweep of stacks */
    bool wanted[MT_SWEEPS];                       /* sweeps that follow */
    int64_t base[MT_SWEEPS];                      /* where the next window of each begins */
    int64_t free_pages, pages;
    struct mt_bucket bucket;
    struct mt_sweep sweep;
};

/* Reads how far it has come. */
int mt_retention_open(struct mt_recorder *r);

/* Something is to be thinned, or pages to be given back. */
bool mt_retention_due(const struct mt_recorder *r);

/* After a commit, with no transaction open: as many small steps as new samples ask for. */
int mt_retention_after_commit(struct mt_recorder *r);

/* What was written since the last commit is gone. */
void mt_retention_rolled_back(struct mt_recorder *r);

/* One small step, in a transaction of its own. *out_progress: something became less. */
int mt_retention_step(struct mt_recorder *r, bool *out_progress);

/* bucket.c: reads the `n` samples of one run after `after` and picks what stays. */
int mt_thin_load(struct mt_recorder *r, int64_t after, int n);
/* Removes some gaps of the bucket, inside a transaction. */
int mt_thin_some(struct mt_recorder *r);

/* retention_names.c: marks and names, inside a transaction. */
int mt_thin_marks(struct mt_recorder *r, int64_t protect);
/* The oldest threads, modules that ended. */
int mt_thin_ended(struct mt_recorder *r);
int mt_sweep_some(struct mt_recorder *r);
/* A row is used again while a sweep goes on. */
void mt_sweep_note(struct mt_recorder *r, enum mt_sweep_of what, int64_t row);

/* retention_events.c: exact events, inside a transaction. */
int mt_events_open(struct mt_recorder *r);
int64_t mt_events_kept(const struct mt_retention *t);
int mt_thin_events(struct mt_recorder *r);
/* An event was written. */
void mt_events_added(struct mt_recorder *r, int64_t row);

#endif
