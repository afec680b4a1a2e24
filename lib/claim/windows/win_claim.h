/* SPDX-License-Identifier: MIT */
/* claim/windows: what the files of this folder share. Each provider appends to the set. */
#ifndef MT_CLAIM_WIN_CLAIM_H
#define MT_CLAIM_WIN_CLAIM_H

#include "base/os/windows/win_api.h"
#include "claim/claim.h"

#define WIN_HEAPS 1024
#define WIN_HEAP_PARTS 16384

/* An allocation that belongs to the heap `heap`. */
struct win_heap_part {
    uint64_t base, end;
    uint64_t heap; /* the handle */
};

struct win_heaps {
    HANDLE handles[WIN_HEAPS];
    struct win_heap_part parts[2][WIN_HEAP_PARTS]; /* of this collect and the one before */
    uint32_t n_parts[2];
    unsigned now;
};

typedef LONG(NTAPI *win_next_thread_fn)(HANDLE, HANDLE, ACCESS_MASK, ULONG, ULONG, HANDLE *);
typedef HANDLE(WINAPI *win_snapshot_fn)(DWORD flags, DWORD pid);
typedef LONG(NTAPI *win_query_thread_fn)(HANDLE, int, void *, ULONG, ULONG *);

struct mt_claimer {
    struct mt_strings *strings;
    HANDLE process;
    uint32_t pid;
    bool is_self;
    win_next_thread_fn next_thread;   /* NULL = this system has none */
    win_query_thread_fn query_thread; /* the same */
    win_snapshot_fn thread_snapshot;
    struct win_heaps heaps;
};

/* Reads memory of the process; false = not readable. A bad address is no exception here. */
bool win_read(const struct mt_claimer *c, uint64_t address, void *out, size_t bytes);

/* The same for memory that may not have been touched yet: false also when its page is not in the
 * working set, so that reading does not bring it there. `bytes` are within one page. */
bool win_read_resident(const struct mt_claimer *c, uint64_t address, void *out, size_t bytes);

/* ---- win_modules.c ---- */

/* IMAGE claims and the list of modules, from the snapshot alone. */
void win_claim_modules(const struct mt_snapshot *snapshot, struct mt_claim_set *out);

/* ---- win_threads.c ---- */

/* Finds the system's functions. */
void win_threads_open(struct mt_claimer *c);

/* STACK claims with reserve and guard apart, TEBs, the PEB, the list of threads. */
void win_claim_threads(struct mt_claimer *c, const struct mt_snapshot *snapshot,
                       struct mt_claim_set *out);

/* ---- win_heaps.c ---- */

/* HEAP claims. Only for this process. */
void win_claim_heaps(struct mt_claimer *c, const struct mt_snapshot *snapshot,
                     struct mt_claim_set *out);

/* The end of the private allocation that begins at `base`; `base` when there is none. */
uint64_t win_allocation_end(const struct mt_claimer *c, uint64_t base);

#endif
