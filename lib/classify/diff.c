/* SPDX-License-Identifier: MIT */
/* classify: two moments → what began, ended, continued.
 * In: the lists of the sample before and of this one. Out: rows inherited, ended rows.
 * Called by sampler/tick.c. Both lists are sorted and free of overlap, so bases and ends are in
 * the same order: two merge walks match everything, after the equal ends were set aside. Must not
 * allocate. */
#include "classify/classify.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

int mt_change_list_init(struct mt_change_list *out, uint32_t capacity)
{
    int64_t *rows = mt_memory_alloc((size_t)capacity * 2 * sizeof(*rows));

    if (!rows)
        return mt_error_set(TRACER_ENOMEM, "no address space for %u changes", capacity);
    *out =
        (struct mt_change_list){.ended = rows, .continued = rows + capacity, .capacity = capacity};
    return TRACER_OK;
}

bool mt_change_list_grow(struct mt_change_list *l, uint32_t capacity)
{
    struct mt_change_list larger;

    if (mt_change_list_init(&larger, capacity))
        return false;
    mt_change_list_release(l);
    *l = larger;
    return true;
}

void mt_change_list_release(struct mt_change_list *l)
{
    mt_memory_free(l->ended);
    *l = (struct mt_change_list){.ended = NULL};
}

static bool same_object(const struct mt_interval *a, const struct mt_interval *b)
{
    return a->name == b->name && a->inode == b->inode && a->device == b->device &&
           ((a->region_flags ^ b->region_flags) & MT_REGION_SHARED) == 0;
}

static bool same_owner(const struct mt_interval *a, const struct mt_interval *b)
{
    return a->type == b->type && a->owner == b->owner && a->thread == b->thread &&
           a->confidence == b->confidence && a->claim_flags == b->claim_flags;
}

static bool same_place(const struct mt_interval *a, const struct mt_interval *b)
{
    return a->base == b->base && a->end == b->end;
}

static bool unchanged(const struct mt_interval *a, const struct mt_interval *b)
{
    return same_place(a, b) && same_object(a, b) && same_owner(a, b) &&
           a->protection == b->protection && a->offset == b->offset;
}

/* The same thing in another size, protection or, at the very same place, under another owner. */
static bool continues(const struct mt_interval *a, const struct mt_interval *b)
{
    return same_object(a, b) && (a->type == b->type || same_place(a, b));
}

struct walk {
    const struct mt_interval_list *before;
    struct mt_interval_list *after;
    struct mt_change_list *out;
    uint32_t first, before_end, after_end; /* what is not equal at both ends of the lists */
};

/* Why pages are private is found out now and then; until then it is as it was. */
static void inherit_why(const struct mt_interval *old, struct mt_interval *now)
{
    bool same = now->explained && old->explained && now->relocated == old->relocated &&
                now->written == old->written;

    now->recorded_why = old->recorded_why && (same || !now->explained);
    if (now->explained)
        return;
    now->explained = old->explained;
    now->relocated = old->relocated;
    now->written = old->written;
}

static void take_row(const struct mt_interval *old, struct mt_interval *now)
{
    now->row = old->row;
    now->recorded_ws = old->recorded_ws;
    now->recorded_swap = old->recorded_swap;
    inherit_why(old, now);
}

/* Most of two lists is equal, from both ends: what is between is all that needs the walks. */
static void match_ends(struct walk *w)
{
    const struct mt_interval *old = w->before->items;
    struct mt_interval *now = w->after->items;
    uint32_t i = w->before->n, j = w->after->n, first = 0;

    while (first < i && first < j && unchanged(&old[first], &now[first])) {
        take_row(&old[first], &now[first]);
        first++;
    }
    while (i > first && j > first && unchanged(&old[i - 1], &now[j - 1]))
        take_row(&old[--i], &now[--j]);
    w->first = first;
    w->before_end = i;
    w->after_end = j;
}

static void inherit(struct walk *w, uint32_t i, uint32_t j)
{
    const struct mt_interval *old = &w->before->items[i];
    struct mt_interval *now = &w->after->items[j];

    if (unchanged(old, now)) {
        take_row(old, now);
    } else if (old->row && continues(old, now)) {
        w->out->continued[j] = old->row;
    }
}

static void match_by_base(struct walk *w)
{
    uint32_t i = w->first, j = w->first;

    while (i < w->before_end && j < w->after_end) {
        uint64_t old = w->before->items[i].base, now = w->after->items[j].base;

        if (old == now)
            inherit(w, i, j);
        i += old <= now;
        j += now <= old;
    }
}

/* Memory that grows downwards keeps its end. Only what the first walk left alone is matched. */
static void match_by_end(struct walk *w)
{
    uint32_t i = w->first, j = w->first;

    while (i < w->before_end && j < w->after_end) {
        const struct mt_interval *old = &w->before->items[i];
        struct mt_interval *now = &w->after->items[j];

        if (old->end == now->end && old->base != now->base && !now->row && !w->out->continued[j] &&
            old->row && same_object(old, now) && same_owner(old, now))
            w->out->continued[j] = old->row;
        i += w->before->items[i].end <= now->end;
        j += now->end <= old->end;
    }
}

/* A row ended when no interval of the new list carries it on unchanged. Inherited rows appear in
 * the same order in both lists. */
static void collect_ended(struct walk *w)
{
    uint32_t j = w->first;

    for (uint32_t i = w->first; i < w->before_end; i++) {
        const struct mt_interval *old = &w->before->items[i];

        while (j < w->after_end && w->after->items[j].base < old->base)
            j++;
        if (!old->row || (j < w->after_end && w->after->items[j].row == old->row))
            continue;
        if (w->out->n_ended < w->out->capacity)
            w->out->ended[w->out->n_ended++] = old->row;
    }
}

void mt_classify_diff(const struct mt_interval_list *before, struct mt_interval_list *after,
                      struct mt_change_list *out)
{
    struct walk w = {.before = before, .after = after, .out = out};

    out->n_ended = 0;
    out->n_new = 0;
    memset(out->continued, 0, after->n * sizeof(*out->continued));
    match_ends(&w);
    match_by_base(&w);
    match_by_end(&w);
    collect_ended(&w);
    for (uint32_t j = 0; j < after->n; j++)
        out->n_new += after->items[j].row == 0;
}

static bool same_module(const struct mt_module *a, const struct mt_module *b)
{
    return a->base == b->base && a->end == b->end && a->path == b->path &&
           a->build_id_bytes == b->build_id_bytes &&
           !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

uint32_t mt_classify_diff_modules(const struct mt_module *before, uint32_t n_before,
                                  struct mt_module *after, uint32_t n_after, int64_t *ended)
{
    uint32_t n_ended = 0, j = 0;

    for (uint32_t i = 0; i < n_before; i++) {
        while (j < n_after && after[j].base < before[i].base)
            j++;
        if (j < n_after && same_module(&before[i], &after[j]))
            after[j].row = before[i].row;
        else if (before[i].row)
            ended[n_ended++] = before[i].row;
    }
    return n_ended;
}

static bool same_thread(const struct mt_thread *a, const struct mt_thread *b)
{
    return a->tid == b->tid && a->start_ticks == b->start_ticks && a->name == b->name &&
           a->stack_base == b->stack_base && a->stack_bytes == b->stack_bytes;
}

uint32_t mt_classify_diff_threads(const struct mt_thread *before, uint32_t n_before,
                                  struct mt_thread *after, uint32_t n_after, int64_t *ended)
{
    uint32_t n_ended = 0, j = 0;

    for (uint32_t i = 0; i < n_before; i++) {
        while (j < n_after && after[j].tid < before[i].tid)
            j++;
        if (j < n_after && same_thread(&before[i], &after[j]))
            after[j].row = before[i].row;
        else if (before[i].row)
            ended[n_ended++] = before[i].row;
    }
    return n_ended;
}
