/* SPDX-License-Identifier: MIT */
/* Ranges of addresses, to be found by where they begin. */
#ifndef MT_CLAIM_LINUX_SPANS_H
#define MT_CLAIM_LINUX_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct mt_span {
    uint64_t base, end;
};

void mt_spans_sort(struct mt_span *s, uint32_t n);

/* The first of the sorted spans that begins at or after `address`; n = none. */
uint32_t mt_spans_from(const struct mt_span *s, uint32_t n, uint64_t address);

/* One of them begins at `address`. */
bool mt_spans_begin(const struct mt_span *s, uint32_t n, uint64_t address);

/* The last that begins at or below `address` holds it; spans in one another may hide that. */
bool mt_spans_hold(const struct mt_span *s, uint32_t n, uint64_t address);

#endif
