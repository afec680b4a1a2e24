/* SPDX-License-Identifier: MIT */
/* tools: live ranges of addresses, replayed from calls. In: what was taken and given back, in order
 * of time. Out: what is alive. Called by cmd_sites.c. Knows no file and no SQL. */
#include "replay.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

struct piece {
    uint64_t base, end;
    int64_t owner;
};

/* Sorted by base, without overlaps. */
struct pieces {
    struct piece *items;
    size_t n, capacity;
};

struct replay {
    struct pieces spaces[2];
};

struct replay *replay_new(void)
{
    return need(calloc(1, sizeof(struct replay)));
}

void replay_free(struct replay *r)
{
    if (!r)
        return;
    free(r->spaces[0].items);
    free(r->spaces[1].items);
    free(r);
}

/* The first piece that ends behind `address`. */
static size_t find(const struct pieces *p, uint64_t address)
{
    size_t low = 0, high = p->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (p->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct pieces *p, size_t at, struct piece piece)
{
    if (p->n == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 256;
        p->items = need(realloc(p->items, p->capacity * sizeof(*p->items)));
    }
    memmove(&p->items[at + 1], &p->items[at], (p->n - at) * sizeof(*p->items));
    p->items[at] = piece;
    p->n++;
}

static void erase(struct pieces *p, size_t at, size_t n)
{
    memmove(&p->items[at], &p->items[at + n], (p->n - at - n) * sizeof(*p->items));
    p->n -= n;
}

/* Takes the range out of every piece that it touches. */
static void cut(struct pieces *p, uint64_t base, uint64_t end)
{
    size_t first = find(p, base), last;

    if (first < p->n && p->items[first].base < base) {
        struct piece right = {end, p->items[first].end, p->items[first].owner};

        p->items[first].end = base;
        first++;
        if (right.end > end) {
            insert(p, first, right);
            return;
        }
    }
    for (last = first; last < p->n && p->items[last].end <= end; last++)
        ;
    erase(p, first, last - first);
    if (first < p->n && p->items[first].base < end)
        p->items[first].base = end;
}

void replay_take(struct replay *r, int space, uint64_t base, uint64_t bytes, int64_t owner)
{
    struct pieces *p = &r->spaces[space];

    if (!bytes)
        return;
    cut(p, base, base + bytes);
    insert(p, find(p, base), (struct piece){base, base + bytes, owner});
}

void replay_give(struct replay *r, int space, uint64_t base, uint64_t bytes)
{
    struct pieces *p = &r->spaces[space];
    size_t at = find(p, base);

    if (bytes)
        cut(p, base, base + bytes);
    else if (at < p->n && p->items[at].base == base)
        erase(p, at, 1);
}

void replay_each(const struct replay *r, void (*visit)(void *user, uint64_t bytes, int64_t owner),
                 void *user)
{
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < r->spaces[s].n; i++) {
            const struct piece *p = &r->spaces[s].items[i];

            visit(user, p->end - p->base, p->owner);
        }
}
