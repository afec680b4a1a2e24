/* SPDX-License-Identifier: MIT */
/* A plug-in that starts a tracer while it is being loaded: the C library holds the lock of its
 * dynamic linker meanwhile. In: $STARTS_AT_LOAD, the file. */
#include <stdlib.h>

#include "memtracer/memtracer.h"

extern int plugin_error;
int plugin_stop(void);

static tracer *started;
int plugin_error;

__attribute__((constructor)) static void start(void)
{
    plugin_error = tracer_start(getenv("STARTS_AT_LOAD"), NULL, &started);
}

/* The library may be linked into this one as well: its own copy stops what it started. */
int plugin_stop(void)
{
    return tracer_stop(started);
}
