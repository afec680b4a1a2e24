/* SPDX-License-Identifier: MIT */
/* source/linux: the list of the last look → the list now, by what the kernel's sums say.
 * In: the list, the sizes of then and of now. Out: the list, with the one mapping that accounts for
 * the difference. Called by listing.c, for looks at what changed in a process whose list is long.
 * Must not guess: sums that do not add up to the byte, in each kind, mean that the list is read.
 * What it cannot see are equal and opposite changes within a kind, names, advice that splits a
 * mapping, and rights that no sum hangs on (to read; to execute what is writable; to write what is
 * shared; any of what grows down), for a while that keep_ns() bounds; where resident memory does
 * not add up either the sampler has the list read at once.
 * Uses: mapping_query.c; VmSize, VmData, VmStk, VmExe, VmLib, VmLck, Threads of /proc/PID/status.
 */
#include "source/linux/follow.h"

#include <string.h>

#include "base/compiler.h"
#include "base/os/os.h"
#include "source/linux/list_text.h"
#include "source/linux/mapping_query.h"
#include "source/linux/maps.h"
#include "source/linux/status.h"

/* Reading the list takes one part in READ_SHARE of the time, but for these bounds: a short list is
 * kept for one of ten ticks a second. */
#define READ_SHARE 1000
#define SHORTEST_NS (INT64_C(150) * 1000000)
#define LONGEST_NS (INT64_C(10) * 1000000000)

/* The kernel takes the highest gap that is large enough, or with huge pages one of the next. */
#define PLACES_MOST 8

static const struct mt_status_key keys[MT_SIZE_COUNT] = {
    {"VmSize", 1024, MT_SIZE_ALL},   {"VmData", 1024, MT_SIZE_DATA},
    {"VmStk", 1024, MT_SIZE_STACK},  {"VmExe", 1024, MT_SIZE_PROGRAM},
    {"VmLib", 1024, MT_SIZE_CODE},   {"VmLck", 1024, MT_SIZE_LOCKED},
    {"Threads", 1, MT_SIZE_THREADS},
};

#define ALL_KNOWN ((1u << MT_SIZE_COUNT) - 1)

void mt_sizes_line(const char *line, size_t n_bytes, struct mt_sizes *out)
{
    uint64_t value;
    const struct mt_status_key *key = mt_status_value(line, n_bytes, keys, MT_SIZE_COUNT, &value);

    if (!key)
        return;
    out->value[key->id] = value;
    out->known |= 1u << key->id;
}

static bool are_equal(const struct mt_sizes *a, const struct mt_sizes *b)
{
    return a->known == ALL_KNOWN && b->known == ALL_KNOWN &&
           !memcmp(a->value, b->value, sizeof(a->value));
}

static int64_t keep_ns(int64_t cost_ns)
{
    if (cost_ns > LONGEST_NS / READ_SHARE)
        return LONGEST_NS;
    return cost_ns * READ_SHARE > SHORTEST_NS ? cost_ns * READ_SHARE : SHORTEST_NS;
}

void mt_follow_begin(struct mt_follow *f, struct mt_snapshot *list, int64_t begun_ns,
                     int64_t cost_ns)
{
    f->then = f->now;
    f->list = list;
    list->keep_until_ns = begun_ns + keep_ns(cost_ns);
    f->sure = false;
}

/* What was mapped between the sizes and the list may be in both or in one: only where the next
 * sizes are the same is it known that nothing was. */
void mt_follow_sizes(struct mt_follow *f, const struct mt_sizes *sizes)
{
    f->now = *sizes;
    if (!f->sure && !are_equal(&f->then, &f->now))
        f->list = NULL;
    f->sure = true;
}

/* ---- the one mapping ---- */

struct search {
    const struct mt_follow *f;
    int maps;
    struct mt_snapshot *list;
    int64_t bytes;           /* to be accounted for */
    struct mt_region found;  /* takes the place … */
    uint32_t first, old_end; /* … of these; found.end 0: leaves it empty */
};

static int64_t moved(const struct mt_follow *f, enum mt_size which)
{
    return (int64_t)(f->now.value[which] - f->then.value[which]);
}

static int64_t bytes_of(const struct mt_region *r)
{
    return (int64_t)(r->end - r->base);
}

/* Whether such memory would have moved the other sizes as they moved. */
static bool kinds_agree(const struct search *s, const struct mt_region *kind)
{
    bool shared = (kind->flags & MT_REGION_SHARED) != 0;
    bool writable = (kind->protection & MT_PROT_WRITE) != 0;
    bool executable = (kind->protection & MT_PROT_EXECUTE) != 0;

    return moved(s->f, MT_SIZE_DATA) == (writable && !shared ? s->bytes : 0) &&
           moved(s->f, MT_SIZE_CODE) == (executable && !writable ? s->bytes : 0);
}

static bool same_kind(const struct mt_region *a, const struct mt_region *b)
{
    return a->protection == b->protection && !((a->flags ^ b->flags) & MT_REGION_SHARED);
}

/* Takes `found` in the place of the regions [first, old_end) if that accounts for all. */
static bool accounts(struct search *s, uint32_t first, uint32_t old_end,
                     const struct mt_region *found)
{
    const struct mt_region *old = old_end > first ? &s->list->regions[first] : NULL;
    int64_t bytes = (found ? bytes_of(found) : 0) - (old ? bytes_of(old) : 0);

    if (bytes != s->bytes || (found && old && !same_kind(found, old)) ||
        !kinds_agree(s, found ? found : old))
        return false;
    s->found = found ? *found : (struct mt_region){.base = 0};
    s->first = first;
    s->old_end = old_end;
    return true;
}

/* Looks for memory that was added between region `i` and the next. */
static bool look_above(struct search *s, uint32_t i)
{
    const struct mt_region *below = &s->list->regions[i], *above = below + 1;
    struct mt_region r;

    if (mt_mapping_query(s->maps, below->end, &r) != 1 || r.base >= above->base)
        return false;
    if (r.base == below->base && r.end <= above->base) /* grew upwards */
        return accounts(s, i, i + 1, &r);
    if (r.base >= below->end && r.end <= above->base)
        return accounts(s, i + 1, i + 1, &r);
    /* grew downwards */
    return r.base >= below->end && r.end == above->end && accounts(s, i + 1, i + 2, &r);
}

static uint64_t gap_above(const struct mt_snapshot *list, uint32_t i)
{
    return i + 1 < list->n_regions ? list->regions[i + 1].base - list->regions[i].end : 0;
}

static bool is_brk(const struct mt_snapshot *list, uint32_t i)
{
    return !strcmp(mt_strings_get(list->strings, list->regions[i].name, NULL), "[heap]");
}

/* The brk area lies between the program and all else: near the lower end of the list. */
static uint32_t brk_area(const struct mt_snapshot *list)
{
    for (uint32_t i = 0; i < list->n_regions && i < 64; i++)
        if (is_brk(list, i))
            return i;
    return list->n_regions;
}

static bool find_added(struct search *s)
{
    uint32_t brk = brk_area(s->list), places = 0;

    if (brk + 1 < s->list->n_regions && look_above(s, brk))
        return true;
    for (uint32_t i = s->list->n_regions; i-- > 0 && places < PLACES_MOST;) {
        if (gap_above(s->list, i) < (uint64_t)s->bytes || i == brk)
            continue;
        if (look_above(s, i))
            return true;
        places++;
    }
    return false;
}

/* Looks whether region `i` is gone, or has lost an end. Where there is nothing, nor above it, it
 * may be [vsyscall]: in the list, in no sum, and found by no question. */
static bool look_at(struct search *s, uint32_t i)
{
    const struct mt_region *old = &s->list->regions[i];
    struct mt_region r;

    if (mt_mapping_query(s->maps, old->base, &r) != 1)
        return false;
    if (r.base >= old->end)
        return accounts(s, i, i + 1, NULL);
    return r.base >= old->base && r.end <= old->end && accounts(s, i, i + 1, &r);
}

static bool find_lost(struct search *s)
{
    uint32_t brk = brk_area(s->list), places = 0;

    if (brk < s->list->n_regions && look_at(s, brk))
        return true;
    for (uint32_t i = 0; i < s->list->n_regions && places < PLACES_MOST; i++) {
        if (bytes_of(&s->list->regions[i]) != -s->bytes)
            continue;
        if (look_at(s, i))
            return true;
        places++;
    }
    return false;
}

/* ---- the list with it ---- */

/* Puts it where search found it. The line is of a second question: the mapping must be the same. */
static bool replace(struct search *s, struct mt_list_text *text, char *line, size_t line_bytes)
{
    struct mt_snapshot *list = s->list;
    uint32_t n_put = s->found.end > 0;
    struct mt_region r;
    const char *name;
    size_t bytes = 0, name_bytes;

    if (n_put) {
        bytes = mt_mapping_line(s->maps, s->found.base, line, line_bytes);
        if (bytes == 0 || !mt_maps_parse(line, bytes, &r, &name, &name_bytes) ||
            r.base != s->found.base || r.end != s->found.end || !same_kind(&r, &s->found) ||
            list->n_regions - (s->old_end - s->first) + 1 > list->capacity)
            return false;
        r.name = name_bytes > 0 ? mt_strings_add(list->strings, name, name_bytes) : 0;
        if (s->old_end > s->first && r.name != list->regions[s->first].name)
            return false;
    }
    if (!mt_list_text_replace(text, s->first, s->old_end, line, bytes))
        return false;
    memmove(list->regions + s->first + n_put, list->regions + s->old_end,
            (list->n_regions - s->old_end) * sizeof(*list->regions));
    list->n_regions = list->n_regions - (s->old_end - s->first) + n_put;
    if (n_put)
        list->regions[s->first] = r;
    return true;
}

static bool may_be_followed(const struct mt_follow *f, const struct mt_snapshot *list,
                            const struct mt_list_text *text)
{
    return f->list == list && f->sure && f->now.known == ALL_KNOWN &&
           text->n_lines == list->n_regions && !list->flags &&
           mt_os_monotonic_ns() < list->keep_until_ns;
}

/* Sizes that no single mapping of an ordinary kind moves. */
static bool moved_otherwise(const struct mt_follow *f)
{
    return moved(f, MT_SIZE_STACK) || moved(f, MT_SIZE_PROGRAM) || moved(f, MT_SIZE_LOCKED) ||
           moved(f, MT_SIZE_THREADS);
}

bool mt_follow_list(struct mt_follow *f, int maps, struct mt_snapshot *list,
                    struct mt_list_text *text, char *scratch, size_t scratch_bytes)
{
    struct search s = {.f = f, .maps = maps, .list = list, .bytes = moved(f, MT_SIZE_ALL)};

    if (!may_be_followed(f, list, text))
        return false;
    if (are_equal(&f->then, &f->now))
        return true;
    if (s.bytes == 0 || moved_otherwise(f) || !(s.bytes > 0 ? find_added(&s) : find_lost(&s)) ||
        !replace(&s, text, scratch, scratch_bytes))
        return false;
    f->then = f->now;
    f->sure = false;
    return true;
}
