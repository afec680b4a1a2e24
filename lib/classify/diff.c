/* SPDX-License-Identifier: MIT */
/* classify: two moments → what began, ended, continued.
 * In: the lists of the sample before and of this one. Out: rows inherited, ended rows.
 * Called by sampler/tick.c. Both lists are sorted and free of overlap: one merge walk over what
 * overlaps matches everything, after the equal ends were set aside. Must not allocate. */
#include "classify/classify.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

int mt_change_list_init(struct mt_change_list *out, uint32_t capacity)
{
    int64_t *rows = mt_memory_alloc((size_t)capacity * 3 * sizeof(*rows));

    if (!rows)
        return mt_error_set(TRACER_ENOMEM, "no address space for %u changes", capacity);
    *out = (struct mt_change_list){.ended = rows,
                                   .merged = rows + capacity,
                                   .continued = rows + 2 * (size_t)capacity,
                                   .capacity = capacity};
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

static bool same_place(const struct mt_interval *a, const struct mt_interval *b)
{
    return a->base == b->base && a->end == b->end;
}

/* The same bytes of the same file, whatever its name by now; or nameless memory. */
static bool same_object(const struct mt_interval *a, const struct mt_interval *b)
{
    if ((a->region_flags ^ b->region_flags) & MT_REGION_SHARED)
        return false;
    if (a->inode || b->inode)
        return a->inode == b->inode && a->device == b->device &&
               a->offset - a->base == b->offset - b->base;
    return a->name == b->name || same_place(a, b);
}

static bool same_owner(const struct mt_interval *a, const struct mt_interval *b)
{
    return a->type == b->type && a->owner == b->owner && a->thread == b->thread &&
           a->confidence == b->confidence && a->claim_flags == b->claim_flags;
}

static bool unchanged(const struct mt_interval *a, const struct mt_interval *b)
{
    return same_place(a, b) && same_object(a, b) && same_owner(a, b) && a->name == b->name &&
           a->protection == b->protection && a->offset == b->offset;
}

/* What nobody claimed has its type from what lies around it: a guard, an image's zeroed data. */
static bool is_nobodys(const struct mt_interval *v)
{
    return !v->owner;
}

/* What both hold is the same thing: of a file always; of private memory where it has the same
 * type, or the very same place under another owner. */
static bool continues(const struct mt_interval *a, const struct mt_interval *b)
{
    return same_object(a, b) &&
           (a->type == b->type || a->inode || same_place(a, b) || (is_nobodys(a) && is_nobodys(b)));
}

/* Memory without any right is address space kept for later: giving it rights is growth of what
 * can be used beside it. */
static bool same_use(const struct mt_interval *a, const struct mt_interval *b)
{
    return !a->protection == !b->protection;
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

/* What a new interval has of the old ones that it overlaps. */
struct heritage {
    const struct mt_interval *from; /* the one it continues */
    uint64_t same, kept;            /* bytes that were there; that were there in the same use */
    bool reprotected;
};

/* At a border of `now` its old interval went on: has the byte beyond left it? `beside` is the new
 * interval that ends or begins there, NULL = none. */
static bool lost_beyond(const struct mt_interval *old, const struct mt_interval *now,
                        const struct mt_interval *beside)
{
    if (!beside || !continues(old, beside))
        return true;
    return same_use(old, now) && !same_use(old, beside);
}

static bool has_shrunk(const struct walk *w, const struct mt_interval *old, uint32_t j)
{
    const struct mt_interval *now = &w->after->items[j];
    const struct mt_interval *below = j > w->first ? now - 1 : NULL;
    const struct mt_interval *above = j + 1 < w->after_end ? now + 1 : NULL;

    if (old->base < now->base && old->end > now->base &&
        lost_beyond(old, now, below && below->end == now->base ? below : NULL))
        return true;
    return old->end > now->end && old->base < now->end &&
           lost_beyond(old, now, above && above->base == now->end ? above : NULL);
}

/* The row that an interval continues: by its base, else by its end, else the first. */
static bool is_closer(const struct mt_interval *old, const struct mt_interval *best,
                      const struct mt_interval *now)
{
    return !best || old->base == now->base || (old->end == now->end && best->base != now->base);
}

static void inherit_piece(struct heritage *h, const struct mt_interval *old,
                          const struct mt_interval *now)
{
    uint64_t base = old->base > now->base ? old->base : now->base;
    uint64_t end = old->end < now->end ? old->end : now->end;

    h->same += end - base;
    h->kept += same_use(old, now) ? end - base : 0;
    h->reprotected |= same_use(old, now) && old->protection != now->protection;
    if (is_closer(old, h->from, now))
        h->from = old;
}

/* What happened, as bits of enum mt_change; 0 where comparing with the old row tells the same. */
static uint8_t change_of(const struct heritage *h, const struct mt_interval *now, bool shrank)
{
    uint64_t bytes = now->end - now->base, old_bytes = h->from->end - h->from->base;
    bool grew = h->same < bytes || (h->kept && h->kept < h->same);
    bool reprotected = h->reprotected || !h->kept;

    if (grew == (bytes > old_bytes) && shrank == (bytes < old_bytes) &&
        reprotected == (now->protection != h->from->protection))
        return 0;
    return (uint8_t)(MT_CHANGE_TOLD | (grew ? MT_CHANGE_GREW : 0) |
                     (shrank ? MT_CHANGE_SHRANK : 0) | (reprotected ? MT_CHANGE_PROTECTED : 0));
}

/* Looks at interval `j` and all old ones that it overlaps, from `i` on. */
static void inherit(struct walk *w, uint32_t i, uint32_t j)
{
    struct mt_interval *now = &w->after->items[j];
    struct heritage h = {NULL, 0, 0, false};
    bool shrank = false;

    for (; i < w->before_end && w->before->items[i].base < now->end; i++) {
        const struct mt_interval *old = &w->before->items[i];

        if (unchanged(old, now)) {
            take_row(old, now);
            return;
        }
        if (!old->row || !continues(old, now))
            continue;
        inherit_piece(&h, old, now);
        shrank |= has_shrunk(w, old, j);
    }
    if (!h.from)
        return;
    w->out->continued[j] = h.from->row;
    now->change = change_of(&h, now, shrank);
}

static void match(struct walk *w)
{
    uint32_t i = w->first;

    for (uint32_t j = w->first; j < w->after_end; j++) {
        while (i < w->before_end && w->before->items[i].end <= w->after->items[j].base)
            i++;
        inherit(w, i, j);
    }
}

/* How an old interval that is not unchanged lives on in the new ones from `j` on: a row continues
 * it; or its memory is there, but other rows were closer; or neither. */
static enum fate {
    CONTINUED,
    MERGED,
    GONE
} fate_of(const struct walk *w, const struct mt_interval *old, uint32_t j)
{
    enum fate fate = GONE;

    for (; j < w->after_end && w->after->items[j].base < old->end; j++) {
        if (w->out->continued[j] == old->row)
            return CONTINUED;
        if (continues(old, &w->after->items[j]))
            fate = MERGED;
    }
    return fate;
}

/* A row ended when no interval of the new list carries it on unchanged. */
static void collect_ended(struct walk *w)
{
    struct mt_change_list *out = w->out;
    uint32_t j = w->first;

    for (uint32_t i = w->first; i < w->before_end; i++) {
        const struct mt_interval *old = &w->before->items[i];

        while (j < w->after_end && w->after->items[j].end <= old->base)
            j++;
        if (!old->row || (j < w->after_end && w->after->items[j].row == old->row))
            continue;
        if (out->n_ended + out->n_merged == out->capacity)
            return;
        if (fate_of(w, old, j) == MERGED)
            out->merged[out->n_merged++] = old->row;
        else
            out->ended[out->n_ended++] = old->row;
    }
}

void mt_classify_diff(const struct mt_interval_list *before, struct mt_interval_list *after,
                      struct mt_change_list *out)
{
    struct walk w = {.before = before, .after = after, .out = out};

    out->n_ended = out->n_merged = 0;
    out->n_new = 0;
    memset(out->continued, 0, after->n * sizeof(*out->continued));
    match_ends(&w);
    match(&w);
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
