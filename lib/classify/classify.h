/* SPDX-License-Identifier: MIT */
/* classify: regions and claims → typed intervals → totals and changes.
 * Pure: no OS, no clock, no SQLite, no allocation; tested on values. */
#ifndef MT_CLASSIFY_CLASSIFY_H
#define MT_CLASSIFY_CLASSIFY_H

#include "base/region.h"
#include "base/sample.h"
#include "base/snapshot.h"

/* ---- rules.c: what a region is when nobody claims it ---- */

struct mt_rule_answer {
    uint8_t type;
    char confidence;
    uint32_t claim_flags; /* MT_CLAIM_RESERVED, MT_CLAIM_GUARD */
};

/* Lets the names that rules go by keep their beginnings when there are too many names. */
void mt_rules_keep_kinds(struct mt_strings *strings);

/* By name, flags, protection and the neighbours of region `i`. */
struct mt_rule_answer mt_rules_apply(const struct mt_snapshot *snapshot, uint32_t i);

/* ---- overlay.c ---- */

struct mt_interval_list {
    struct mt_interval *items; /* sorted, not overlapping */
    uint32_t n, capacity;
    bool truncated; /* did not fit: the rest of each region went to its last interval */
};

int mt_interval_list_init(struct mt_interval_list *out, uint32_t capacity);
void mt_interval_list_release(struct mt_interval_list *l);
/* Makes room for more; what is in the list stays. False = no memory, nothing changed. */
bool mt_interval_list_grow(struct mt_interval_list *l, uint32_t capacity);

/* Cuts regions by claims; the highest rank wins. Every byte of every region but those outside the
 * user's address space is in exactly one interval. Page counts of a region that stays whole are
 * copied; pieces of a cut region have known = 0. `scratch` has room for 2 * n_claims. */
void mt_classify_overlay(const struct mt_snapshot *snapshot, const struct mt_claim *claims,
                         uint32_t n_claims, uint32_t *scratch, struct mt_interval_list *out);

/* Gives to the pieces of cut regions what only the whole region knows (PSS, LOCKED …), and lets
 * Σ pieces = region wherever both are known: the piece with most resident bytes takes the rest. */
void mt_classify_settle(const struct mt_snapshot *snapshot, struct mt_interval_list *list);

/* ---- totals.c ---- */

/* Sums intervals into levels per type. Adds PAGE_TABLE from the counters and FREE from the holes.
 * Returns MT_SAMPLE_SUM_OFF when types and regions disagree, else 0. */
uint32_t mt_classify_totals(const struct mt_snapshot *snapshot, const struct mt_interval_list *list,
                            const struct mt_counters *counters, struct mt_levels *out);

/* ---- diff.c ---- */

struct mt_change_list {
    int64_t *ended; /* rows that ended, room for `capacity` */
    uint32_t n_ended;
    int64_t *merged; /* rows that ended, whose memory is part of rows that continue others */
    uint32_t n_merged;
    int64_t *continued; /* per interval of the new list: the row it continues, 0 = none */
    uint32_t n_new;     /* intervals with row 0 */
    uint32_t capacity;
};

int mt_change_list_init(struct mt_change_list *out, uint32_t capacity);
void mt_change_list_release(struct mt_change_list *l);
/* Makes room for more and forgets what was in it. False = no memory, nothing changed. */
bool mt_change_list_grow(struct mt_change_list *l, uint32_t capacity);

/* Matches the intervals of two moments by the addresses that they share, within the same file, or
 * the same type of private memory. Unchanged ones inherit `row`; grown, shrunk, re-protected, cut
 * and joined ones get `continued`, and `change` where the row they continue does not tell it. */
void mt_classify_diff(const struct mt_interval_list *before, struct mt_interval_list *after,
                      struct mt_change_list *out);

/* The same for modules (by base, path, build id) and threads (by tid, start, stack). */
uint32_t mt_classify_diff_modules(const struct mt_module *before, uint32_t n_before,
                                  struct mt_module *after, uint32_t n_after, int64_t *ended);
uint32_t mt_classify_diff_threads(const struct mt_thread *before, uint32_t n_before,
                                  struct mt_thread *after, uint32_t n_after, int64_t *ended);

enum mt_carry {
    MT_CARRY_HINTS, /* nothing is known by it: the bytes are for who counts, to compare with */
    MT_CARRY_FRESH, /* what was counted in time; hints of the rest */
    MT_CARRY_ALL    /* what was old already as well, and all is marked stale: to be counted anew */
};

/* Takes over page counts of intervals that did not change at all from `before`, where they are not
 * known yet. */
void mt_classify_carry(const struct mt_interval_list *before, struct mt_interval_list *after,
                       enum mt_carry how);

/* After counting: intervals that did not change in shape but in their pages are restless until they
 * were counted some times without a difference. */
void mt_classify_note_restless(const struct mt_interval_list *before,
                               struct mt_interval_list *after);

/* Takes over from `before` the columns that only the deepest look knows (charged, pss, locked …),
 * or all columns, where `after` does not know them. */
void mt_classify_carry_levels(const struct mt_levels *before, struct mt_levels *after, bool all);

#endif
