/* SPDX-License-Identifier: MIT */
/* tests: calls that fail by their number. Stands before the C library's functions, and, where a
 * program is linked with the --wrap options of meson.build, before those of SQLite and of memory.
 */
#ifndef TESTS_FAULT_FAULTS_H
#define TESTS_FAULT_FAULTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_kind {
    FAULT_MEMORY,        /* malloc() and its family, pages: of the program and the library */
    FAULT_SQLITE_MEMORY, /* what SQLite takes */
    FAULT_READ,          /* open(), fopen(), read(), a folder's names, another process's memory:
                            EIO, or EMFILE for what opens */
    FAULT_WRITE,         /* write(), truncate(), sync(), rename(), mkdir(), stdout: ENOSPC */
    FAULT_CALL,          /* ioctl(), pipe(), fork(), execv(), a thread */
    FAULT_KINDS
};

#define FAULT_CALLS_MOST 65536

/* What was counted in this process. */
struct faults {
    atomic_uint passed[FAULT_KINDS]; /* calls that came by */
    atomic_int live;                 /* blocks of malloc() that were not freed */
    /* Of each call into SQLite that allocates: the number of its first allocation. */
    uint32_t sqlite_first[FAULT_CALLS_MOST];
    uint32_t n_sqlite_first;
};

extern struct faults faults;

/* Before SQLite is used for the first time. */
void faults_install(void);

struct fault {
    enum fault_kind kind;
    unsigned n;    /* the n-th call of that kind, from 1; 0 = none */
    bool stays;    /* and all after it */
    bool in_child; /* counted, from 1, in what the command forks; in the command none fails */
};

/* Where a child of the command writes what was counted in it when it becomes a program. */
extern struct faults *faults_of_child;

/* From now on calls are counted, and the one of `f` fails. stdout is kept in memory. */
void faults_begin(const struct fault *f);
void faults_end(void);

/* The same, but no call fails: instead `split` is asked at each call. Where it answers true, that
 * call fails, as `f` says by then, and `split` is not asked again: it has made a child. */
void faults_explore(bool (*split)(struct fault *f));

/* What was written to stdout. */
#define FAULT_OUT_BYTES (1u << 20)
size_t faults_output(const char **out);

#endif
