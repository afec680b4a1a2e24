/* SPDX-License-Identifier: MIT */
/* source/linux: a record of smaps → page counts and flags of its region.
 * In: "Key: value" lines by key, in any order. Out: region.pages, flags, page size.
 * Called by listing.c. Pure. Must not take absence for 0: kernels differ in their keys; a kind
 * of page that no line spoke of stays unknown, as does one with an impossible value. */
#include "source/linux/smaps.h"

#include <string.h>

#include "base/compiler.h"
#include "source/linux/cursor.h"

#define IGNORED MT_PAGE_COUNT
#define KERNEL_PAGE_SIZE (MT_PAGE_COUNT + 1)
#define VM_FLAGS (MT_PAGE_COUNT + 2)

/* In the order of today's kernels, so that the guess is mostly right. Several keys may add up
 * to one kind. Locked is not here: it is a share (Pss), where bytes are wanted. */
static const struct {
    const char *name;
    unsigned bytes;
    unsigned kind; /* enum mt_page or one of the above */
} keys[] = {
#define KEY(name, kind)                                                                            \
    {                                                                                              \
        name, sizeof(name) - 1, kind                                                               \
    }
    KEY("Size", IGNORED),
    KEY("KernelPageSize", KERNEL_PAGE_SIZE),
    KEY("MMUPageSize", IGNORED),
    KEY("Rss", MT_PAGE_RESIDENT),
    KEY("Pss", MT_PAGE_PSS),
    KEY("Pss_Dirty", IGNORED),
    KEY("Shared_Clean", MT_PAGE_SHARED),
    KEY("Shared_Dirty", MT_PAGE_SHARED),
    KEY("Private_Clean", IGNORED),
    KEY("Private_Dirty", IGNORED),
    KEY("Referenced", IGNORED),
    KEY("Anonymous", MT_PAGE_ANONYMOUS),
    KEY("KSM", IGNORED),
    KEY("LazyFree", MT_PAGE_LAZY_FREE),
    KEY("AnonHugePages", MT_PAGE_HUGE),
    KEY("ShmemPmdMapped", MT_PAGE_HUGE),
    KEY("FilePmdMapped", MT_PAGE_HUGE),
    KEY("Shared_Hugetlb", MT_PAGE_HUGETLB_SHARED),
    KEY("Private_Hugetlb", MT_PAGE_HUGETLB_PRIVATE),
    KEY("Swap", MT_PAGE_SWAP),
    KEY("SwapPss", IGNORED),
    KEY("Locked", IGNORED),
    KEY("THPeligible", IGNORED),
    KEY("ProtectionKey", IGNORED),
    KEY("VmFlags", VM_FLAGS),
#undef KEY
};

#define VM_FLAGS_KEY ((unsigned)MT_COUNT_OF(keys) - 1)
#define VM_FLAGS_BYTES 8u /* with its colon */

static const struct {
    char code[2];
    uint32_t flag;
} vm_flags[] = {
    {{'a', 'c'}, MT_REGION_CHARGED},   {{'n', 'r'}, MT_REGION_NORESERVE},
    {{'h', 't'}, MT_REGION_HUGETLB},   {{'p', 'f'}, MT_REGION_DEVICE},
    {{'i', 'o'}, MT_REGION_DEVICE},    {{'m', 'm'}, MT_REGION_MIXED},
    {{'g', 'd'}, MT_REGION_GROWSDOWN}, {{'n', 'h'}, MT_REGION_STACK_HINT},
    {{'l', 'o'}, MT_REGION_LOCKED},    {{'g', 'u'}, MT_REGION_GUARD_HINT},
    {{'d', 'd'}, MT_REGION_NODUMP},    {{'u', 'm'}, MT_REGION_UFFD},
    {{'u', 'w'}, MT_REGION_UFFD},      {{'u', 'i'}, MT_REGION_UFFD},
    {{'m', 'g'}, MT_REGION_MERGEABLE}, {{'s', 's'}, MT_REGION_SHADOW_STACK},
};

/* `lo` makes resident pages stay; the kernel's own Locked is a share of them. */
static void count_locked(struct mt_region *r)
{
    const uint32_t resident = 1u << MT_PAGE_RESIDENT;

    if (!(r->flags & MT_REGION_FLAGS_KNOWN) || !(r->pages.known & resident))
        return;
    r->pages.known |= 1u << MT_PAGE_LOCKED;
    r->pages.bytes[MT_PAGE_LOCKED] =
        r->flags & MT_REGION_LOCKED ? r->pages.bytes[MT_PAGE_RESIDENT] : 0;
}

void mt_smaps_open(struct mt_smaps *s, struct mt_region *region)
{
    if (s->region) {
        s->region->pages.known &= ~s->impossible;
        count_locked(s->region);
    }
    s->region = region;
    s->impossible = 0;
    s->guess = 0;
    s->at = 0;
    s->at_once = false;
    s->learning.n = 0;
}

static bool is_key(unsigned k, const char *line, size_t n_bytes)
{
    return n_bytes > keys[k].bytes && line[keys[k].bytes] == ':' &&
           !memcmp(keys[k].name, line, keys[k].bytes);
}

static unsigned key_find(unsigned guess, const char *name, size_t bytes)
{
    for (unsigned i = 0; i < MT_COUNT_OF(keys); i++) {
        unsigned k = (guess + i) % MT_COUNT_OF(keys);

        if (keys[k].bytes == bytes && !memcmp(keys[k].name, name, bytes))
            return k;
    }
    return MT_COUNT_OF(keys);
}

static uint32_t parse_flags(struct mt_cursor c)
{
    uint32_t flags = 0;

    for (mt_cursor_blanks(&c); c.end - c.at >= 2; mt_cursor_blanks(&c)) {
        flags |= MT_REGION_FLAGS_KNOWN;
        for (unsigned i = 0; i < MT_COUNT_OF(vm_flags); i++)
            if (!memcmp(vm_flags[i].code, c.at, 2))
                flags |= vm_flags[i].flag;
        c.at += 2;
    }
    return flags;
}

/* Most regions have the flags of the one before. */
static void read_flags(struct mt_smaps *s, struct mt_cursor c)
{
    size_t n = (size_t)(c.end - c.at);

    if (n == 0 || n != s->flags_bytes || memcmp(s->flags_text, c.at, n) != 0) {
        s->flags = parse_flags(c);
        s->flags_bytes = n <= sizeof(s->flags_text) ? n : 0;
        memcpy(s->flags_text, c.at, s->flags_bytes);
    }
    s->region->flags |= s->flags;
}

/* Adds kB to a kind of page. More than the region is large cannot be (a wrapped counter, another
 * kernel's idea of the key). */
static void add_pages(struct mt_smaps *s, unsigned kind, uint64_t kb)
{
    struct mt_region *r = s->region;
    uint64_t size = r->end - r->base;
    uint64_t *sum = &r->pages.bytes[kind];

    if (kb > size / 1024 || kb * 1024 > size - *sum) {
        s->impossible |= 1u << kind;
        return;
    }
    *sum += kb * 1024;
    r->pages.known |= 1u << kind;
}

/* Most values are 0. */
static bool is_zero(struct mt_cursor c)
{
    static const char zero[] = " 0 kB";
    const size_t n = sizeof(zero) - 1;

    return (size_t)(c.end - c.at) > n && !memcmp(c.end - n, zero, n);
}

static void read_value(struct mt_smaps *s, unsigned kind, struct mt_cursor c)
{
    uint64_t kb = 0;

    if (is_zero(c) && kind < MT_PAGE_COUNT) {
        s->region->pages.known |= 1u << kind;
        return;
    }
    mt_cursor_blanks(&c);
    if (!mt_cursor_number(&c, 10, &kb)) {
        if (kind < MT_PAGE_COUNT)
            s->impossible |= 1u << kind;
        return;
    }
    if (kind == KERNEL_PAGE_SIZE)
        s->region->kernel_page_bytes = kb < UINT32_MAX / 1024 ? (uint32_t)kb * 1024 : 0;
    else
        add_pages(s, kind, kb);
}

/* What is no key we know may be a key of tomorrow, or the first line of a record, broken: then
 * its first word holds the hyphen of a range. */
static bool looks_like_range(const char *text, size_t n)
{
    const char *blank = memchr(text, ' ', n);

    return blank && memchr(text, '-', (size_t)(blank - text));
}

/* The key of a line; MT_COUNT_OF(keys) for one that is not known. False = not a line of smaps. */
static bool find_key(const struct mt_smaps *s, const char *line, size_t n_bytes, unsigned *out_key)
{
    const char *colon;

    *out_key = s->guess;
    if (s->guess < MT_COUNT_OF(keys) && is_key(s->guess, line, n_bytes))
        return true;
    colon = n_bytes > 0 ? memchr(line, ':', n_bytes) : NULL;
    if (!colon)
        return false;
    *out_key = key_find(s->guess, line, (size_t)(colon - line));
    return *out_key < MT_COUNT_OF(keys) || !looks_like_range(line, (size_t)(colon - line));
}

/* Remembers where a line stands; the one of VmFlags makes the layout whole. A record of more lines
 * than there are places for teaches nothing. */
static void learn(struct mt_smaps *s, unsigned key, size_t n_bytes)
{
    struct mt_smaps_layout *l = &s->learning;

    if (keys[key].kind == VM_FLAGS) {
        l->bytes = s->at;
        s->layout = *l;
        if (l->n > MT_SMAPS_FIELDS)
            s->layout.n = 0;
    } else if (keys[key].kind != IGNORED) {
        if (l->n < MT_SMAPS_FIELDS) {
            l->fields[l->n].at = s->at;
            l->fields[l->n].bytes = (uint32_t)n_bytes;
            l->fields[l->n].key = key;
        }
        l->n++;
    }
}

bool mt_smaps_line(struct mt_smaps *s, const char *line, size_t n_bytes)
{
    struct mt_cursor c;
    unsigned key;

    if (!find_key(s, line, n_bytes, &key))
        return false;
    if (key < MT_COUNT_OF(keys)) {
        s->guess = key + 1;
        if (!s->at_once)
            learn(s, key, n_bytes);
    }
    s->at += (uint32_t)n_bytes + 1;
    if (key == MT_COUNT_OF(keys) || !s->region || keys[key].kind == IGNORED)
        return true;
    c = (struct mt_cursor){line + keys[key].bytes + 1, line + n_bytes};
    if (keys[key].kind == VM_FLAGS)
        read_flags(s, c);
    else
        read_value(s, keys[key].kind, c);
    return true;
}

/* ---- a whole record at once ---- */

static bool stands_at(const struct mt_smaps_layout *l, const char *text)
{
    for (unsigned i = 0; i < l->n; i++) {
        const char *line = text + l->fields[i].at;

        if (!is_key(l->fields[i].key, line, l->fields[i].bytes) ||
            line[l->fields[i].bytes] != '\n' || (l->fields[i].at > 0 && line[-1] != '\n'))
            return false;
    }
    return text[l->bytes - 1] == '\n' && is_key(VM_FLAGS_KEY, text + l->bytes, VM_FLAGS_BYTES);
}

size_t mt_smaps_body_wanted(const struct mt_smaps *s)
{
    return s->region && s->at == 0 && s->layout.n > 0 ? s->layout.bytes + VM_FLAGS_BYTES : 0;
}

size_t mt_smaps_body(struct mt_smaps *s, const char *text, size_t n_bytes)
{
    const struct mt_smaps_layout *l = &s->layout;
    size_t wanted = mt_smaps_body_wanted(s);

    if (wanted == 0 || n_bytes < wanted || !stands_at(l, text))
        return 0;
    for (unsigned i = 0; i < l->n; i++) {
        const char *line = text + l->fields[i].at;
        unsigned key = l->fields[i].key;

        read_value(s, keys[key].kind,
                   (struct mt_cursor){line + keys[key].bytes + 1, line + l->fields[i].bytes});
    }
    s->at_once = true;
    s->at = l->bytes;
    s->guess = VM_FLAGS_KEY;
    return l->bytes;
}
