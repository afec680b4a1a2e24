/* SPDX-License-Identifier: MIT */
/* classify: intervals → one row of columns per type.
 * In: intervals with page counts, process counters. Out: levels; a flag when they do not add up.
 * Called by sampler/tick.c. The definitions of the columns are in memtracer(7); unknown is a
 * missing bit in `known`, never 0. */
#include "classify/classify.h"

#include <string.h>

#define BIT(column) (1u << MT_COLUMN_##column)

/* Columns that need page counts, by the kinds of page they are made of. */
#define PAGE(kind) (1u << MT_PAGE_##kind)

static uint64_t pages_of(const struct mt_interval *v, unsigned kind)
{
    return v->pages.known >> kind & 1u ? v->pages.bytes[kind] : 0;
}

static bool knows(const struct mt_interval *v, uint32_t kinds)
{
    return (v->pages.known & kinds) == kinds;
}

static bool is_private(const struct mt_interval *v)
{
    return !(v->region_flags & MT_REGION_SHARED);
}

static int64_t committed_of(const struct mt_interval *v)
{
    if ((v->claim_flags & MT_CLAIM_GUARD) || (v->region_flags & MT_REGION_GUARD))
        return 0;
    if (!v->protection && !(v->region_flags & MT_REGION_COMMITTED))
        return 0;
    return (int64_t)(v->end - v->base - pages_of(v, MT_PAGE_GUARD));
}

static bool is_charged_whole(const char *name)
{
    return !name[0] || !strncmp(name, "/dev/zero", 9) || !strncmp(name, "/SYSV", 5) ||
           !strncmp(name, "[anon_shmem:", 12);
}

/* Shared memory without a file on disk is charged when it is made, or page by page when it has a
 * size of its own (memfd, tmpfs): there only what is in use is known from here. */
static int64_t charged_of(const struct mt_interval *v, const struct mt_strings *strings)
{
    if (v->region_flags & MT_REGION_CHARGED)
        return (int64_t)(v->end - v->base);
    if (v->type != MT_TYPE_SHAREABLE || is_private(v) || (v->region_flags & MT_REGION_NORESERVE))
        return 0;
    if (is_charged_whole(mt_strings_get(strings, v->name, NULL)))
        return (int64_t)(v->end - v->base);
    return (int64_t)(pages_of(v, MT_PAGE_RESIDENT) + pages_of(v, MT_PAGE_SWAP));
}

static int64_t ws_of(const struct mt_interval *v)
{
    return (int64_t)(pages_of(v, MT_PAGE_RESIDENT) + pages_of(v, MT_PAGE_HUGETLB_PRIVATE) +
                     pages_of(v, MT_PAGE_HUGETLB_SHARED));
}

static int64_t ws_private_of(const struct mt_interval *v)
{
    if (!is_private(v))
        return 0;
    return (int64_t)(pages_of(v, MT_PAGE_ANONYMOUS) + pages_of(v, MT_PAGE_HUGETLB_PRIVATE));
}

/* The system's own account where it keeps one; else what is resident or swapped. */
static int64_t private_of(const struct mt_interval *v)
{
    if (knows(v, PAGE(PRIVATE)))
        return (int64_t)pages_of(v, MT_PAGE_PRIVATE);
    return ws_private_of(v) + (is_private(v) ? (int64_t)pages_of(v, MT_PAGE_SWAP) : 0);
}

/* Pages mapped more than once, less the anonymous ones that only a fork shares. */
static int64_t ws_shared_of(const struct mt_interval *v)
{
    uint64_t shareable = pages_of(v, MT_PAGE_RESIDENT) - pages_of(v, MT_PAGE_ANONYMOUS);
    uint64_t shared = pages_of(v, MT_PAGE_SHARED);

    if (!is_private(v))
        shareable = pages_of(v, MT_PAGE_RESIDENT);
    return (int64_t)((shared < shareable ? shared : shareable) +
                     pages_of(v, MT_PAGE_HUGETLB_SHARED));
}

static uint32_t known_columns(const struct mt_interval *v)
{
    uint32_t known = BIT(SIZE) | BIT(COMMITTED) | BIT(BLOCKS) | BIT(LARGEST);

    if (v->region_flags & MT_REGION_FLAGS_KNOWN)
        known |= BIT(CHARGED);
    if (knows(v, PAGE(RESIDENT)))
        known |= BIT(WS);
    if (knows(v, PAGE(RESIDENT) | PAGE(ANONYMOUS)))
        known |= BIT(WS_PRIVATE) | BIT(WS_SHAREABLE);
    if (knows(v, PAGE(RESIDENT) | PAGE(ANONYMOUS) | PAGE(SHARED)))
        known |= BIT(WS_SHARED);
    if (knows(v, PAGE(ANONYMOUS) | PAGE(SWAP)) || knows(v, PAGE(PRIVATE)))
        known |= BIT(PRIVATE);
    known |= knows(v, PAGE(PSS)) ? BIT(PSS) : 0;
    known |= knows(v, PAGE(SWAP)) ? BIT(SWAP) : 0;
    known |= knows(v, PAGE(LOCKED)) ? BIT(LOCKED) : 0;
    known |= knows(v, PAGE(HUGE)) ? BIT(HUGE) : 0;
    known |= knows(v, PAGE(LAZY_FREE)) ? BIT(LAZY_FREE) : 0;
    return known;
}

static void add_interval(struct mt_type_level *level, const struct mt_interval *v,
                         const struct mt_strings *strings)
{
    int64_t *value = level->value;
    int64_t ws_private = ws_private_of(v);
    int64_t ws = ws_of(v);

    level->known &= known_columns(v);
    value[MT_COLUMN_SIZE] += (int64_t)(v->end - v->base);
    value[MT_COLUMN_COMMITTED] += committed_of(v);
    value[MT_COLUMN_CHARGED] += charged_of(v, strings);
    value[MT_COLUMN_PRIVATE] += private_of(v);
    value[MT_COLUMN_WS] += ws;
    value[MT_COLUMN_WS_PRIVATE] += ws_private;
    value[MT_COLUMN_WS_SHAREABLE] += ws - ws_private;
    value[MT_COLUMN_WS_SHARED] += ws_shared_of(v);
    value[MT_COLUMN_PSS] += (int64_t)pages_of(v, MT_PAGE_PSS);
    value[MT_COLUMN_SWAP] += (int64_t)pages_of(v, MT_PAGE_SWAP);
    value[MT_COLUMN_LOCKED] += (int64_t)pages_of(v, MT_PAGE_LOCKED);
    value[MT_COLUMN_HUGE] +=
        (int64_t)(pages_of(v, MT_PAGE_HUGE) + pages_of(v, MT_PAGE_HUGETLB_PRIVATE) +
                  pages_of(v, MT_PAGE_HUGETLB_SHARED));
    value[MT_COLUMN_LAZY_FREE] += (int64_t)pages_of(v, MT_PAGE_LAZY_FREE);
    value[MT_COLUMN_BLOCKS] += 1;
}

/* The longest run of one type, over region borders. */
static void note_runs(const struct mt_interval_list *list, struct mt_levels *out)
{
    uint64_t run_base = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        const struct mt_interval *v = &list->items[i];
        int64_t *largest = &out->type[v->type].value[MT_COLUMN_LARGEST];

        if (i == 0 || list->items[i - 1].end != v->base || list->items[i - 1].type != v->type)
            run_base = v->base;
        if ((int64_t)(v->end - run_base) > *largest)
            *largest = (int64_t)(v->end - run_base);
    }
}

static void add_hole(struct mt_type_level *free_level, uint64_t base, uint64_t end)
{
    int64_t bytes = (int64_t)(end - base);

    if (end <= base)
        return;
    free_level->value[MT_COLUMN_SIZE] += bytes;
    free_level->value[MT_COLUMN_BLOCKS]++;
    if (bytes > free_level->value[MT_COLUMN_LARGEST])
        free_level->value[MT_COLUMN_LARGEST] = bytes;
}

static void add_free(const struct mt_snapshot *s, struct mt_type_level *level)
{
    uint64_t at = s->space_base;

    for (uint32_t i = 0; i < s->n_regions && at < s->space_end; i++) {
        const struct mt_region *r = &s->regions[i];

        if (r->flags & MT_REGION_OUTSIDE)
            continue;
        add_hole(level, at, r->base < s->space_end ? r->base : s->space_end);
        if (r->end > at)
            at = r->end;
    }
    add_hole(level, at, s->space_end);
}

/* Page tables are kernel memory held for this process: no address space, not in its working set. */
static void add_page_tables(const struct mt_counters *counters, struct mt_type_level *level)
{
    if (counters->known >> MT_COUNTER_PAGE_TABLE & 1u)
        level->value[MT_COLUMN_PRIVATE] = (int64_t)counters->value[MT_COUNTER_PAGE_TABLE];
    else
        level->known &= ~BIT(PRIVATE);
}

static uint32_t check_sums(const struct mt_snapshot *s, const struct mt_levels *levels)
{
    uint64_t regions = 0, regions_ws = 0, types = 0, types_ws = 0;
    bool ws_known = true;

    for (uint32_t i = 0; i < s->n_regions; i++) {
        const struct mt_region *r = &s->regions[i];

        if (r->flags & MT_REGION_OUTSIDE)
            continue;
        regions += r->end - r->base;
        regions_ws += r->pages.bytes[MT_PAGE_RESIDENT] + r->pages.bytes[MT_PAGE_HUGETLB_PRIVATE] +
                      r->pages.bytes[MT_PAGE_HUGETLB_SHARED];
        ws_known = ws_known && (r->pages.known & PAGE(RESIDENT));
    }
    for (unsigned t = 1; t < MT_TYPE_CAPACITY; t++) {
        if (t == MT_TYPE_FREE)
            continue;
        types += (uint64_t)levels->type[t].value[MT_COLUMN_SIZE];
        types_ws += (uint64_t)levels->type[t].value[MT_COLUMN_WS];
    }
    return types == regions && (!ws_known || types_ws == regions_ws) ? 0 : MT_SAMPLE_SUM_OFF;
}

uint32_t mt_classify_totals(const struct mt_snapshot *snapshot, const struct mt_interval_list *list,
                            const struct mt_counters *counters, struct mt_levels *out)
{
    uint64_t present = out->present;

    memset(out, 0, sizeof(*out));
    out->present = present;
    for (unsigned t = 1; t < MT_TYPE_BUILTIN_END; t++)
        out->present |= UINT64_C(1) << t;
    for (unsigned t = 1; t < MT_TYPE_CAPACITY; t++)
        out->type[t].known = MT_COLUMNS_ALL;
    for (uint32_t i = 0; i < list->n; i++) {
        add_interval(&out->type[list->items[i].type], &list->items[i], snapshot->strings);
        out->present |= UINT64_C(1) << list->items[i].type;
    }
    note_runs(list, out);
    add_free(snapshot, &out->type[MT_TYPE_FREE]);
    add_page_tables(counters, &out->type[MT_TYPE_PAGE_TABLE]);
    return check_sums(snapshot, out);
}
