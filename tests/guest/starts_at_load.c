/* SPDX-License-Identifier: MIT */
/* A plug-in that starts a tracer while it is being loaded: the C library holds the lock of its
 * dynamic linker meanwhile. In: $STARTS_AT_LOAD, the file. */
#include <stdlib.h>

#include "memtracer/memtracer.h"

extern tracer *plugin_tracer;
extern int plugin_error;

tracer *plugin_tracer;
int plugin_error;

__attribute__((constructor)) static void start(void)
{
    plugin_error = tracer_start(getenv("STARTS_AT_LOAD"), NULL, &plugin_tracer);
}
