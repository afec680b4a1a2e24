/* SPDX-License-Identifier: MIT */
/* The C library's descriptor of a thread (glibc's struct pthread), as far as it tells the stack. */
#ifndef MT_CLAIM_LINUX_DESCRIPTOR_H
#define MT_CLAIM_LINUX_DESCRIPTOR_H

#include "claim/linux/provider.h"

/* Where in the descriptor stack, size and guard are, learned from a thread that has only one such
 * triple; the same for all threads of a process. */
struct mt_descriptor_layout {
    bool known;
    uint32_t offset; /* from the robust list's head */
};

struct mt_stack {
    uint64_t base, bytes, guard_bytes; /* lowest address; both sizes with the guard in them */
};

/* The head of the thread's robust list lies in the descriptor; 0 = none (musl, Go). */
uint64_t mt_descriptor_head(uint32_t tid);

/* The stack by the descriptor around `head`. `tid` is checked, 0 = a thread that has ended. */
bool mt_descriptor_stack(const struct mt_look *look, struct mt_descriptor_layout *layout,
                         uint64_t head, uint32_t tid, struct mt_stack *out);

/* Asks the dynamic linker: see mt_claim_symbols_find(). */
void mt_stack_cache_resolve(struct mt_stack_cache *out);

/* Fills `out` with at most `capacity` stacks and returns their number. */
uint32_t mt_stack_cache_read(const struct mt_stack_cache *c, const struct mt_look *look,
                             struct mt_descriptor_layout *layout, struct mt_stack *out,
                             uint32_t capacity);

#endif
