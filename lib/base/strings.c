/* SPDX-License-Identifier: MIT */
/* base: names kept once. In: bytes. Out: small ids that stay.
 * Called by source/, claim/ and record/ in the sampler thread. Must not grow: both arrays are
 * reserved at the start, a full table answers with the id that stands for a name's kind. */
#include "base/strings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/memory.h"

#define FULL_ID 1u
#define FULL_TEXT "(name table full)"
#define FORMATTED_BYTES 512
#define KINDS 96u

struct entry {
    uint32_t offset; /* into text */
    uint32_t bytes : 31;
    uint32_t stands_in : 1; /* for names that had no room */
    uint32_t hash;
};

struct kind {
    uint32_t id; /* of what stands for it */
    uint32_t prefix_bytes;
};

struct mt_strings {
    uint32_t n, capacity;
    uint32_t mask; /* of index */
    size_t text_used, text_capacity;
    bool refused; /* some name */
    uint32_t n_kinds;
    struct kind kinds[KINDS];
    struct entry *entries;
    uint32_t *index; /* entry + 1; 0 = empty */
    char *text;
};

/* FNV-1a, for short keys of no hostile intent: a collision costs a memcmp. */
static uint32_t hash_of(const char *bytes, size_t n)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)bytes[i]) * 16777619u;
    return h;
}

static uint32_t power_above(uint32_t n)
{
    uint32_t p = 16;

    while (p < n && p < (1u << 30))
        p *= 2;
    return p;
}

int mt_strings_new(uint32_t n_strings, size_t text_bytes, struct mt_strings **out)
{
    uint32_t slots = power_above(n_strings * 2);
    size_t head = (sizeof(struct mt_strings) + 63) / 64 * 64;
    size_t entries = (size_t)n_strings * sizeof(struct entry);
    size_t index = (size_t)slots * sizeof(uint32_t);
    char *block = mt_memory_alloc(head + entries + index + text_bytes);
    struct mt_strings *s = (struct mt_strings *)(void *)block;

    if (!block)
        return mt_error_set(TRACER_ENOMEM, "no memory for a table of %u names", n_strings);
    s->capacity = n_strings;
    s->mask = slots - 1;
    s->text_capacity = text_bytes;
    s->entries = (struct entry *)(void *)(block + head);
    s->index = (uint32_t *)(void *)(block + head + entries);
    s->text = block + head + entries + index;
    mt_strings_add(s, "", 0);
    s->entries[mt_strings_add(s, FULL_TEXT, sizeof(FULL_TEXT) - 1)].stands_in = 1;
    *out = s;
    return TRACER_OK;
}

void mt_strings_free(struct mt_strings *s)
{
    mt_memory_free(s);
}

void mt_strings_keep_kind(struct mt_strings *s, const char *prefix)
{
    uint32_t whole = mt_strings_add(s, prefix, strlen(prefix)), id;

    if (s->n_kinds == KINDS || s->entries[whole].stands_in)
        return;
    id = mt_strings_addf(s, "%s " FULL_TEXT, prefix);
    if (s->entries[id].stands_in)
        return; /* known already, or there is no room */
    s->entries[id].stands_in = 1;
    s->kinds[s->n_kinds++] = (struct kind){id, (uint32_t)strlen(prefix)};
}

bool mt_strings_has_refused(const struct mt_strings *s)
{
    return s->refused;
}

bool mt_strings_stands_in(const struct mt_strings *s, uint32_t id)
{
    return id < s->n && s->entries[id].stands_in;
}

/* Of the kinds that a name is of, the longest prefix says most. */
static uint32_t stand_in(struct mt_strings *s, const char *bytes, size_t n_bytes)
{
    uint32_t id = FULL_ID, longest = 0;

    s->refused = true;
    for (uint32_t i = 0; i < s->n_kinds; i++) {
        const struct kind *k = &s->kinds[i];

        if (k->prefix_bytes <= longest || k->prefix_bytes > n_bytes ||
            memcmp(s->text + s->entries[k->id].offset, bytes, k->prefix_bytes) != 0)
            continue;
        longest = k->prefix_bytes;
        id = k->id;
    }
    return id;
}

uint32_t mt_strings_add(struct mt_strings *s, const char *bytes, size_t n_bytes)
{
    uint32_t hash = hash_of(bytes, n_bytes);
    uint32_t slot = hash & s->mask;
    struct entry *e;

    for (; s->index[slot]; slot = (slot + 1) & s->mask) {
        e = &s->entries[s->index[slot] - 1];
        if (e->hash == hash && e->bytes == n_bytes && !memcmp(s->text + e->offset, bytes, n_bytes))
            return s->index[slot] - 1;
    }
    if (s->n >= s->capacity || s->text_capacity - s->text_used <= n_bytes)
        return stand_in(s, bytes, n_bytes);
    e = &s->entries[s->n];
    e->offset = (uint32_t)s->text_used;
    e->bytes = (uint32_t)n_bytes & 0x7fffffffu;
    e->stands_in = 0;
    e->hash = hash;
    memcpy(s->text + s->text_used, bytes, n_bytes);
    s->text[s->text_used + n_bytes] = '\0';
    s->text_used += n_bytes + 1;
    s->index[slot] = ++s->n;
    return s->n - 1;
}

uint32_t mt_strings_addf(struct mt_strings *s, const char *format, ...)
{
    char text[FORMATTED_BYTES];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (n < 0)
        return 0;
    return mt_strings_add(s, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

const char *mt_strings_get(const struct mt_strings *s, uint32_t id, size_t *out_bytes)
{
    const struct entry *e = &s->entries[id < s->n ? id : 0];

    if (out_bytes)
        *out_bytes = e->bytes;
    return s->text + e->offset;
}

uint32_t mt_strings_count(const struct mt_strings *s)
{
    return s->n;
}
