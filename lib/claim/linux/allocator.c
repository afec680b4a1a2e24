/* SPDX-License-Identifier: MIT */
/* claim/linux: which allocator serves malloc, its mappings by shape, its own totals.
 * In: names of modules; for this process also symbols. Out: HEAP claims of low rank, counters.
 * Called by claimer.c. The totals take the allocator's locks: asked for rarely, by the sampler.
 * glibc's mallinfo2 (2.33) is always there, also when it serves nobody, so it counts only when no
 * other allocator is found. */
#define _GNU_SOURCE
#include "claim/linux/provider.h"

#include <dlfcn.h>
#include <string.h>

#include "base/compiler.h"

#define AGREED_BYTES (UINT64_C(4) << 20)
#define WANTED_BYTES (UINT64_C(1) << 20)

struct by_module {
    const char *prefix; /* of the file's name */
    enum mt_allocator allocator;
};

/* In order of preference: the C library is there in any case. glibc's file is libc.so.6 (or
 * libc-2.31.so), musl's is libc.so, or what links to it. */
static const struct by_module modules[] = {
    {"libasan", MT_ALLOCATOR_ASAN},         {"libjemalloc", MT_ALLOCATOR_JEMALLOC},
    {"libmimalloc", MT_ALLOCATOR_MIMALLOC}, {"libtcmalloc", MT_ALLOCATOR_GPERFTOOLS},
    {"ld-musl", MT_ALLOCATOR_MUSL},         {"libc.musl", MT_ALLOCATOR_MUSL},
    {"libc.so.", MT_ALLOCATOR_GLIBC},       {"libc-2", MT_ALLOCATOR_GLIBC},
    {"libc.so", MT_ALLOCATOR_MUSL},
};

/* What belongs to an allocator: all in its window of addresses, and with some every writable
 * mapping that is not reserved (under ASan the shadow is, and is not heap). */
struct shape {
    const char *owner; /* NULL = has no shape */
    bool noreserve;
    uint64_t low, high;
};

static const struct shape shapes[MT_ALLOCATOR_COUNT] = {
    [MT_ALLOCATOR_JEMALLOC] = {"jemalloc", true, 0, 0},
    [MT_ALLOCATOR_MIMALLOC] = {"mimalloc", true, UINT64_C(2) << 40, UINT64_C(30) << 40},
    [MT_ALLOCATOR_TCMALLOC] = {"tcmalloc", true, 0, 0},
    [MT_ALLOCATOR_GPERFTOOLS] = {"tcmalloc", true, 0, 0},
    [MT_ALLOCATOR_ASAN] = {"asan heap", false, UINT64_C(0x600000000000), UINT64_C(0x640000000000)},
};

/* ---- which one ---- */

static void *symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static bool has_prefix(const char *path, const char *prefix)
{
    const char *slash = strrchr(path, '/');

    return !strncmp(slash ? slash + 1 : path, prefix, strlen(prefix));
}

/* musl has no symbol that others lack, but the file malloc is in has a name. */
static enum mt_allocator by_file_of_malloc(void)
{
    Dl_info in;
    void *address = symbol("malloc");

    if (!address || !dladdr(address, &in) || !in.dli_fname)
        return MT_ALLOCATOR_UNKNOWN;
    for (size_t i = 0; i < MT_COUNT_OF(modules); i++)
        if (has_prefix(in.dli_fname, modules[i].prefix))
            return modules[i].allocator;
    return MT_ALLOCATOR_UNKNOWN;
}

enum mt_allocator mt_allocator_resolve(struct mt_allocator_calls *out)
{
    *out = (struct mt_allocator_calls){.mallinfo2 = symbol("mallinfo2"),
                                       .mallctl = symbol("mallctl"),
                                       .mi_process_info = symbol("mi_process_info"),
                                       .get_numeric_property =
                                           symbol("MallocExtension_GetNumericProperty")};
    if (symbol("__asan_init"))
        return MT_ALLOCATOR_ASAN;
    if (out->mallctl)
        return MT_ALLOCATOR_JEMALLOC;
    if (out->mi_process_info)
        return MT_ALLOCATOR_MIMALLOC;
    if (symbol("tc_version"))
        return MT_ALLOCATOR_GPERFTOOLS;
    if (symbol("MallocExtension_Internal_GetNumericProperty"))
        return MT_ALLOCATOR_TCMALLOC;
    return symbol("gnu_get_libc_version") ? MT_ALLOCATOR_GLIBC : by_file_of_malloc();
}

static bool is_loaded(const struct mt_look *look, const char *prefix)
{
    for (uint32_t i = 0; i < look->out->n_modules; i++) {
        if (has_prefix(mt_strings_get(look->strings, look->out->modules[i].path, NULL), prefix))
            return true;
    }
    return false;
}

enum mt_allocator mt_allocator_detect(const struct mt_look *look)
{
    for (size_t i = 0; i < MT_COUNT_OF(modules); i++)
        if (is_loaded(look, modules[i].prefix))
            return modules[i].allocator;
    return MT_ALLOCATOR_UNKNOWN;
}

/* ---- its mappings ---- */

static bool has_shape(const struct mt_look *look, const struct mt_region *r,
                      const struct shape *shape)
{
    uint32_t flags = mt_flags_of(look->flags, r);

    if (r->base >= shape->low && r->end <= shape->high)
        return mt_look_is_anonymous(look, r) && !(r->protection & MT_PROT_EXECUTE);
    return shape->noreserve && (flags & MT_REGION_NORESERVE) && !(flags & MT_REGION_STACK_HINT) &&
           mt_look_is_data(look, r);
}

/* What is smaller can wait for the next list that has flags. */
static bool hangs_on_flags(const struct mt_look *look, const struct mt_region *r,
                           const struct shape *shape)
{
    return shape->noreserve && r->end - r->base >= WANTED_BYTES && mt_look_is_data(look, r) &&
           !mt_flags_know(look->flags, r);
}

void mt_allocator_collect(struct mt_look *look)
{
    const struct shape *shape = &shapes[look->allocator];
    char confidence = look->allocator_agrees ? MT_CONFIDENCE_B : MT_CONFIDENCE_C;
    uint32_t owner;

    if (!shape->owner)
        return;
    owner = mt_look_string(look, shape->owner);
    look->allocator_bytes = 0;
    for (uint32_t i = 0; i < look->snapshot->n_regions; i++) {
        const struct mt_region *r = &look->snapshot->regions[i];

        if (!has_shape(look, r, shape)) {
            look->out->wants_flags |= hangs_on_flags(look, r, shape);
            continue;
        }
        look->allocator_bytes += r->protection ? r->end - r->base : 0;
        mt_claim_add(look->out, &(struct mt_claim){.base = r->base,
                                                   .end = r->end,
                                                   .owner = owner,
                                                   .flags = r->protection ? 0 : MT_CLAIM_RESERVED,
                                                   .type = MT_TYPE_HEAP,
                                                   .rank = MT_RANK_ALLOCATOR,
                                                   .confidence = confidence});
    }
}

/* ---- its totals ---- */

/* As <malloc.h> has it since glibc 2.33; older headers do not. */
struct glibc_totals {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

typedef struct glibc_totals mallinfo2_fn(void);
typedef int mallctl_fn(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes);
typedef void mi_process_info_fn(size_t *elapsed_ms, size_t *user_ms, size_t *system_ms, size_t *rss,
                                size_t *peak_rss, size_t *commit, size_t *peak_commit,
                                size_t *faults);
typedef int get_numeric_property_fn(const char *name, size_t *out);

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises it works. */
#define MT_AS_FUNCTION(type, pointer, out)                                                         \
    type *out;                                                                                     \
    memcpy(&out, &(pointer), sizeof(out))

static void set(struct mt_counters *c, enum mt_counter id, uint64_t value)
{
    c->known |= UINT64_C(1) << id;
    c->value[id] = value;
}

static uint64_t count_glibc(const struct mt_allocator_calls *calls, struct mt_counters *inout)
{
    MT_AS_FUNCTION(mallinfo2_fn, calls->mallinfo2, totals);
    struct glibc_totals t;

    if (!totals)
        return 0;
    t = totals();
    set(inout, MT_COUNTER_HEAP_IN_USE, t.uordblks + t.hblkhd);
    set(inout, MT_COUNTER_HEAP_FREE, t.fordblks);
    set(inout, MT_COUNTER_HEAP_SYSTEM, t.arena);
    set(inout, MT_COUNTER_HEAP_MAPPED, t.hblkhd);
    set(inout, MT_COUNTER_HEAP_MAPPED_BLOCKS, t.hblks);
    return 0;
}

static bool jemalloc_value(mallctl_fn *control, const char *name, size_t *out)
{
    size_t bytes = sizeof(*out);

    return control(name, out, &bytes, NULL, 0) == 0;
}

/* Its statistics stand still until the epoch is moved. */
static uint64_t count_jemalloc(const struct mt_allocator_calls *calls, struct mt_counters *inout)
{
    MT_AS_FUNCTION(mallctl_fn, calls->mallctl, control);
    uint64_t epoch = 1;
    size_t allocated, mapped, retained = 0;

    if (!control || control("epoch", NULL, NULL, &epoch, sizeof(epoch)) ||
        !jemalloc_value(control, "stats.allocated", &allocated) ||
        !jemalloc_value(control, "stats.mapped", &mapped))
        return 0;
    jemalloc_value(control, "stats.retained", &retained);
    set(inout, MT_COUNTER_HEAP_IN_USE, allocated);
    set(inout, MT_COUNTER_HEAP_SYSTEM, mapped);
    if (mapped >= allocated)
        set(inout, MT_COUNTER_HEAP_FREE, mapped - allocated);
    return mapped + retained;
}

static uint64_t count_mimalloc(const struct mt_allocator_calls *calls, struct mt_counters *inout)
{
    MT_AS_FUNCTION(mi_process_info_fn, calls->mi_process_info, info);
    size_t commit = 0;

    if (!info)
        return 0;
    info(NULL, NULL, NULL, NULL, NULL, &commit, NULL, NULL);
    set(inout, MT_COUNTER_HEAP_SYSTEM, commit);
    return commit;
}

static uint64_t count_gperftools(const struct mt_allocator_calls *calls, struct mt_counters *inout)
{
    MT_AS_FUNCTION(get_numeric_property_fn, calls->get_numeric_property, get);
    size_t allocated, heap;

    if (!get || !get("generic.current_allocated_bytes", &allocated) ||
        !get("generic.heap_size", &heap))
        return 0;
    set(inout, MT_COUNTER_HEAP_IN_USE, allocated);
    set(inout, MT_COUNTER_HEAP_SYSTEM, heap);
    if (heap >= allocated)
        set(inout, MT_COUNTER_HEAP_FREE, heap - allocated);
    return heap;
}

/* Sets its counters and returns the bytes it has from the system, kept ones included, where they
 * are to be found by its shape; 0 = unknown. */
typedef uint64_t count_fn(const struct mt_allocator_calls *calls, struct mt_counters *inout);

static count_fn *const counts[MT_ALLOCATOR_COUNT] = {
    [MT_ALLOCATOR_GLIBC] = count_glibc,
    [MT_ALLOCATOR_JEMALLOC] = count_jemalloc,
    [MT_ALLOCATOR_MIMALLOC] = count_mimalloc,
    [MT_ALLOCATOR_GPERFTOOLS] = count_gperftools,
};

static bool agrees(uint64_t claimed, uint64_t said)
{
    uint64_t off = claimed > said ? claimed - said : said - claimed;

    return said > 0 && off <= said / 16 + AGREED_BYTES;
}

void mt_allocator_counters(struct mt_look *look, const struct mt_allocator_calls *calls,
                           struct mt_counters *inout)
{
    uint64_t said = counts[look->allocator] ? counts[look->allocator](calls, inout) : 0;

    look->allocator_agrees = agrees(look->allocator_bytes, said);
}
