/* SPDX-License-Identifier: MIT */
/* The list of mappings, brought up to date without being read. Not thread-safe. */
#ifndef MT_SOURCE_LINUX_FOLLOW_H
#define MT_SOURCE_LINUX_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/snapshot.h"

/* What status says about the mappings of a process, in bytes but for THREADS. */
enum mt_size {
    MT_SIZE_ALL,     /* VmSize */
    MT_SIZE_DATA,    /* VmData: private and writable */
    MT_SIZE_STACK,   /* VmStk: mappings that grow down */
    MT_SIZE_PROGRAM, /* VmExe: between the ends of the program's own code */
    MT_SIZE_CODE,    /* VmLib: the rest of what is executable and not writable */
    MT_SIZE_LOCKED,  /* VmLck */
    MT_SIZE_THREADS, /* Threads */
    MT_SIZE_COUNT
};

struct mt_sizes {
    uint32_t known;
    uint64_t value[MT_SIZE_COUNT];
};

/* One line of status: adds what it knows. */
void mt_sizes_line(const char *line, size_t n_bytes, struct mt_sizes *out);

struct mt_list_text;

struct mt_follow {
    struct mt_sizes now;            /* when the counters were read last */
    struct mt_sizes then;           /* when `list` was right */
    const struct mt_snapshot *list; /* NULL = none may be followed */
    bool sure;                      /* `now` was read again behind it, and was `then` */
};

/* `list` was read whole, from `begun_ns` (monotonic) on, and took `cost_ns` of CPU time: until when
 * it may be followed is told in it. */
void mt_follow_begin(struct mt_follow *f, struct mt_snapshot *list, int64_t begun_ns,
                     int64_t cost_ns);

/* The counters were read. */
void mt_follow_sizes(struct mt_follow *f, const struct mt_sizes *sizes);

/* Brings `list` to what the sizes say now: as it was, or with one mapping that was made, grew,
 * shrank or went; `text` goes with it, line by line. False: that does not account for the sizes,
 * or too much time has passed; the list is to be read, and is as it was. `scratch` is for one
 * line. */
bool mt_follow_list(struct mt_follow *f, int maps, struct mt_snapshot *list,
                    struct mt_list_text *text, char *scratch, size_t scratch_bytes);

#endif
