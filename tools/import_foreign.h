/* SPDX-License-Identifier: MIT */
/* What other tools record of a process's memory, as they write it. */
#ifndef MEMTRACER_TOOLS_IMPORT_FOREIGN_H
#define MEMTRACER_TOOLS_IMPORT_FOREIGN_H

#include "csv.h"
#include "memtracer/import.h"

/* Takes in the whole file. The process as a whole becomes type `process`. TOOL_OK or, with a
 * sentence, TOOL_ENVIRONMENT. */
int import_psrecord(tracer_import *to, struct csv *csv);
int import_prmon(tracer_import *to, struct csv *csv);
int import_mprof(tracer_import *to, struct csv *csv);

#endif
