/* SPDX-License-Identifier: MIT */
/* A verdict on a file, for the commands that need one. */
#ifndef MEMTRACER_TOOLS_JUDGEMENT_H
#define MEMTRACER_TOOLS_JUDGEMENT_H

#include "answer.h"

struct judgement_question {
    const char *type;  /* NULL = all */
    const char *since; /* moments, NULL = the whole */
    const char *until;
    const char *measure; /* held, committed, size; NULL = held */
    int64_t limit_bytes; /* 0 = as the file says */
};

#define JUDGEMENT_OPTIONS(a, q)                                                                    \
    {"since", 0, OPTION_TEXT, &(q).since}, {"until", 0, OPTION_TEXT, &(q).until},                  \
        {"measure", 0, OPTION_TEXT, &(q).measure}, {"run", 0, OPTION_NUMBER, &(a).run},            \
    {                                                                                              \
        "json", 0, OPTION_FLAG, &(a).json                                                          \
    }

/* TOOL_OK and a verdict for tracer_verdict_free(); or another code, with a sentence. */
int judgement_ask(struct answer *a, const struct judgement_question *q, const tracer_verdict **out);

/* A run that is judged apart, because another one of its label ran beside it. */
struct judged_run {
    int64_t run, pid; /* pid 0 = not known */
    char *label;
};

/* `run` NULL: the verdict is on all that was asked for. */
typedef void (*judgement_fn)(struct answer *a, const tracer_verdict *v,
                             const struct judged_run *run, void *user);

/* Calls `tell` with the verdict or, where runs overlap in time and none was named, with that on
 * each run which has samples in the time that is asked for. TOOL_OK or, with a sentence, another
 * code. */
int judgement_each(struct answer *a, const struct judgement_question *q, judgement_fn tell,
                   void *user);

/* "run 2 (server, pid 4242)", for free(). */
char *judgement_name(const struct judged_run *run);

/* One sentence on a type, without a full stop. */
#define SENTENCE_BYTES 768
void sentence_type(const tracer_verdict *v, uint32_t k, char *out);

/* What is said of the process as a whole; empty when there is nothing to add. */
void sentence_limit(const tracer_verdict *v, char *out);
void sentence_restarts(const tracer_verdict *v, char *out);

#endif
