/* SPDX-License-Identifier: MIT */
/* claim/linux: blocks of memory that malloc and runtimes map, by the headers inside.
 * In: an address where such a block may begin. Out: its end and whose it is.
 * Called by heap_chunks.c, which walks regions. Must not believe a header alone: each is checked
 * against its own place or size.
 *
 * malloc (glibc): a block mapped alone begins with { 0, bytes | 2 }, bytes in whole pages, up to
 *   glibc 2.42, { 0 or 1, (bytes - 16) | 2 } since.
 * musl (mallocng): a group begins with the address of its descriptor, which has the group's address
 *   and, where the group is a mapping of its own, its number of pages.
 * CPython: an arena is 1 MiB of pools of 16 KiB (256 KiB of 4 KiB before 3.10); the header of a
 *   pool ends with { size class, next free offset, last such offset }, the last of which follows
 *   from the class.
 * Ruby: a page of objects, 16 KiB (3.1) or 64 KiB, aligned to its size, begins with the address of
 *   its descriptor, which has the address of the first object.
 * LuaJIT (lj_alloc): a large object is { 1, (bytes - 32) | 2 }; a segment is a chain of
 *   { size before, size | 1 this is before me in use | 2 I am }, and has no length of its own: it
 *   is taken to reach to what is known next, as a guess.
 * V8: pages at multiples of 256 KiB begin with { bytes, flags, heap, area's start, area's end }. */
#include "claim/linux/provider.h"

#include "base/compiler.h"

#define KIB(n) (UINT64_C(n) << 10)
#define PYTHON_CLASSES 64u
#define PYTHON_ALIGNMENT 16u
#define PYTHON_HEADER 48u
#define RUBY_DESCRIPTOR_WORDS 16u
#define RUBY_START_MOST 512u
#define LUAJIT_DIRECT_FOOT 32u

const struct mt_block_owner mt_block_owners[MT_BLOCK_KINDS] = {
    [MT_BLOCK_MALLOC] = {"malloc block", MT_TYPE_HEAP, MT_RANK_CHUNK, MT_CLAIM_APART},
    [MT_BLOCK_MUSL] = {"malloc group", MT_TYPE_HEAP, MT_RANK_CHUNK, 0},
    [MT_BLOCK_PYTHON] = {"python arenas", MT_TYPE_MANAGED_HEAP, MT_RANK_CHUNK, 0},
    [MT_BLOCK_RUBY] = {"ruby heap", MT_TYPE_MANAGED_HEAP, MT_RANK_CHUNK, 0},
    [MT_BLOCK_LUAJIT] = {"luajit heap", MT_TYPE_MANAGED_HEAP, MT_RANK_CHUNK, 0},
    [MT_BLOCK_V8] = {"v8 heap", MT_TYPE_MANAGED_HEAP, MT_RANK_CHUNK, 0},
};

static bool answer(struct mt_block *out, uint64_t end, enum mt_block_kind kind, char confidence)
{
    *out = (struct mt_block){.end = end, .kind = (uint8_t)kind, .confidence = confidence};
    return true;
}

/* ---- malloc ---- */

#define SIZE_FLAGS 7u
#define SIZE_MAPPED 2u

static bool sizes_fit(const uint64_t *w, uint64_t page, uint64_t *out_bytes)
{
    uint64_t bytes = w[1] & ~(uint64_t)SIZE_FLAGS;

    if ((w[1] & SIZE_FLAGS) != SIZE_MAPPED)
        return false;
    if (w[0] > 1 || (w[0] == 1 && bytes % page == 0))
        return false;
    if (bytes % page != 0)
        bytes += 16;
    *out_bytes = bytes;
    return bytes >= page && bytes % page == 0;
}

bool mt_malloc_block_read(const struct mt_look *look, uint64_t base, uint64_t limit,
                          struct mt_block *out)
{
    uint64_t words[2], bytes;

    if (!mt_remote_read(look->remote, base, words, sizeof(words)) ||
        !sizes_fit(words, look->remote->page_bytes, &bytes) || bytes > limit - base)
        return false;
    *out = (struct mt_block){.end = base + bytes, .confidence = MT_CONFIDENCE_B};
    return true;
}

/* ---- musl ---- */

#define MUSL_PAGES_SHIFT 12
#define MUSL_SKIPPED_PAGES_MOST 64u

struct musl_descriptor {
    uint64_t previous, next, group, masks, sizes;
};

bool mt_musl_block_read(const struct mt_look *look, uint64_t base, uint64_t limit,
                        struct mt_block *out)
{
    struct musl_descriptor d;
    uint64_t at, pages;

    if (!mt_remote_read(look->remote, base, &at, sizeof(at)) || at % 8 ||
        !mt_remote_read(look->remote, at, &d, sizeof(d)) || d.group != base)
        return false;
    pages = d.sizes >> MUSL_PAGES_SHIFT;
    return pages > 0 && pages <= (limit - base) / look->remote->page_bytes &&
           answer(out, base + pages * look->remote->page_bytes, MT_BLOCK_MUSL, MT_CONFIDENCE_B);
}

/* A page of descriptors not yet used, or anything else, may lie before the next group. */
uint64_t mt_musl_next_block(const struct mt_look *look, uint64_t after, uint64_t limit)
{
    uint64_t at = after, page = look->remote->page_bytes;
    struct mt_block b;

    for (unsigned i = 0; i < MUSL_SKIPPED_PAGES_MOST && at < limit; i++, at += page)
        if (mt_musl_block_read(look, at, limit, &b))
            return at;
    return limit;
}

/* ---- CPython ---- */

struct python_pool {
    uint64_t n_used, free, next, previous;
    uint32_t arena, size_class, next_offset, last_offset;
};

static bool is_python_pool(const struct mt_look *look, uint64_t at, uint64_t pool_bytes)
{
    struct python_pool p;

    if (!mt_remote_read(look->remote, at, &p, sizeof(p)))
        return false;
    return p.size_class < PYTHON_CLASSES && (uint32_t)p.n_used <= pool_bytes / PYTHON_ALIGNMENT &&
           p.last_offset == pool_bytes - (p.size_class + 1) * PYTHON_ALIGNMENT &&
           p.next_offset >= PYTHON_HEADER && p.next_offset <= pool_bytes + KIB(1);
}

static bool read_python(const struct mt_look *look, uint64_t base, uint64_t limit,
                        struct mt_block *out)
{
    static const struct {
        uint64_t pool_bytes, arena_bytes;
    } layouts[] = {{KIB(16), KIB(1024)}, {KIB(4), KIB(256)}};

    for (size_t i = 0; i < MT_COUNT_OF(layouts); i++) {
        uint64_t pool = layouts[i].pool_bytes;
        uint64_t first = (base + pool - 1) / pool * pool;

        if (limit - base >= layouts[i].arena_bytes && is_python_pool(look, first, pool))
            return answer(out, base + layouts[i].arena_bytes, MT_BLOCK_PYTHON, MT_CONFIDENCE_B);
    }
    return false;
}

/* ---- Ruby ---- */

static bool is_ruby_page(const struct mt_look *look, uint64_t base)
{
    uint64_t descriptor, words[RUBY_DESCRIPTOR_WORDS];

    if (!mt_remote_read(look->remote, base, &descriptor, sizeof(descriptor)) || descriptor % 8 ||
        !mt_remote_read(look->remote, descriptor, words, sizeof(words)))
        return false;
    for (unsigned i = 0; i < RUBY_DESCRIPTOR_WORDS; i++)
        if (words[i] > base && words[i] - base < RUBY_START_MOST)
            return true;
    return false;
}

static bool read_ruby(const struct mt_look *look, uint64_t base, uint64_t limit,
                      struct mt_block *out)
{
    bool large = base % KIB(64) == 0 && limit - base >= KIB(64);

    if (base % KIB(16) || limit - base < KIB(16) || !is_ruby_page(look, base))
        return false;
    for (uint64_t at = base + KIB(16); large && at < base + KIB(64); at += KIB(16))
        large = !is_ruby_page(look, at);
    return answer(out, base + (large ? KIB(64) : KIB(16)), MT_BLOCK_RUBY, MT_CONFIDENCE_B);
}

/* ---- LuaJIT ---- */

/* `bytes` is the size in its header, less the foot. */
static bool is_luajit_object(const struct mt_look *look, const uint64_t *w, uint64_t bytes)
{
    return w[0] == 1 && (w[1] & 7) == 2 &&
           (bytes + LUAJIT_DIRECT_FOOT) % look->remote->page_bytes == 0;
}

/* The second chunk agrees with the first about whether that is in use. */
static bool is_luajit_segment(const struct mt_look *look, const uint64_t *w, uint64_t base,
                              uint64_t limit)
{
    uint64_t next[2], bytes = w[1] & ~UINT64_C(7);

    if (w[0] != 0 || (w[1] & 5) != 1 ||
        !mt_remote_read(look->remote, base + bytes, next, sizeof(next)))
        return false;
    return (next[1] & 1) == (w[1] >> 1 & 1) && (next[1] & ~UINT64_C(7)) <= limit - base - bytes;
}

static bool read_luajit(const struct mt_look *look, uint64_t base, uint64_t limit,
                        struct mt_block *out)
{
    uint64_t w[2], bytes;

    if (!mt_remote_read(look->remote, base, w, sizeof(w)))
        return false;
    bytes = w[1] & ~UINT64_C(7);
    if (bytes < 2 * sizeof(w) || bytes >= limit - base)
        return false;
    if (is_luajit_object(look, w, bytes) && bytes + LUAJIT_DIRECT_FOOT <= limit - base)
        return answer(out, base + bytes + LUAJIT_DIRECT_FOOT, MT_BLOCK_LUAJIT, MT_CONFIDENCE_B);
    return is_luajit_segment(look, w, base, limit) &&
           answer(out, limit, MT_BLOCK_LUAJIT, MT_CONFIDENCE_C);
}

/* ---- V8 ---- */

static bool read_v8(const struct mt_look *look, uint64_t base, uint64_t limit, struct mt_block *out)
{
    uint64_t w[5], end;

    if (base % KIB(256) || !mt_remote_read(look->remote, base, w, sizeof(w)) || w[0] == 0 ||
        w[0] > limit - base)
        return false;
    end = mt_look_page_up(look, base + w[0]);
    return w[3] > base && w[3] < w[4] && w[4] <= base + w[0] && end <= limit &&
           answer(out, end, MT_BLOCK_V8, MT_CONFIDENCE_B);
}

typedef bool read_fn(const struct mt_look *look, uint64_t base, uint64_t limit,
                     struct mt_block *out);

static const struct {
    enum mt_runtime runtime;
    read_fn *read;
} formats[] = {
    {MT_RUNTIME_CPYTHON, read_python},
    {MT_RUNTIME_RUBY, read_ruby},
    {MT_RUNTIME_LUAJIT, read_luajit},
    {MT_RUNTIME_V8, read_v8},
};

bool mt_runtime_block_read(const struct mt_look *look, uint64_t base, uint64_t limit,
                           struct mt_block *out)
{
    for (size_t i = 0; i < MT_COUNT_OF(formats); i++)
        if ((look->runtimes >> formats[i].runtime & 1) && formats[i].read(look, base, limit, out))
            return true;
    return false;
}
