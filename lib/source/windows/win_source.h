/* SPDX-License-Identifier: MIT */
/* source/windows: what the files of this folder share. The few calls that look into memory are a
 * table, so that tests feed layouts of other systems. */
#ifndef MT_SOURCE_WIN_SOURCE_H
#define MT_SOURCE_WIN_SOURCE_H

#include "base/os/windows/win_api.h"
#include "source/source.h"

#include <psapi.h>

struct win_calls {
    /* VirtualQueryEx: 0 = the end of the address space, or the process may not be looked into. */
    size_t (*query)(void *user, uint64_t address, MEMORY_BASIC_INFORMATION *out);
    /* QueryWorkingSetEx of `n` addresses. */
    bool (*working_set)(void *user, PSAPI_WORKING_SET_EX_INFORMATION *pages, uint32_t n);
    /* GetMappedFileNameW: code units written, 0 = no file. */
    uint32_t (*mapped_name)(void *user, uint64_t address, wchar_t *out, uint32_t units);
    void *user;
};

/* ---- win_names.c: file names of mapped allocations ---- */

#define WIN_N_DRIVES 26
#define WIN_DEVICE_UNITS 128

/* The device behind each drive letter ("\Device\HarddiskVolume3"), empty = no such drive. */
struct win_drives {
    wchar_t device[WIN_N_DRIVES][WIN_DEVICE_UNITS];
};

void win_drives_read(struct win_drives *out);

/* "\Device\HarddiskVolume3\x", "\??\C:\x", "C:\x" → "C:\x"; "\Device\Mup\host\x" → "\\host\x";
 * a device without a letter stays as it is. `name` has room for one unit more than it holds.
 * Returns where the name begins, and its length in `units`. */
const wchar_t *win_name_plain(const struct win_drives *drives, wchar_t *name, uint32_t *units);

struct win_names;
int win_names_new(struct win_names **out);
void win_names_free(struct win_names *n);

/* Asks the system anew from now on. */
void win_names_forget(struct win_names *n);

/* The string id of the file mapped by the allocation at `base`, 0 = none. */
uint32_t win_names_of(struct win_names *n, const struct win_calls *calls, uint64_t base,
                      uint64_t bytes, struct mt_strings *strings);

/* ---- win_walk.c ---- */

/* Fills the snapshot; its bounds are set already. EIO when nothing could be seen. */
int win_walk(const struct win_calls *calls, struct win_names *names, struct mt_snapshot *out);

/* ---- win_count.c ---- */

/* So few that a call ends soon after the deadline. */
#define WIN_BATCH_PAGES 512
#define WIN_OWN_BLOCKS 128

/* Page counts of one of memtracer's own blocks. */
struct win_own_block {
    uint64_t base, end;
    struct mt_pages pages;
};

/* An interval that a deadline broke off. */
struct win_begun {
    uint64_t base;
    uint64_t at; /* what lies below is counted in `pages`; 0 = none was broken off */
    struct mt_pages pages;
    int64_t left_ns;
};

struct win_counting {
    const struct win_calls *calls;
    PSAPI_WORKING_SET_EX_INFORMATION *batch; /* WIN_BATCH_PAGES */
    uint32_t page_bytes;
    uint32_t known; /* kinds of page that this system tells the truth about */
    struct win_own_block own[WIN_OWN_BLOCKS];
    uint32_t n_own;
    int64_t own_ns; /* when the first of them was counted */
    struct win_begun begun;
};

/* Takes over nothing from earlier calls. */
void win_count_forget(struct win_counting *counting);

/* Of an interval that the deadline breaks off the next call counts the rest. */

int win_count(struct win_counting *counting, struct mt_interval *intervals, uint32_t n_intervals,
              uint32_t *next, int64_t deadline_ns);

/* ---- win_counters.c ---- */

typedef LONG(NTAPI *win_next_thread_fn)(HANDLE, HANDLE, ACCESS_MASK, ULONG, ULONG, HANDLE *);

/* NtGetNextThread; NULL = this system has none. Takes the loader's lock: at open only. */
win_next_thread_fn win_find_next_thread(void);

void win_counters_read(HANDLE process, win_next_thread_fn next_thread, struct mt_counters *out);

#endif
