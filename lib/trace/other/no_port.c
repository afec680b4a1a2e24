/* SPDX-License-Identifier: MIT */
/* trace: systems without libmemtracer-stacks. Called by the api and the sampler. */
#include "trace/trace.h"

const struct mt_trace_port *mt_trace_find(void)
{
    return NULL;
}
