/* SPDX-License-Identifier: MIT */
/* claim/linux: ranges of addresses in order. In: ranges. Out: the same, sorted; one of them.
 * Called by heap_chunks.c. Pure; must not call qsort, which may call malloc. */
#include "claim/linux/spans.h"

static void sift_down(struct mt_span *s, uint32_t n, uint32_t at)
{
    struct mt_span moving = s[at];

    for (uint32_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && s[child].base < s[child + 1].base)
            child++;
        if (moving.base >= s[child].base)
            break;
        s[at] = s[child];
        at = child;
    }
    s[at] = moving;
}

void mt_spans_sort(struct mt_span *s, uint32_t n)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift_down(s, n, i);
    for (uint32_t end = n; end-- > 1;) {
        struct mt_span last = s[end];

        s[end] = s[0];
        s[0] = last;
        sift_down(s, end, 0);
    }
}

uint32_t mt_spans_from(const struct mt_span *s, uint32_t n, uint64_t address)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (s[middle].base < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool mt_spans_begin(const struct mt_span *s, uint32_t n, uint64_t address)
{
    uint32_t k = mt_spans_from(s, n, address);

    return k < n && s[k].base == address;
}

bool mt_spans_hold(const struct mt_span *s, uint32_t n, uint64_t address)
{
    uint32_t k = mt_spans_from(s, n, address + 1);

    return k > 0 && s[k - 1].end > address;
}
