/* SPDX-License-Identifier: MIT */
/* The parts of the page of `memtracer report`. */
#ifndef MEMTRACER_TOOLS_REPORT_H
#define MEMTRACER_TOOLS_REPORT_H

#include "answer.h"
#include "out_file.h"
#include "walk.h"

struct report {
    struct answer *answer;
    struct work *work;
    FILE *out;
    struct walk *walk;
    int64_t last_sample;           /* of the run, which is the answer's */
    const tracer_verdict *verdict; /* report_verdict() has it made */
    bool full;                     /* keep every moment */
};

/* report_thin.c: which moments a chart needs: of each stretch of time the least and the most of
 * every type and of the total, in the four columns one can look at; steps with the sample before.
 * `out` has a byte a moment, freed by free(); *n how many moments there are. */
int report_thin(struct report *r, unsigned char **out, int64_t *n);
#define REPORT_MOST_MOMENTS 8000 /* that are kept, steps aside */

/* report_data.c: what the script of the page works on, as JSON in a script element. */
int report_data(struct report *r);

/* report_verdict.c: what stands on top. Sets r->verdict, freed by who made r. */
int report_verdict(struct report *r);

/* report_html.c: the page as it is without a script. */
int report_overview(struct report *r);
int report_tables(struct report *r);
void report_put_text(FILE *out, const char *text, size_t n); /* escaped for HTML */

#endif
