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

/* One sentence on a type, without a full stop. */
#define SENTENCE_BYTES 768
void sentence_type(const tracer_verdict *v, uint32_t k, char *out);

/* What is said of the process as a whole; empty when there is nothing to add. */
void sentence_limit(const tracer_verdict *v, char *out);
void sentence_restarts(const tracer_verdict *v, char *out);

#endif
