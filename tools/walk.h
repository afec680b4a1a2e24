/* SPDX-License-Identifier: MIT */
/* A walk through the moments of a run at which a level changed, with the values of all types. */
#ifndef MEMTRACER_TOOLS_WALK_H
#define MEMTRACER_TOOLS_WALK_H

#include "answer.h"
#include "out_file.h"

#define WALK_TYPES 256
#define WALK_COLUMNS 15 /* size … largest, in the order of table level */

enum walk_column { WALK_SIZE = 0, WALK_COMMITTED = 1, WALK_PRIVATE = 3, WALK_WS = 4 };

struct walk_type {
    int64_t id;
    char name[64];
    bool counts;  /* in a total: all but free address space */
    bool changed; /* at this moment */
    bool known[WALK_COLUMNS];
    int64_t value[WALK_COLUMNS]; /* 0 where unknown */
};

struct walk {
    struct answer *answer;
    struct work *work;
    int64_t run;
    size_t n_types;
    struct walk_type types[WALK_TYPES];
    int64_t sample, t_ns; /* of this moment; sample 0 = before the first */
    int64_t ordinal;      /* counts moments from 0 */
    void (*moment)(void *user, struct walk *w);
    void *user;
};

extern const char *const walk_column_names[WALK_COLUMNS];

/* Reads the types that the run has. TOOL_OK or, with a sentence, TOOL_ENVIRONMENT. */
int walk_open(struct walk *w, struct answer *a, struct work *work, int64_t run);

/* Calls `moment` for each moment in order of time. */
int walk_run(struct walk *w, void (*moment)(void *user, struct walk *w), void *user);

#endif
