/* SPDX-License-Identifier: MIT */
/* source/windows: which pages are in the working set, and who else has them.
 * In: intervals. Out: their page counts. Called by win_source.c. Must not touch the pages: only
 * what is committed and accessible is asked for, in batches from one buffer, so that no guard page
 * is sprung and no list has to be made again because the working set has grown meanwhile.
 * Uses: QueryWorkingSetEx. */
#include "source/windows/win_source.h"

#include <string.h>

#include "base/os/os.h"

/* Of 8 and more sharers the system says 7. */
static void add_page(struct mt_pages *pages, PSAPI_WORKING_SET_EX_BLOCK page, uint32_t page_bytes)
{
    if (!page.Valid)
        return;
    pages->bytes[MT_PAGE_RESIDENT] += page_bytes;
    if (!page.Shared)
        pages->bytes[MT_PAGE_ANONYMOUS] += page_bytes;
    else if (page.ShareCount > 1)
        pages->bytes[MT_PAGE_SHARED] += page_bytes;
    if (page.Locked)
        pages->bytes[MT_PAGE_LOCKED] += page_bytes;
    if (page.LargePage)
        pages->bytes[MT_PAGE_HUGE] += page_bytes;
}

/* False = the call failed. */
static bool count_batch(const struct win_counting *c, uint64_t base, uint32_t n,
                        struct mt_pages *pages)
{
    for (uint32_t i = 0; i < n; i++)
        c->batch[i].VirtualAddress = (void *)(uintptr_t)(base + (uint64_t)i * c->page_bytes);
    if (!c->calls->working_set(c->calls->user, c->batch, n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        add_page(pages, c->batch[i].VirtualAttributes, c->page_bytes);
    return true;
}

/* What is not accessible has no pages in the working set: that is known without asking. */
static bool has_pages(const struct mt_interval *v)
{
    return (v->region_flags & MT_REGION_COMMITTED) && v->protection;
}

static uint64_t private_bytes(const struct mt_interval *v, const struct mt_pages *pages)
{
    return v->region_flags & MT_REGION_CHARGED ? v->end - v->base : pages->bytes[MT_PAGE_ANONYMOUS];
}

/* What was broken off goes on where it was if it begins where it did: memory that grows every time
 * would never be done otherwise. Pages of two looks, no older than AGE_NS, are then in one sum. */
static struct win_begun begin(struct win_counting *c, const struct mt_interval *v)
{
    struct win_begun now = {.base = v->base, .at = v->base, .pages = {.known = c->known}};

    if (c->begun.base == v->base && c->begun.at > v->base && c->begun.at <= v->end) {
        now = c->begun;
        c->begun.at = 0;
    }
    return now;
}

static void break_off(struct win_counting *c, const struct win_begun *now)
{
    c->begun = *now;
    c->begun.left_ns = mt_os_monotonic_ns();
}

/* False = the deadline has passed, or the call failed; the interval then stays uncounted. */
static bool count_interval(struct win_counting *c, struct mt_interval *v, int64_t deadline_ns,
                           bool *out_late)
{
    struct win_begun now = begin(c, v);
    uint64_t batch_bytes = (uint64_t)WIN_BATCH_PAGES * c->page_bytes;

    while (has_pages(v) && now.at < v->end) {
        uint64_t bytes = v->end - now.at < batch_bytes ? v->end - now.at : batch_bytes;

        *out_late = deadline_ns && mt_os_monotonic_ns() >= deadline_ns;
        if (*out_late)
            break_off(c, &now);
        if (*out_late || !count_batch(c, now.at, (uint32_t)(bytes / c->page_bytes), &now.pages))
            return false;
        now.at += bytes;
    }
    now.pages.bytes[MT_PAGE_PRIVATE] = private_bytes(v, &now.pages);
    v->pages = now.pages;
    return true;
}

/* ---- memtracer's own blocks ----
 * They are large and hardly touched; in a small program they would be most of what is counted.
 * Between two looks in full depth they are counted every AGE_NS. */

#define AGE_NS (INT64_C(10) * 1000000000)

void win_count_forget(struct win_counting *c)
{
    c->n_own = 0;
    c->begun.at = 0;
}

static void forget_what_is_old(struct win_counting *c)
{
    int64_t now_ns = mt_os_monotonic_ns();

    if (now_ns - c->own_ns >= AGE_NS)
        c->n_own = 0;
    if (now_ns - c->begun.left_ns >= AGE_NS)
        c->begun.at = 0;
}

static const struct win_own_block *find_own(const struct win_counting *c,
                                            const struct mt_interval *v)
{
    for (uint32_t i = 0; i < c->n_own; i++)
        if (c->own[i].base == v->base && c->own[i].end == v->end)
            return &c->own[i];
    return NULL;
}

static void keep_own(struct win_counting *c, const struct mt_interval *v)
{
    if (c->n_own == 0)
        c->own_ns = mt_os_monotonic_ns();
    if (c->n_own < WIN_OWN_BLOCKS)
        c->own[c->n_own++] = (struct win_own_block){v->base, v->end, v->pages};
}

static void count_own(struct win_counting *c, struct mt_interval *v, int64_t deadline_ns,
                      bool *out_late)
{
    const struct win_own_block *known = find_own(c, v);

    if (known)
        v->pages = known->pages;
    else if (count_interval(c, v, deadline_ns, out_late))
        keep_own(c, v);
}

int win_count(struct win_counting *c, struct mt_interval *intervals, uint32_t n_intervals,
              uint32_t *next, int64_t deadline_ns)
{
    bool late = false;

    forget_what_is_old(c);
    for (; *next < n_intervals; (*next)++) {
        struct mt_interval *v = &intervals[*next];

        if (v->pages.known)
            continue;
        if (v->type == MT_TYPE_TRACER)
            count_own(c, v, deadline_ns, &late);
        else
            count_interval(c, v, deadline_ns, &late);
        if (late)
            break;
    }
    return TRACER_OK;
}
