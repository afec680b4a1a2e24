/* SPDX-License-Identifier: MIT */
/* The one pair of allocation functions. Memory comes from the OS in whole pages, never from the
 * host's allocator, so that it is our own type in the sample and takes no lock of the host's.
 * Meant for few, large, long-lived blocks; a tick allocates nothing. Any thread. */
#ifndef MT_BASE_MEMORY_H
#define MT_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed memory of at least `bytes`, or NULL. Untouched pages cost address space only. */
void *mt_memory_alloc(size_t bytes);
void mt_memory_free(void *p);

/* Moves the first `used` bytes of block `*p` to a new block of `bytes` and frees the old one. False
 * when there is no memory: then all is as it was. */
bool mt_memory_grow(void **p, size_t used, size_t bytes);

/* Bytes of address space held now by all blocks of this process. */
uint64_t mt_memory_held(void);

/* Calls `visit` for each block, [base, base + bytes). */
void mt_memory_each(void (*visit)(void *user, uint64_t base, uint64_t bytes), void *user);

/* For tests: the n-th allocation from now fails (1 = the next); 0 = none. */
void mt_memory_fail_at(unsigned n);

#endif
