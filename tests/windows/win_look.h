/* SPDX-License-Identifier: MIT */
/* One whole look at this process without a tracer: regions, owners, types, totals. */
#ifndef TEST_WINDOWS_WIN_LOOK_H
#define TEST_WINDOWS_WIN_LOOK_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/os/windows/win_api.h"
#include "claim/claim.h"
#include "classify/classify.h"
#include "source/source.h"

#include <psapi.h>

#define LOOK_REGIONS 32768
#define KIB(n) ((int64_t)(n)*1024)
#define MIB(n) ((int64_t)(n)*1024 * 1024)

static struct {
    struct mt_strings *strings;
    struct mt_source *source;
    struct mt_claimer *claimer;
    struct mt_snapshot snapshot;
    struct mt_claim_set claims;
    struct mt_interval_list list;
    uint32_t *scratch;
    struct mt_counters counters;
    struct mt_levels levels;
    uint32_t flags;
} look;

static inline void look_now(void)
{
    uint32_t next = 0;

    look.counters.known = 0;
    assert_int_equal(look.source->ops->counters(look.source, &look.counters), 0);
    assert_int_equal(look.source->ops->list(look.source, &look.snapshot, true), 0);
    assert_int_equal(mt_claimer_collect(look.claimer, &look.snapshot, &look.claims), 0);
    mt_claim_own(&look.claims, look.strings);
    mt_classify_overlay(&look.snapshot, look.claims.claims, look.claims.n_claims, look.scratch,
                        &look.list);
    assert_int_equal(look.source->ops->count(look.source, &look.snapshot, look.list.items,
                                             look.list.n, &next, 0),
                     0);
    assert_int_equal(next, look.list.n);
    mt_classify_settle(&look.snapshot, &look.list);
    look.levels.present = 0;
    look.flags = look.snapshot.flags |
                 mt_classify_totals(&look.snapshot, &look.list, &look.counters, &look.levels);
}

/* Warm, so that two looks without anything between them are equal. */
static inline int look_begin(void **state)
{
    const struct mt_claim_symbols symbols = {.allocator = 0};

    (void)state;
    if (mt_strings_new(65536, 4u << 20, &look.strings) || mt_source_open_process(0, &look.source) ||
        mt_claimer_open(0, &symbols, look.strings, &look.claimer) ||
        mt_snapshot_init(&look.snapshot, look.strings, LOOK_REGIONS) ||
        mt_claim_set_init(&look.claims, LOOK_REGIONS, 1024, 1024) ||
        mt_interval_list_init(&look.list, 2 * LOOK_REGIONS))
        return -1;
    look.scratch = mt_memory_alloc(2 * LOOK_REGIONS * sizeof(*look.scratch));
    for (int i = 0; i < 3; i++)
        look_now();
    return look.scratch ? 0 : -1;
}

static inline int look_end(void **state)
{
    (void)state;
    mt_memory_free(look.scratch);
    mt_interval_list_release(&look.list);
    mt_claim_set_release(&look.claims);
    mt_snapshot_release(&look.snapshot);
    mt_claimer_close(look.claimer);
    look.source->ops->close(look.source);
    mt_strings_free(look.strings);
    return 0;
}

static inline int64_t look_value(unsigned type, unsigned column)
{
    assert_true(look.levels.type[type].known >> column & 1u);
    return look.levels.type[type].value[column];
}

/* The address space that a program can have, by the system. */
static inline int64_t look_span(void)
{
    SYSTEM_INFO info;

    GetSystemInfo(&info);
    return (int64_t)((uintptr_t)info.lpMaximumApplicationAddress + 1 -
                     (uintptr_t)info.lpMinimumApplicationAddress);
}

static inline int64_t look_sum(void)
{
    int64_t sum = 0;

    for (unsigned t = 1; t < MT_TYPE_CAPACITY; t++)
        sum += look.levels.type[t].value[MT_COLUMN_SIZE];
    return sum;
}

/* The interval that holds an address; fails when there is none. */
static inline const struct mt_interval *look_at(const void *address)
{
    for (uint32_t i = 0; i < look.list.n; i++)
        if (look.list.items[i].base <= (uintptr_t)address &&
            (uintptr_t)address < look.list.items[i].end)
            return &look.list.items[i];
    fail_msg("no interval holds %p", (const void *)address);
    return NULL;
}

/* Writes to each page. */
static inline void touch(void *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096)
        ((volatile char *)p)[i] = 1;
}

#endif
