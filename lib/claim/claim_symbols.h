/* SPDX-License-Identifier: MIT */
/* claim: what only the dynamic linker of this process tells, and where it is asked. */
#ifndef MT_CLAIM_CLAIM_SYMBOLS_H
#define MT_CLAIM_CLAIM_SYMBOLS_H

#include <stdint.h>

/* Functions of the host's allocator that report its totals; NULL = not there. */
struct mt_allocator_calls {
    void *mallinfo2, *mallctl, *mi_process_info, *get_numeric_property;
};

/* The stacks that the C library keeps of ended threads. */
struct mt_stack_cache {
    uint64_t list;        /* address of the list's head, 0 = unknown */
    uint64_t node_offset; /* of a list node in the descriptor */
    uint64_t tid_offset;
};

struct mt_claim_symbols {
    uint32_t allocator; /* enum mt_allocator, 0 = unknown */
    struct mt_allocator_calls calls;
    struct mt_stack_cache stack_cache;
};

/* Takes the linker's lock. The host's thread that starts a tracer may hold it, as a constructor of
 * a library that is being loaded does, and waits for the sampler: so this is called in that thread,
 * before the sampler's begins. */
void mt_claim_symbols_find(struct mt_claim_symbols *out);

#endif
