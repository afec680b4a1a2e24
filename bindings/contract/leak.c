/* SPDX-License-Identifier: MIT */
/* bindings/contract: a plugin that leaks by malloc. In: bytes. Out: nothing. */
#include <stdlib.h>
#include <string.h>

void contract_leak(size_t bytes);

static void *volatile kept; /* without it the compiler leaves the block out */

void contract_leak(size_t bytes)
{
    void *block = malloc(bytes);

    if (block)
        memset(block, 1, bytes);
    kept = block;
}
