/* SPDX-License-Identifier: MIT */
/* claim: who owns which range. Each provider is one file that appends claims to the set; the
 * order does not matter, rank decides. Nothing here faults a page in or takes a lock of the
 * host's: memory is read by process_vm_readv from pages that are resident. */
#ifndef MT_CLAIM_CLAIM_H
#define MT_CLAIM_CLAIM_H

#include "base/region.h"
#include "base/snapshot.h"
#include "claim/claim_symbols.h"

struct mt_claim_set {
    struct mt_claim *claims;
    uint32_t n_claims, claim_capacity;
    struct mt_module *modules; /* sorted by base */
    uint32_t n_modules, module_capacity;
    struct mt_thread *threads; /* sorted by tid */
    uint32_t n_threads, thread_capacity;
    bool truncated;      /* something did not fit */
    bool partial;        /* the deadline left something for the next collection */
    bool wants_flags;    /* whose a new mapping is hangs on flags that were not listed */
    int64_t deadline_ns; /* set by the caller (monotonic, 0 = none): what is new and many may be
                            examined in several collections */
};

/* Room for one set. */
int mt_claim_set_init(struct mt_claim_set *out, uint32_t claims, uint32_t modules,
                      uint32_t threads);
void mt_claim_set_release(struct mt_claim_set *set);

/* Makes room for more of each; what is in the set stays. False = not all could grow. */
bool mt_claim_set_grow(struct mt_claim_set *set, uint32_t claims, uint32_t modules,
                       uint32_t threads);

/* Appends; sets `truncated` when full. Empty ranges are dropped. */
void mt_claim_add(struct mt_claim_set *set, const struct mt_claim *claim);

struct mt_claimer; /* the providers of this OS for one process, with what they remember */

/* pid 0 = this process, of which `symbols` are. Called in the sampler thread. Never fails for lack
 * of knowledge: what cannot be known is not claimed. */
int mt_claimer_open(uint32_t pid, const struct mt_claim_symbols *symbols,
                    struct mt_strings *strings, struct mt_claimer **out);
void mt_claimer_close(struct mt_claimer *c);

/* Empties the set and fills it anew for this snapshot. */
int mt_claimer_collect(struct mt_claimer *c, const struct mt_snapshot *snapshot,
                       struct mt_claim_set *out);

/* Tells of one address that a library of the tracer's (SQLite) got from the host's allocator in
 * this thread. Where that allocator keeps this thread's memory apart, it becomes TRACER. */
void mt_claimer_own_address(struct mt_claimer *c, uint64_t address);

/* Who serves malloc in the process, as far as is known by now: "glibc", "jemalloc" …; "" =
 * unknown, as of another process before the first collection. A constant: it needs no copy. */
const char *mt_claimer_allocator(const struct mt_claimer *c);

/* Adds the allocator's own counters (HEAP_…) that are known; may take the allocator's locks, so
 * it is called rarely. Only for this process. */
void mt_claimer_counters(struct mt_claimer *c, struct mt_counters *inout);

/* Finds out of the data of images which of their anonymous pages the loader relocated and which
 * were written: sets `explained`, `relocated`, `written` of those it could tell. The intervals are
 * those of the last collection, by address, with their page counts. Reads files, so it is called
 * rarely. What the deadline (monotonic, 0 = none) leaves out comes first in the next call. */
void mt_claimer_explain(struct mt_claimer *c, struct mt_interval *intervals, uint32_t n,
                        int64_t deadline_ns);

/* Claims the blocks of mt_memory as TRACER. */
void mt_claim_own(struct mt_claim_set *set, struct mt_strings *strings);

#endif
