/* SPDX-License-Identifier: MIT */
/* source/windows: the list of regions.
 * In: VirtualQueryEx from the lowest address to the highest. Out: a snapshot, sorted.
 * Called by win_source.c. The system splits one allocation at every change of state or
 * protection, and now and then without one; pieces that are alike are joined. What is free but
 * below the next 64 KiB border cannot be allocated by anyone and is listed as lost. */
#include "source/windows/win_source.h"

#include <string.h>

#include "base/error.h"

#define GRANULE 65536u

#define WRITABLE (PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY)
#define COPIED (PAGE_WRITECOPY | PAGE_EXECUTE_WRITECOPY)
#define EXECUTABLE                                                                                 \
    (PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY)

/* The allocation that is being walked: its pieces get a name when its size is known. */
struct walk {
    const struct win_calls *calls;
    struct win_names *names;
    struct mt_snapshot *out;
    uint64_t allocation; /* 0 = none */
    uint64_t end;        /* of its last piece */
    uint32_t first;      /* its first region */
};

static uint32_t protection_of(const MEMORY_BASIC_INFORMATION *m)
{
    uint32_t protection = 0;

    if (m->State != MEM_COMMIT || (m->Protect & (PAGE_GUARD | PAGE_NOACCESS)))
        return 0;
    if (m->Protect != PAGE_EXECUTE)
        protection |= MT_PROT_READ;
    if (m->Protect & WRITABLE)
        protection |= MT_PROT_WRITE;
    if (m->Protect & EXECUTABLE)
        protection |= MT_PROT_EXECUTE;
    return protection;
}

/* Private memory is charged when it is committed, written or not; of files and images, the pages
 * that a write makes private. */
static bool is_charged(const MEMORY_BASIC_INFORMATION *m)
{
    if (m->State != MEM_COMMIT)
        return false;
    if (m->Type == MEM_MAPPED && !(m->AllocationProtect & COPIED))
        return false;
    return m->Type == MEM_PRIVATE || (m->Protect & WRITABLE);
}

static uint32_t kind_of(const MEMORY_BASIC_INFORMATION *m)
{
    if (m->Type == MEM_IMAGE)
        return MT_REGION_IMAGE | MT_REGION_FILE;
    if (m->Type == MEM_PRIVATE)
        return MT_REGION_PRIVATE;
    return MT_REGION_SECTION | (m->AllocationProtect & COPIED ? 0 : MT_REGION_SHARED);
}

static uint32_t flags_of(const MEMORY_BASIC_INFORMATION *m)
{
    uint32_t flags = MT_REGION_FLAGS_KNOWN | kind_of(m);

    if (m->State == MEM_COMMIT)
        flags |= MT_REGION_COMMITTED | (m->Protect & PAGE_GUARD ? MT_REGION_GUARD : 0);
    else
        flags |= MT_REGION_NORESERVE;
    return is_charged(m) ? flags | MT_REGION_CHARGED : flags;
}

/* The mapping has a file after all: pieces of a section become pieces of a file. */
static void name_allocation(struct walk *w)
{
    struct mt_region *r = &w->out->regions[w->first];
    struct mt_region *end = &w->out->regions[w->out->n_regions];
    uint32_t name;

    if (!w->allocation || r == end || (r->flags & MT_REGION_PRIVATE))
        return;
    name = win_names_of(w->names, w->calls, w->allocation, w->end - w->allocation, w->out->strings);
    if (!name)
        return;
    for (; r < end; r++) {
        r->name = name;
        if (r->flags & MT_REGION_SECTION)
            r->flags ^= MT_REGION_SECTION | MT_REGION_DATA | MT_REGION_FILE;
    }
}

static struct mt_region *add_region(struct walk *w, uint64_t base, uint64_t end)
{
    struct mt_region *r;

    if (w->out->n_regions == w->out->capacity) {
        w->out->flags |= MT_SAMPLE_TRUNCATED;
        return NULL;
    }
    r = &w->out->regions[w->out->n_regions++];
    memset(r, 0, sizeof(*r));
    r->base = base;
    r->end = end;
    return r;
}

static void enter_allocation(struct walk *w, uint64_t allocation)
{
    name_allocation(w);
    w->allocation = allocation;
    w->first = w->out->n_regions;
}

static void add_free(struct walk *w, uint64_t base, uint64_t end)
{
    uint64_t border = (base + GRANULE - 1) / GRANULE * GRANULE;
    struct mt_region *r;

    enter_allocation(w, 0);
    if (border == base)
        return;
    r = add_region(w, base, border < end ? border : end);
    if (r)
        r->flags = MT_REGION_FLAGS_KNOWN | MT_REGION_LOST;
}

/* A page of an image or view that is written turns from copy-on-write to writable: no border for
 * us, or each write would cut a region. */
static void add_piece(struct walk *w, const MEMORY_BASIC_INFORMATION *m, uint64_t base,
                      uint64_t end)
{
    uint32_t protection = protection_of(m), flags = flags_of(m);
    struct mt_region *r;

    if (w->allocation != (uintptr_t)m->AllocationBase)
        enter_allocation(w, (uintptr_t)m->AllocationBase);
    w->end = end;
    r = w->out->n_regions > w->first ? &w->out->regions[w->out->n_regions - 1] : NULL;
    if (r && r->end == base && r->protection == protection && r->flags == flags) {
        r->end = end;
        return;
    }
    r = add_region(w, base, end);
    if (!r)
        return;
    r->protection = protection;
    r->flags = flags;
    r->offset = m->Type == MEM_IMAGE ? base - w->allocation : 0;
}

/* A zero answer, or one that does not lead on, ends the walk: stepping page by page would not
 * end within this century. */
int win_walk(const struct win_calls *calls, struct win_names *names, struct mt_snapshot *out)
{
    struct walk w = {.calls = calls, .names = names, .out = out};
    uint64_t at = out->space_base;
    MEMORY_BASIC_INFORMATION m;

    out->n_regions = 0;
    out->flags = 0;
    out->n_rejected = 0;
    while (at < out->space_end && calls->query(calls->user, at, &m)) {
        uint64_t end = (uintptr_t)m.BaseAddress + m.RegionSize;

        if (end <= at)
            break;
        if (end > out->space_end)
            end = out->space_end;
        if (m.State == MEM_FREE)
            add_free(&w, at, end);
        else
            add_piece(&w, &m, at, end);
        at = end;
    }
    name_allocation(&w);
    if (out->n_regions == 0)
        return mt_error_set(TRACER_EIO, "the address space cannot be walked: Windows error %lu",
                            GetLastError());
    if (at < out->space_end)
        out->flags |= MT_SAMPLE_TORN;
    return TRACER_OK;
}
