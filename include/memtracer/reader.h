/* SPDX-License-Identifier: MIT */
/* Reading a memtracer file: a read-only look with SQL, safe while it is being recorded.
 *
 * The tables and views are described in memtracer(7). A reader never writes, never checkpoints
 * and holds no transaction between calls. One reader is for one thread at a time; readers are
 * independent of tracers. After fork() the child must not use or close it. */
#ifndef MEMTRACER_READER_H
#define MEMTRACER_READER_H

#include "memtracer/memtracer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tracer_reader tracer_reader; /* opaque */

#define TRACER_VALUE_NULL 0u
#define TRACER_VALUE_INTEGER 1u
#define TRACER_VALUE_REAL 2u
#define TRACER_VALUE_TEXT 3u /* any bytes, with a NUL behind them */
#define TRACER_VALUE_BLOB 4u

typedef struct tracer_value {
    uint32_t kind;     /* TRACER_VALUE_… */
    uint32_t n_bytes;  /* of text or blob */
    int64_t integer;   /* where kind is INTEGER, else 0 */
    double real;       /* where kind is INTEGER or REAL, else 0 */
    const char *bytes; /* where kind is TEXT or BLOB, else NULL; valid during the callback */
} tracer_value;

/* Called once a row; `names` and `values` have `n_columns` elements, valid during the call.
 * Return 0 to go on, anything else to end the query with success. */
typedef int (*tracer_row_fn)(void *user, uint32_t n_columns, const char *const *names,
                             const tracer_value *values);

/* Opens the file read-only. A file that is not memtracer's gives TRACER_EDB, a newer one
 * TRACER_ESCHEMA, one that cannot be read TRACER_EIO or TRACER_EDENIED. Works in a folder that
 * cannot be written. Since 0.1. */
TRACER_API int tracer_reader_open(const char *path, tracer_reader **out);

/* Frees the reader. NULL is fine. Since 0.1. */
TRACER_API void tracer_reader_close(tracer_reader *r);

/* Runs one SELECT. `sql` is SQL text, or the name of a query that memtracer brings
 * (tracer_query_name()). `params` bind to ?1 … ?n; NULL with 0 = none. `row` NULL = only check
 * that it runs. Statements that write are refused with TRACER_EDENIED, wrong SQL with
 * TRACER_EINVAL; the detail quotes SQLite. Since 0.1. */
TRACER_API int tracer_reader_query(tracer_reader *r, const char *sql, const tracer_value *params,
                                   uint32_t n_params, tracer_row_fn row, void *user);

/* The names of the queries memtracer brings, by number from 0; NULL past the last. Since 0.1. */
TRACER_API const char *tracer_query_name(uint32_t i);

/* The SQL of a query memtracer brings, NULL when there is none of that name. Since 0.1. */
TRACER_API const char *tracer_query_sql(const char *name);

/* The SQL that makes the file's tables and views, with its comments. Since 0.1. */
TRACER_API const char *tracer_schema_sql(void);

/* Makes one plain file of a recording whose process is gone (killed, crashed, powered off): the
 * rest of the -wal is taken over, and runs still called "recording" become "interrupted".
 * TRACER_ESTATE when its process is alive, or when a reader has the file open. The only function
 * here that writes. Since 0.1. */
TRACER_API int tracer_file_finish(const char *path);

/* ---- verdicts ---------------------------------------------------------------------------- */

/* Shapes of a series. The first four grow on and keep what they take. */
#define TRACER_SHAPE_PUNCTUATED 0u    /* discrete steps, nothing kept between them */
#define TRACER_SHAPE_LINEAR 1u        /* many small allocations at a rate */
#define TRACER_SHAPE_EXPONENTIAL 2u   /* grows by a factor in equal times */
#define TRACER_SHAPE_FRAGMENTATION 3u /* the floor rises with every wave, ever more slowly */
#define TRACER_SHAPE_STEADY 4u        /* noise, bursts, what comes and goes */
#define TRACER_SHAPE_SAWTOOTH 5u      /* ramps and drops to the same floor */
#define TRACER_SHAPE_WARMUP 6u        /* grew, then stayed on a plateau */
#define TRACER_SHAPE_JUMP 7u          /* one step that stays */
#define TRACER_SHAPE_DIURNAL 8u       /* a smooth periodic wave */
#define TRACER_SHAPE_TOO_SHORT 9u     /* cannot be told yet; see `likely` and `needed_ns` */

/* Why memory grows, as far as the file tells. */
#define TRACER_CAUSE_NONE 0u        /* it does not grow */
#define TRACER_CAUSE_LIVE 1u        /* what is in use grows, or nothing says otherwise */
#define TRACER_CAUSE_RETENTION 2u   /* kept by the allocator: its free bytes grow, not the used */
#define TRACER_CAUSE_FILE 3u        /* pages of files, which the system can take back */
#define TRACER_CAUSE_RESERVATION 4u /* address space only: size grows, held memory does not */
#define TRACER_CAUSE_HUGE_PAGES 5u  /* huge pages round up what is in use */
#define TRACER_CAUSE_STACKS 6u      /* stacks stay while the number of threads does not grow */
#define TRACER_CAUSE_REGIONS 7u     /* the number of regions grows towards the system's limit */
#define TRACER_CAUSE_LAZY_FREE 8u   /* given back lazily (MADV_FREE): resident until needed */

/* What is judged. */
#define TRACER_MEASURE_HELD 0u /* ws + swap, or committed where resident bytes are unknown */
#define TRACER_MEASURE_COMMITTED 1u
#define TRACER_MEASURE_SIZE 2u

/* Which limit is reached first. */
#define TRACER_LIMIT_NONE 0u
#define TRACER_LIMIT_CGROUP 1u
#define TRACER_LIMIT_HOST 2u          /* the host's memory */
#define TRACER_LIMIT_ADDRESS 3u       /* RLIMIT_AS */
#define TRACER_LIMIT_DATA 4u          /* RLIMIT_DATA */
#define TRACER_LIMIT_ADDRESS_SPACE 5u /* 2^47 bytes */
#define TRACER_LIMIT_REGIONS 6u       /* vm.max_map_count; a count */
#define TRACER_LIMIT_GIVEN 7u         /* options.limit_bytes */

/* All zero means all defaults. Grows at the end only. */
typedef struct tracer_verdict_options {
    uint32_t size;         /* sizeof(tracer_verdict_options); always first */
    uint32_t measure;      /* TRACER_MEASURE_… */
    int64_t run;           /* this run alone; 0 = the newest one and all before it of its label:
                              they are lives of one program, unless they overlap in time */
    int64_t since_wall_ns; /* leave out what was before; 0 = nothing */
    int64_t until_wall_ns; /* leave out what came after; 0 = nothing */
    int64_t limit_bytes;   /* what all held memory must not pass; 0 = as the file says */
    const char *type;      /* this type alone; NULL = all but free and tracer */
} tracer_verdict_options;

/* Times are on the wall clock (ns since 1970); t_ns since the start of the run they fall into. */
typedef struct tracer_verdict_step {
    int64_t wall_ns;        /* best guess */
    int64_t before_wall_ns; /* it came after the sample at this time … */
    int64_t after_wall_ns;  /* … and before or with this one */
    int64_t t_ns;
    int64_t bytes;      /* height of the step */
    int64_t kept_bytes; /* held since the onset right after it */
} tracer_verdict_step;

typedef struct tracer_type_verdict {
    uint32_t size;    /* what the library knows of this struct */
    uint32_t measure; /* in which it grows: held may be flat while the size is not */
    const char *type;
    uint32_t shape;    /* TRACER_SHAPE_… */
    uint32_t likely;   /* the best guess; differs from shape when it is too short only */
    uint32_t growing;  /* 1: grows on and keeps what it takes */
    uint32_t leak;     /* 1: growing, and neither a file's, nor the allocator's, nor given back */
    uint32_t cause;    /* TRACER_CAUSE_… */
    uint32_t n_steps;  /* 256 at most */
    double confidence; /* 0 … 1, in likely */
    int64_t onset_wall_ns, onset_t_ns; /* where growth begins; growing only */
    int64_t kept_bytes;                /* growth that was never given back; growing only */
    double bytes_per_s;                /* from the onset to the end; growing only */
    double late_bytes_per_s; /* of the floor over the last half: what a long run will see */
    int64_t swing_bytes;     /* highest less lowest value, torn reads left out */
    int64_t first_bytes, last_bytes, peak_bytes; /* TRACER_UNKNOWN where not known */
    int64_t needed_ns; /* too short only: record so much longer; 0 = no value is known */
    int64_t typical_step_bytes, typical_interval_ns;
    /* what else grew from the onset to the end; TRACER_UNKNOWN where not known */
    int64_t grew_committed, grew_size, grew_huge, grew_lazy_free, grew_blocks;
    int64_t grew_in_use, grew_free, grew_threads; /* allocator and threads of the process */
    const tracer_verdict_step *steps;             /* n_steps, the earliest */
    int64_t held_last_bytes, grew_held; /* held at the end, and its growth over all that is judged,
                                           whatever the measure is; TRACER_UNKNOWN */
} tracer_type_verdict;

#define TRACER_UNKNOWN INT64_MIN

typedef struct tracer_verdict {
    uint32_t size;    /* what the library knows of this struct */
    uint32_t n_types; /* 0: there is nothing in the file yet */
    const tracer_type_verdict *const *types;
    uint32_t type;      /* the type in question, n_types = none */
    uint32_t leak;      /* 1: a type leaks */
    uint32_t too_short; /* 1: none leaks, and the one in question cannot be told yet */
    uint32_t n_lives;
    uint32_t hidden_by_restarts; /* 1: several lives grew, and each restart took it away */
    uint32_t limit;              /* TRACER_LIMIT_… that is reached first */
    int64_t limit_bytes;         /* that limit */
    int64_t limit_wall_ns;       /* when it is reached */
    const char *action;          /* label of the mark that leaks, NULL = none */
    uint32_t n_actions, n_actions_stepless;
    int64_t n_samples;
    int64_t first_wall_ns, last_wall_ns; /* of the samples judged */
    int64_t run, run_start_wall_ns;      /* the newest one judged */
    int64_t regions_first, regions_last; /* number of mappings; TRACER_UNKNOWN */
    uint32_t regions_growing;            /* 1: their number grows on */
    uint32_t reserved;
} tracer_verdict;

/* Judges the newest program of the file: which type leaks, in which shape, since when, why, after
 * which action, until when. Memory is bounded whatever the length: at most 131,072 points a type
 * are looked at; longer series keep the least and the most of each stretch. Free the verdict with
 * tracer_verdict_free(). Errors: EINVAL (no such run or type), EOVERLAP (options.run is 0, and two
 * runs of the label overlap by more than an interval, as processes side by side do: judge each run
 * by its number; the detail names two), ENOMEM, EDB, EIO. Since 0.1. */
TRACER_API int tracer_reader_verdict(tracer_reader *r, const tracer_verdict_options *options,
                                     const tracer_verdict **out);

/* Frees a verdict with all it points to. NULL is fine. Since 0.1. */
TRACER_API void tracer_verdict_free(const tracer_verdict *v);

/* "punctuated", "allocator retention", "cgroup limit": words for the numbers above; NULL for other
 * numbers. Since 0.1. */
TRACER_API const char *tracer_shape_name(uint32_t shape);
TRACER_API const char *tracer_cause_name(uint32_t cause);
TRACER_API const char *tracer_limit_name(uint32_t limit);

#ifdef __cplusplus
}
#endif

#endif
