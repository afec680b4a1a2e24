/* SPDX-License-Identifier: MIT */
/* What `memtracer run` tells the preload library, through the environment. */
#ifndef MEMTRACER_TOOLS_PRELOAD_NAMES_H
#define MEMTRACER_TOOLS_PRELOAD_NAMES_H

#define PRELOAD_LIBRARY "libmemtracer-preload.so"
#define STACKS_LIBRARY "libmemtracer-stacks.so"

#define ENV_FILE "MEMTRACER_FILE"         /* path for tracer_start(); without it nothing starts */
#define ENV_INTERVAL "MEMTRACER_INTERVAL" /* ms */
#define ENV_LABEL "MEMTRACER_LABEL"
#define ENV_STACKS "MEMTRACER_STACKS"   /* least bytes of a malloc() that is recorded */
#define ENV_REPORT "MEMTRACER_REPORT"   /* descriptor that gets "ok" or a sentence, once */
#define ENV_PRELOAD "MEMTRACER_PRELOAD" /* where `run` finds the library; for the user */

#define REPORT_OK "ok"
#define REPORT_BYTES 1024

#endif
