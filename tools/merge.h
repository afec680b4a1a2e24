/* SPDX-License-Identifier: MIT */
/* Runs of several files into one. */
#ifndef MEMTRACER_TOOLS_MERGE_H
#define MEMTRACER_TOOLS_MERGE_H

#include <sqlite3.h>

#include "out_file.h"

struct merging {
    sqlite3 *db; /* the new file; the file that is taken in is attached as `src` */
    struct work *work;
    const char *path; /* of the file that is taken in */
};

/* Makes the tables of an empty file. All functions: TOOL_OK or, with a sentence, TOOL_ENVIRONMENT.
 */
int merge_begin(struct merging *m);

/* Takes in all runs of `path`, a memtracer file; refuses a run that is already there. */
int merge_take(struct merging *m, const char *path);

/* Makes it a memtracer file, and waits until all of it is on the disk. */
int merge_end(struct merging *m);

#endif
