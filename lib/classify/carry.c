/* SPDX-License-Identifier: MIT */
/* classify: what a shallower look leaves as it was.
 * In: intervals and levels of the sample before. Out: the new ones completed.
 * Called by sampler/tick.c when it did not look as deep as the last time. */
#include "classify/classify.h"

/* Columns that come from smaps alone; between two such looks they stand still. */
static const uint8_t deep_columns[] = {MT_COLUMN_CHARGED, MT_COLUMN_WS_SHARED, MT_COLUMN_PSS,
                                       MT_COLUMN_LOCKED, MT_COLUMN_LAZY_FREE};

static bool same_pages_expected(const struct mt_interval *a, const struct mt_interval *b)
{
    return a->base == b->base && a->end == b->end && a->inode == b->inode && a->name == b->name &&
           a->protection == b->protection;
}

void mt_classify_carry(const struct mt_interval_list *before, struct mt_interval_list *after)
{
    uint32_t i = 0;

    for (uint32_t j = 0; j < after->n; j++) {
        struct mt_interval *now = &after->items[j];

        while (i < before->n && before->items[i].base < now->base)
            i++;
        if (i < before->n && !now->pages.known && same_pages_expected(&before->items[i], now)) {
            now->pages = before->items[i].pages;
            now->region_flags |= before->items[i].region_flags;
        }
    }
}

void mt_classify_carry_levels(const struct mt_levels *before, struct mt_levels *after)
{
    for (unsigned t = 1; t < MT_TYPE_CAPACITY; t++) {
        for (unsigned i = 0; i < MT_COUNT_OF(deep_columns); i++) {
            unsigned c = deep_columns[i];

            if (!(before->type[t].known >> c & 1u) || (after->type[t].known >> c & 1u))
                continue;
            after->type[t].value[c] = before->type[t].value[c];
            after->type[t].known |= 1u << c;
        }
    }
}
