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

/* The interval of `before` that is where `now` is and of its shape, NULL = there is none. `*i` is
 * where the search for its neighbour below ended. */
static const struct mt_interval *same_in(const struct mt_interval_list *before, uint32_t *i,
                                         const struct mt_interval *now)
{
    while (*i < before->n && before->items[*i].base < now->base)
        (*i)++;
    return *i < before->n && same_pages_expected(&before->items[*i], now) ? &before->items[*i]
                                                                          : NULL;
}

void mt_classify_carry(const struct mt_interval_list *before, struct mt_interval_list *after,
                       enum mt_carry how)
{
    uint32_t i = 0;

    for (uint32_t j = 0; j < after->n; j++) {
        struct mt_interval *now = &after->items[j];
        const struct mt_interval *old = same_in(before, &i, now);

        if (!old)
            continue;
        now->restless = old->restless;
        if (now->pages.known)
            continue;
        now->pages = old->pages;
        if (how == MT_CARRY_HINTS || (how == MT_CARRY_FRESH && old->stale)) {
            now->pages.known = 0;
            continue;
        }
        now->region_flags |= old->region_flags;
        now->stale = how == MT_CARRY_ALL;
    }
}

/* A heap that grows within its mapping will do so again: a few quiet counts do not change that. */
#define QUIET_COUNTS 8

static bool has_equal_pages(const struct mt_pages *a, const struct mt_pages *b)
{
    static const uint8_t kinds[] = {MT_PAGE_RESIDENT, MT_PAGE_ANONYMOUS, MT_PAGE_SWAP};

    for (unsigned i = 0; i < MT_COUNT_OF(kinds); i++)
        if ((a->known & b->known) >> kinds[i] & 1u && a->bytes[kinds[i]] != b->bytes[kinds[i]])
            return false;
    return true;
}

void mt_classify_note_restless(const struct mt_interval_list *before,
                               struct mt_interval_list *after)
{
    uint32_t i = 0;

    for (uint32_t j = 0; j < after->n; j++) {
        struct mt_interval *now = &after->items[j];
        const struct mt_interval *old = same_in(before, &i, now);

        if (!old)
            continue;
        now->restless = old->restless;
        if (now->stale || !now->pages.known || !old->pages.known)
            continue;
        if (!has_equal_pages(&old->pages, &now->pages))
            now->restless = QUIET_COUNTS;
        else if (old->restless && !old->stale)
            now->restless--;
    }
}

static void carry_column(const struct mt_type_level *before, struct mt_type_level *after,
                         unsigned column)
{
    if (!(before->known >> column & 1u) || (after->known >> column & 1u))
        return;
    after->value[column] = before->value[column];
    after->known |= 1u << column;
}

void mt_classify_carry_levels(const struct mt_levels *before, struct mt_levels *after, bool all)
{
    for (unsigned t = 1; t < MT_TYPE_CAPACITY; t++) {
        for (unsigned i = 0; i < MT_COUNT_OF(deep_columns); i++)
            carry_column(&before->type[t], &after->type[t], deep_columns[i]);
        for (unsigned c = 0; all && c < MT_COLUMN_COUNT; c++)
            carry_column(&before->type[t], &after->type[t], c);
    }
}
