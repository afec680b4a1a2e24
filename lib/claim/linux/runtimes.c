/* SPDX-License-Identifier: MIT */
/* claim/linux: memory of managed runtimes, by windows of addresses and shapes of mappings.
 * In: names of modules, regions. Out: MANAGED_HEAP claims of the lowest ranks, most of them
 * heuristic. Called by claimer.c after modules.c. A runtime costs a row in the tables; blocks.c has
 * those whose objects can be found by their headers. */
#include "claim/linux/provider.h"

#include <string.h>

#include "base/compiler.h"

#define KIB(n) (UINT64_C(n) << 10)
#define MIB(n) (UINT64_C(n) << 20)
#define GIB(n) (UINT64_C(n) << 30)

struct by_module {
    const char *prefix; /* of the file's name */
    enum mt_runtime runtime;
};

static const struct by_module modules[] = {
    {"libjvm.so", MT_RUNTIME_JVM},
    {"libnode.so", MT_RUNTIME_V8},
    {"node", MT_RUNTIME_V8},
    {"nodejs", MT_RUNTIME_V8},
    {"libv8", MT_RUNTIME_V8},
    {"chrome", MT_RUNTIME_V8},
    {"electron", MT_RUNTIME_V8},
    {"libpython", MT_RUNTIME_CPYTHON},
    {"python", MT_RUNTIME_CPYTHON},
    {"libruby", MT_RUNTIME_RUBY},
    {"ruby", MT_RUNTIME_RUBY},
    {"libluajit", MT_RUNTIME_LUAJIT},
    {"luajit", MT_RUNTIME_LUAJIT},
    {"libcoreclr.so", MT_RUNTIME_CORECLR},
    {"libclrjit.so", MT_RUNTIME_CORECLR},
};

/* Anonymous writable regions of this shape are the runtime's heap. Objects that have a header are
 * found by it (blocks.c); what is here catches the rest, and pages whose header is not present. */
struct shape {
    const char *code; /* owner of anonymous executable memory, NULL = it makes none */
    const char *heap; /* owner of what fits the shape, NULL = no shape is known */
    uint64_t align;   /* of the base */
    uint64_t multiple; /* of the size */
    uint64_t least;   /* bytes */
    uint32_t unlike;  /* MT_REGION_… that its memory never has */
};

/* V8 keeps large objects in mappings of any number of pages, and nothing of it counts against the
 * commit limit. HotSpot's tables for its collector have no shape but their granularity.
 * Ruby up to 3.2 keeps short-lived contents of its objects in one mapping of 32 MiB. */
static const struct shape shapes[MT_RUNTIME_COUNT] = {
    [MT_RUNTIME_JVM] = {"java code", "java runtime", KIB(4), KIB(4), KIB(64), MT_REGION_NORESERVE},
    [MT_RUNTIME_V8] = {"v8 code", "v8 heap", KIB(256), KIB(4), KIB(4), MT_REGION_CHARGED},
    [MT_RUNTIME_CPYTHON] = {NULL, "python arenas", KIB(4), MIB(1), MIB(1), MT_REGION_NORESERVE},
    [MT_RUNTIME_RUBY] = {"ruby code", "ruby heap", KIB(32), MIB(32), MIB(32), 0},
    [MT_RUNTIME_LUAJIT] = {"luajit code", NULL, 0, 0, 0, 0},
    [MT_RUNTIME_CORECLR] = {"dotnet code", NULL, 0, 0, 0, 0},
};

/* ---- which are here ---- */

static bool is_loaded(const struct mt_look *look, const char *prefix)
{
    for (uint32_t i = 0; i < look->out->n_modules; i++) {
        const char *path = mt_strings_get(look->strings, look->out->modules[i].path, NULL);
        const char *slash = strrchr(path, '/');

        if (!strncmp(slash ? slash + 1 : path, prefix, strlen(prefix)))
            return true;
    }
    return false;
}

static uint32_t find_runtimes(const struct mt_look *look)
{
    uint32_t found = 0;

    for (size_t i = 0; i < MT_COUNT_OF(modules); i++)
        if (!(found >> modules[i].runtime & 1) && is_loaded(look, modules[i].prefix))
            found |= 1u << modules[i].runtime;
    return found;
}

static void claim(struct mt_look *look, const struct mt_region *r, const char *owner,
                  char confidence)
{
    mt_claim_add(look->out, &(struct mt_claim){.base = r->base,
                                               .end = r->end,
                                               .owner = mt_look_string(look, owner),
                                               .flags = r->protection ? 0 : MT_CLAIM_RESERVED,
                                               .type = MT_TYPE_MANAGED_HEAP,
                                               .rank = MT_RANK_RUNTIME_WINDOW,
                                               .confidence = confidence});
}

/* ---- shapes: code and heap of the runtimes found ---- */

static bool fits(const struct mt_look *look, const struct mt_region *r, const struct shape *shape,
                 uint32_t flags)
{
    bool data = mt_look_is_data(look, r) || r->protection == MT_PROT_READ;

    return shape->heap && data && r->base % shape->align == 0 &&
           (r->end - r->base) % shape->multiple == 0 && r->end - r->base >= shape->least &&
           !(flags & shape->unlike);
}

static void claim_by_shape(struct mt_look *look, const struct mt_region *r,
                           const struct shape *shape)
{
    uint32_t flags = mt_flags_of(look->flags, r);

    if (!mt_look_is_anonymous(look, r) || (flags & MT_REGION_STACK_HINT))
        return;
    if (r->protection & MT_PROT_EXECUTE) {
        if (shape->code)
            claim(look, r, shape->code, MT_CONFIDENCE_B);
        return;
    }
    if (fits(look, r, shape, flags))
        claim(look, r, shape->heap, MT_CONFIDENCE_C);
}

static void claim_shapes(struct mt_look *look)
{
    for (uint32_t i = 0; i < look->snapshot->n_regions; i++)
        for (unsigned k = 0; k < MT_RUNTIME_COUNT; k++)
            if (look->runtimes >> k & 1)
                claim_by_shape(look, &look->snapshot->regions[i], &shapes[k]);
}

/* ---- windows: runs of regions side by side ---- */

/* A run continues over nameless memory, and over what the runtime maps into it. */
static bool continues(const struct mt_look *look, const struct mt_region *r, const char *suffix)
{
    size_t n;
    const char *name = mt_strings_get(look->strings, r->name, &n);

    if (mt_look_is_anonymous(look, r) || !strncmp(name, "[stack:", 7))
        return true;
    return suffix && n > strlen(suffix) && !strcmp(name + n - strlen(suffix), suffix);
}

static uint32_t run_end(const struct mt_look *look, uint32_t first, const char *suffix)
{
    const struct mt_region *r = look->snapshot->regions;
    uint32_t i = first;

    while (i < look->snapshot->n_regions && continues(look, &r[i], suffix) &&
           (i == first || r[i].base == r[i - 1].end))
        i++;
    return i;
}

/* In a program without a C library nobody but Go's runtime maps memory. */
static void claim_all_for_go(struct mt_look *look)
{
    for (uint32_t i = 0; i < look->snapshot->n_regions; i++) {
        const struct mt_region *r = &look->snapshot->regions[i];

        if (mt_look_is_anonymous(look, r))
            claim(look, r, "go runtime", MT_CONFIDENCE_C);
    }
}

/* Go's arenas begin at this address, 64 MiB each, given out from below. */
static void claim_go(struct mt_look *look)
{
    uint32_t first = mt_snapshot_find(look->snapshot, UINT64_C(0xc000000000));
    const struct mt_region *r = &look->snapshot->regions[first];

    if (first == look->snapshot->n_regions || r->base != UINT64_C(0xc000000000))
        return;
    if (look->allocator == MT_ALLOCATOR_UNKNOWN && look->out->n_modules > 0)
        claim_all_for_go(look);
    for (uint32_t end = run_end(look, first, NULL); first < end; first++)
        claim(look, &look->snapshot->regions[first], "go heap", MT_CONFIDENCE_C);
}

/* The Java heap with compressed references: one reservation below 32 GiB, aligned to at least a
 * mebibyte, class-data archives mapped into it. */
static void claim_java(struct mt_look *look)
{
    const struct mt_region *r = look->snapshot->regions;

    for (uint32_t i = 0, end; i < look->snapshot->n_regions && r[i].base < GIB(32); i = end) {
        end = run_end(look, i, ".jsa");
        if (end == i) {
            end++;
            continue;
        }
        if (r[i].base % MIB(1) || r[end - 1].end > GIB(32) || r[end - 1].end - r[i].base < MIB(2))
            continue;
        for (; i < end; i++)
            claim(look, &r[i], "java heap", MT_CONFIDENCE_C);
    }
}

void mt_runtimes_collect(struct mt_look *look)
{
    look->runtimes = find_runtimes(look);
    claim_shapes(look);
    claim_go(look);
    if (look->runtimes >> MT_RUNTIME_JVM & 1)
        claim_java(look);
}
