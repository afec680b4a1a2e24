/* SPDX-License-Identifier: MIT */
/* trace: finds libmemtracer-stacks in this process. In: nothing. Out: its port.
 * Called by the api and the sampler. A weak name: the loader binds it where the library was
 * preloaded or linked, and leaves it NULL elsewhere.
 * Uses: weak undefined symbols (ELF). */
#include "trace/linux/interpose.h"

const struct mt_trace_port *mt_trace_find(void)
{
    return memtracer_stacks_port_1 ? memtracer_stacks_port_1() : NULL;
}
