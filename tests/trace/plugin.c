/* SPDX-License-Identifier: MIT */
/* A plugin that keeps what it takes. */
#include <stdlib.h>
#include <string.h>

void *plugin_keeps(size_t bytes);

void *plugin_keeps(size_t bytes)
{
    void *kept = malloc(bytes);

    return kept ? memset(kept, 1, bytes) : NULL;
}
