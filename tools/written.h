/* SPDX-License-Identifier: MIT */
/* What a command that makes a file says of it under --json. Counted before the file gets its name,
 * so that there is none when that fails. */
#ifndef MEMTRACER_TOOLS_WRITTEN_H
#define MEMTRACER_TOOLS_WRITTEN_H

#include <stdint.h>

#include "answer.h"

struct written {
    int64_t runs, samples, ticks, marks;
    int64_t bytes; /* −1 = of a device or a pipe */
};

/* The newest run of the recording at `path`; 0 where there is none, or no recording. */
int64_t written_last_run(const char *path);

/* What runs `first` to `last` hold. TOOL_OK or, with a sentence, another code. */
int written_count(struct answer *a, int64_t first, int64_t last, struct written *out);

/* The same of the runs after `after` in the recording at `path`, and its size. */
int written_look(const char *path, int64_t after, struct written *out);

/* "samples", "ticks", "marks", "bytes". */
void written_put(struct json *j, const struct written *w);

/* One object on stdout of the recording `path`, which n_files files came into. */
void written_tell(const char *path, int n_files, const struct written *w);

#endif
