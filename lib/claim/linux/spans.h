/* SPDX-License-Identifier: MIT */
/* Ranges of addresses, to be found by where they begin. */
#ifndef MT_CLAIM_LINUX_SPANS_H
#define MT_CLAIM_LINUX_SPANS_H

#include <stdint.h>

struct mt_span {
    uint64_t base, end;
};

void mt_spans_sort(struct mt_span *s, uint32_t n);

/* The first of the sorted spans that begins at or after `address`; n = none. */
uint32_t mt_spans_from(const struct mt_span *s, uint32_t n, uint64_t address);

#endif
