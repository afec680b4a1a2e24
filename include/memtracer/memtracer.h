/* SPDX-License-Identifier: MIT */
/* memtracer: which kind of memory does this process hold, and when did it grow?
 *
 *     tracer *t;
 *     tracer_start("app.db", NULL, &t);
 *     ...
 *     tracer_stop(t);
 *
 * A thread of its own samples the address space on a timer, attributes every page to a memory
 * type, and appends what changed to an SQLite file. The file is described in memtracer(7).
 *
 * Common to all functions, where they do not say otherwise:
 * - They return 0 (TRACER_OK) or a negative TRACER_E… code, and set outputs on success only.
 *   tracer_strerror() words the code, tracer_last_error() tells what exactly failed.
 * - They may be called from any thread, but not from a signal handler and not from the log
 *   callback. Two threads may use one tracer at the same time; nobody may use it while or after
 *   tracer_stop() runs.
 * - In a child made by fork() a tracer is inert: every function returns TRACER_ESTATE at once,
 *   takes no lock and touches no file; tracer_stop() frees nothing and returns TRACER_OK. The
 *   child may tracer_start() its own, on another path. A fork() waits for the sampler to leave
 *   SQLite, 20 ms at most.
 * - The sampler is a thread like any other to the C library and the kernel: unshare(CLONE_NEWUSER)
 *   is refused while it lives, and where one thread alone was given other capabilities (capset,
 *   PR_SET_KEEPCAPS) a later setgroups() or setuid() that the others may not do ends the process.
 *   Start after such calls, or stop before. A process whose last own thread ended ends at the next
 *   tick.
 * - Strings are UTF-8 or, on Linux, any bytes; they are copied before the call returns.
 * - Sizes are in bytes, times in nanoseconds unless the name says otherwise.
 */
#ifndef MEMTRACER_MEMTRACER_H
#define MEMTRACER_MEMTRACER_H

#include <stddef.h>
#include <stdint.h>

#include "memtracer/version.h"

#if defined(_WIN32) && defined(TRACER_BUILD_SHARED)
#define TRACER_API __declspec(dllexport)
#elif defined(__GNUC__)
#define TRACER_API __attribute__((visibility("default")))
#else
#define TRACER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors: values are never reused -------------------------------------------------- */

#define TRACER_OK 0
#define TRACER_EINVAL (-1)       /* an argument is wrong; the detail names it */
#define TRACER_ENOMEM (-2)       /* no memory, or no address space */
#define TRACER_EIO (-3)          /* a file or kernel interface failed */
#define TRACER_EDB (-4)          /* SQLite failed, or the file is not a memtracer file */
#define TRACER_ESCHEMA (-5)      /* the file was written by a newer memtracer */
#define TRACER_EUNSUPPORTED (-6) /* this platform cannot do it */
#define TRACER_EDENIED (-7)      /* permission refused */
#define TRACER_ESTATE (-8)       /* stopped, forked child, or already in use */
#define TRACER_ETHREAD (-9)      /* the sampler thread could not be started */
#define TRACER_ELIMIT (-10)      /* a documented limit was reached */
#define TRACER_EVERSION (-11)    /* options carry non-zero fields this build does not know */
#define TRACER_EOVERLAP (-12)    /* runs overlap in time where one run must be named */

/* ---- memory types: the rows ------------------------------------------------------------ */

#define TRACER_TYPE_IMAGE 1u        /* programs and libraries, as the loader mapped them */
#define TRACER_TYPE_MAPPED_FILE 2u  /* other mapped files */
#define TRACER_TYPE_SHAREABLE 3u    /* shared memory without a file on disk */
#define TRACER_TYPE_HEAP 4u         /* malloc's memory, used and kept */
#define TRACER_TYPE_MANAGED_HEAP 5u /* garbage-collected heaps and JIT code */
#define TRACER_TYPE_STACK 6u        /* thread stacks with their guard pages */
#define TRACER_TYPE_PRIVATE 7u      /* private memory that nobody claimed */
#define TRACER_TYPE_DEVICE 8u       /* device windows and rings shared with the kernel */
#define TRACER_TYPE_PAGE_TABLE 9u   /* the kernel's page tables for this process */
#define TRACER_TYPE_UNUSABLE 10u    /* address space lost: guards of unknown owner, gaps */
#define TRACER_TYPE_FREE 11u        /* address space that is not mapped */
#define TRACER_TYPE_TRACER 12u      /* memtracer's own memory */
#define TRACER_TYPE_USER_FIRST 32u  /* first type of tracer_type_add() */
#define TRACER_TYPE_CAPACITY 64u    /* types are below this */

/* ---- options --------------------------------------------------------------------------- */

typedef struct tracer tracer; /* opaque */

#define TRACER_LOG_INFO 0
#define TRACER_LOG_WARNING 1
#define TRACER_LOG_ERROR 2

/* Called by the sampler thread, never under a lock, at most once per cause. `message` is one line
 * without a newline, valid during the call. It must not call tracer functions. That thread has a
 * descriptor table of its own (Linux): none of the host's descriptors is open in it, standard
 * error included; keep the message and write it elsewhere, or poll tracer_last_problem(). */
typedef void (*tracer_log_fn)(void *user, int level, const char *message);

#define TRACER_F_NO_REGIONS 1u   /* do not record the region list (and so no memory events) */
#define TRACER_F_NO_PAGES 2u     /* never walk pages: sizes only, resident columns are NULL */
#define TRACER_F_NO_ALLOCATOR 4u /* never ask the allocator for its own counters */
#define TRACER_F_STACKS                                                                            \
    8u                   /* record each call that changes memory, with its stack: see              \
                            stack_min_bytes; needs libmemtracer-stacks in the process,             \
                            linked before the C library or preloaded, else EUNSUPPORTED */
#define TRACER_F_ALL 15u /* every flag this version knows */

/* All zero means all defaults. Grows at the end only; see tracer_options_init(). */
typedef struct tracer_options {
    uint32_t size;        /* sizeof(tracer_options); always first */
    uint32_t flags;       /* TRACER_F_…; unknown bits are refused */
    uint32_t interval_ms; /* between ticks, 1 to 3,600,000; 0 = 1000 */
    uint32_t commit_ms;   /* the most that a crash may lose, up to 3,600,000; 0 = 1000 */
    uint64_t budget_ns; /* time for counting pages in a tick, ≤ 1 h; 0 = 1 % of interval, ≥ 1 ms */
    uint64_t max_file_bytes;  /* cap of the file, at least 1 MiB; 0 = none */
    tracer_log_fn log;        /* NULL = silent */
    void *log_user;           /* handed to log */
    const char *label;        /* names the run in the file; NULL = program name */
    uint32_t pid;             /* 0 = this process; else another one, watched from outside */
    uint32_t reserved;        /* 0 */
    uint64_t stack_min_bytes; /* TRACER_F_STACKS: least malloc() that counts; 0 = 128 KiB */
} tracer_options;

#define TRACER_OPTIONS_INIT                                                                        \
    {                                                                                              \
        sizeof(tracer_options), 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0                           \
    }

/* ---- what the tracer knows ------------------------------------------------------------- */

/* The states (columns) of one type, in bytes unless said. `known` has bit TRACER_COLUMN_x set
 * where the column's value is known; elsewhere the value is 0 and means nothing. */
typedef struct tracer_type_bytes {
    uint32_t type;  /* TRACER_TYPE_… or a user type */
    uint32_t known; /* bits 1u << TRACER_COLUMN_… */
    uint64_t size_bytes;
    uint64_t committed_bytes;
    uint64_t charged_bytes;
    uint64_t private_bytes;
    uint64_t ws_bytes;
    uint64_t ws_private_bytes;
    uint64_t ws_shareable_bytes;
    uint64_t ws_shared_bytes;
    uint64_t pss_bytes;
    uint64_t swap_bytes;
    uint64_t locked_bytes;
    uint64_t huge_bytes;
    uint64_t lazy_free_bytes;
    uint64_t n_blocks; /* a count */
    uint64_t largest_bytes;
} tracer_type_bytes;

#define TRACER_COLUMN_SIZE 0
#define TRACER_COLUMN_COMMITTED 1
#define TRACER_COLUMN_CHARGED 2
#define TRACER_COLUMN_PRIVATE 3
#define TRACER_COLUMN_WS 4
#define TRACER_COLUMN_WS_PRIVATE 5
#define TRACER_COLUMN_WS_SHAREABLE 6
#define TRACER_COLUMN_WS_SHARED 7
#define TRACER_COLUMN_PSS 8
#define TRACER_COLUMN_SWAP 9
#define TRACER_COLUMN_LOCKED 10
#define TRACER_COLUMN_HUGE 11
#define TRACER_COLUMN_LAZY_FREE 12
#define TRACER_COLUMN_BLOCKS 13
#define TRACER_COLUMN_LARGEST 14

typedef struct tracer_totals {
    uint32_t size;            /* in: sizeof(tracer_totals) */
    uint32_t capacity;        /* in: how many elements `types` holds */
    uint32_t n_types;         /* out: how many were written, in order of type */
    uint32_t flags;           /* out: the sample's flags, see memtracer(7) */
    int64_t t_ns;             /* out: monotonic time since the run's start */
    int64_t wall_ns;          /* out: wall clock, since 1970 */
    tracer_type_bytes *types; /* in: the caller's array */
} tracer_totals;

typedef struct tracer_stats {
    uint32_t size;            /* in: sizeof(tracer_stats) */
    uint32_t state;           /* TRACER_STATE_… */
    uint64_t n_ticks;         /* ticks done, explicit samples included */
    uint64_t n_missed;        /* ticks whose moment passed while another was running */
    uint64_t n_failed;        /* ticks that saw nothing */
    uint64_t cost_wall_ns;    /* time spent in ticks */
    uint64_t cost_cpu_ns;     /* CPU time of the sampler thread, user + system */
    uint64_t longest_tick_ns; /* the longest tick, wall time */
    uint64_t own_bytes;       /* address space reserved by the tracer, little of it touched; type
                                 TRACER has what is resident. Without SQLite's */
    uint64_t file_bytes;      /* the file with its -wal, at the last commit; 0 = none yet */
    uint64_t n_dropped;       /* marks and rows that could not be kept */
} tracer_stats;

#define TRACER_STATE_RECORDING 1u
#define TRACER_STATE_PAUSED 2u
#define TRACER_STATE_DEGRADED 3u  /* goes on with less; tracer_last_problem() says what */
#define TRACER_STATE_SUSPENDED 4u /* the file cannot be written for now; values go on */
#define TRACER_STATE_ENDED 5u     /* the watched process is gone, or recording had to end */

/* ---- life ------------------------------------------------------------------------------ */

/* Starts a sampler thread that records into the file `path`.
 *
 * A missing file is made (mode 0600, its directory must exist); a memtracer file gets a new run;
 * any other file is refused untouched with TRACER_EDB, a newer one with TRACER_ESCHEMA. `%p` in
 * `path` becomes the process id, `%%` a percent sign; other `%` are refused. One live process
 * records into one file: a second start on it gives TRACER_ESTATE.
 * `options` NULL means defaults. `*out` is set on success only.
 * Returns once the file is open and the thread runs; the first sample follows at once but is
 * not waited for. It may be called while a library is being loaded (by its constructor). Errors:
 * EINVAL, ENOMEM, EIO, EDB, ESCHEMA, EUNSUPPORTED, EDENIED, ESTATE, ETHREAD, ELIMIT (64 tracers in
 * a process, or no descriptor left), EVERSION. Since 0.1. */
TRACER_API int tracer_start(const char *path, const tracer_options *options, tracer **out);

/* Takes a last sample, commits, turns the file into one plain file (unless a reader has it open:
 * then its -wal stays beside it until `memtracer finish`), ends the thread and frees `t`. NULL is
 * fine. Returns the first error that recording met since start, the file being as
 * complete as it could be made. A dead or stuck sampler is waited for 10 seconds at most.
 * Stopping one tracer twice is an error of the caller that is found while the process remembers
 * the tracer: TRACER_ESTATE. Since 0.1. */
TRACER_API int tracer_stop(tracer *t);

/* ---- control --------------------------------------------------------------------------- */

/* Takes one full sample now and commits it before returning. Waits for the sampler thread.
 * Since 0.1. */
TRACER_API int tracer_sample(tracer *t);

/* Commits what has been sampled. Since 0.1. */
TRACER_API int tracer_flush(tracer *t);

/* Stops the timer; marks and tracer_sample() go on working. Pausing twice is fine. Since 0.1. */
TRACER_API int tracer_pause(tracer *t);

/* Starts the timer again. Resuming what was not paused is fine. Since 0.1. */
TRACER_API int tracer_resume(tracer *t);

/* ---- what the program knows ------------------------------------------------------------ */

/* Notes that something happened now: "command 1", "reload", "cache filled". Never waits for a
 * sample or the file; a sample follows soon. `label` is cut at 255 bytes, before a character of
 * UTF-8 that would be split; NULL or empty is EINVAL. At most 1024 marks wait for the sampler; more
 * give ELIMIT and are counted. Since 0.1. */
TRACER_API int tracer_mark(tracer *t, const char *label);

/* Adds a memory type of the program's own, or finds the one of that name. `name` is 1 to 31
 * bytes of [a-z0-9_], not a built-in name; `description` may be NULL. At most 32 in a tracer,
 * then ELIMIT. Since 0.1. */
TRACER_API int tracer_type_add(tracer *t, const char *name, const char *description,
                               uint32_t *out_type);

/* From the next tick on the range belongs to `type` (any but PAGE_TABLE, FREE, UNUSABLE, TRACER)
 * with confidence A, until unclaimed. A later claim wins over an earlier one where both cover.
 * `addr` and `bytes` need no alignment; a page belongs to the claim that covers its first byte.
 * `label` names the owner, NULL = the type's name. At most 4096 claims, then ELIMIT.
 * Since 0.1. */
TRACER_API int tracer_claim(tracer *t, const void *addr, size_t bytes, uint32_t type,
                            const char *label);

/* Takes back every claim that lies wholly inside the range; EINVAL when there is none.
 * Since 0.1. */
TRACER_API int tracer_unclaim(tracer *t, const void *addr, size_t bytes);

/* Adds a counter of the program's own (what a runtime says of its heap, entries of a cache), or
 * finds the one of that name. `name` is 1 to 31 bytes of [a-z0-9_], not a name of table
 * counter_kind that memtracer brings; `unit` the same ("bytes", "ns"), NULL = "count";
 * `description` may be NULL. At most 24 in a tracer, then ELIMIT. Since 0.1. */
TRACER_API int tracer_counter_add(tracer *t, const char *name, const char *unit,
                                  const char *description, uint32_t *out_counter);

/* Sets a counter as of now: the next sample stores it when it has changed. Never waits for a sample
 * or the file. EINVAL for a number that tracer_counter_add() did not give. Since 0.1. */
TRACER_API int tracer_counter_set(tracer *t, uint32_t counter, int64_t value);

/* ---- what the tracer knows ------------------------------------------------------------- */

/* The newest bytes per type, without SQL and without a new sample; ESTATE before the first
 * sample. Writes at most `capacity` types. Since 0.1. */
TRACER_API int tracer_get_totals(tracer *t, tracer_totals *totals);

/* What the tracer itself did and cost. Since 0.1. */
TRACER_API int tracer_get_stats(tracer *t, tracer_stats *stats);

/* Copies the newest problem in one sentence that says what to do, empty when there was none.
 * Since 0.1. */
TRACER_API int tracer_last_problem(tracer *t, char *text, size_t text_bytes);

/* ---- words; need no tracer, may be called anywhere, also in a forked child --------------- */

/* The name of a built-in type ("heap"), NULL for others. Since 0.1. */
TRACER_API const char *tracer_type_name(uint32_t type);

/* One sentence about an error code; never NULL. Since 0.1. */
TRACER_API const char *tracer_strerror(int code);

/* "TRACER_EINVAL" for −1 and so on; NULL for a code that is none. Since 0.1. */
TRACER_API const char *tracer_error_name(int code);

/* The detail of this thread's last failed call: names the thing and the way out. Never NULL,
 * empty before the first failure; valid until the thread's next failed call. Since 0.1. */
TRACER_API const char *tracer_last_error(void);

/* TRACER_VERSION and TRACER_VERSION_STRING of the library at run time. Since 0.1. */
TRACER_API uint32_t tracer_version(void);
TRACER_API const char *tracer_version_string(void);

/* Fills the first `size` bytes with defaults, for callers that cannot use
 * TRACER_OPTIONS_INIT. Nothing happens when options is NULL or size below 4. Since 0.1. */
TRACER_API void tracer_options_init(tracer_options *options, uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
