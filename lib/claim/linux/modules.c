/* SPDX-License-Identifier: MIT */
/* claim/linux: programs and libraries, as the loader mapped them.
 * In: the loader's list, the objects' own headers. Out: IMAGE claims and the list of modules.
 * Called by claimer.c. Must not take the loader's lock. What is mapped but not listed is left to
 * the rules of classify/, and so are the kernel's own objects (vdso, vvar).
 *
 * The list is walked anew only when the executable mappings changed, after a walk that failed,
 * and now and then. */
#include "claim/linux/provider.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "claim/linux/link_map.h"
#include "claim/linux/object.h"

#define MODULES MT_LINK_MAPS_MOST
#define PIECES (MODULES * 8)
#define STEPS_TO_HEADER 64u
#define ROUNDS_BETWEEN_WALKS 256u
#define ROUNDS_BETWEEN_TRIES 16u

struct known_module {
    struct mt_module shown;
    uint64_t header;
    struct mt_object object;
};

struct piece {
    uint64_t base, end;
    uint32_t owner;
    uint32_t flags; /* MT_CLAIM_RELRO, MT_CLAIM_BSS */
};

struct mt_modules {
    struct mt_start_vector start;
    uint64_t debug; /* the loader's structure, 0 = not found yet */
    uint64_t seen;  /* hash of the executable mappings at the last good walk, 0 = walk again */
    struct known_module *known;
    uint32_t n_known;
    struct piece *pieces; /* what is claimed, by address within a module */
    uint32_t n_pieces;
    struct mt_link_map *maps;
    bool incomplete; /* some object's headers were not present in memory */
};

int mt_modules_new(struct mt_modules **out)
{
    size_t known = MODULES * sizeof(struct known_module);
    size_t pieces = PIECES * sizeof(struct piece);
    struct mt_modules *m =
        mt_memory_alloc(sizeof(*m) + known + pieces + MODULES * sizeof(struct mt_link_map));

    if (!m)
        return mt_error_set(TRACER_ENOMEM, "no address space for the list of modules");
    m->known = (struct known_module *)(void *)(m + 1);
    m->pieces = (struct piece *)(void *)(m->known + MODULES);
    m->maps = (struct mt_link_map *)(void *)(m->pieces + PIECES);
    *out = m;
    return TRACER_OK;
}

void mt_modules_free(struct mt_modules *m)
{
    mt_memory_free(m);
}

/* ---- has anything changed? ---- */

static uint64_t hash_of_executables(const struct mt_snapshot *s)
{
    uint64_t h = 1469598103934665603u;

    for (uint32_t i = 0; i < s->n_regions; i++) {
        const struct mt_region *r = &s->regions[i];

        if ((r->flags & MT_REGION_FILE) && (r->protection & MT_PROT_EXECUTE))
            h = ((h ^ r->base) * 1099511628211u ^ r->end) * 1099511628211u ^ r->inode;
    }
    return h | 1;
}

/* Another process may have become another program. */
static void notice_exec(struct mt_modules *m, const struct mt_look *look)
{
    struct mt_start_vector now;

    if (look->self && m->start.program_headers)
        return;
    mt_start_vector_read(look->self ? 0 : look->pid, &now);
    if (!memcmp(&now, &m->start, sizeof(now)))
        return;
    m->start = now;
    m->debug = m->seen = 0;
    m->n_known = m->n_pieces = 0;
}

/* ---- one object ---- */

/* The region with the object's ELF header, from any region of it: the pieces of one file lie side
 * by side, zero-initialised data between them. NULL = it has no file, as the vdso. */
static const struct mt_region *find_header(const struct mt_look *look, uint64_t inside)
{
    const struct mt_snapshot *s = look->snapshot;
    uint32_t i = mt_snapshot_find(s, inside), first;

    if (i == s->n_regions)
        return NULL;
    for (first = i; !(s->regions[i].flags & MT_REGION_FILE); i--)
        if (i == 0 || first - i > STEPS_TO_HEADER)
            return NULL;
    first = i;
    for (uint32_t step = 0; step < STEPS_TO_HEADER; step++, i--) {
        const struct mt_region *r = &s->regions[i];

        if (mt_look_same_file(r, &s->regions[first]) && r->offset == 0)
            return r;
        if (i == 0)
            break;
    }
    return NULL;
}

static void add_piece(struct mt_modules *m, uint64_t base, uint64_t end, uint32_t owner)
{
    struct piece *last = m->n_pieces > 0 ? &m->pieces[m->n_pieces - 1] : NULL;

    if (last && last->end == base && last->owner == owner && !last->flags)
        last->end = end;
    else if (m->n_pieces < PIECES)
        m->pieces[m->n_pieces++] = (struct piece){base, end, owner, 0};
}

/* Over the pieces they lie in: of one rank the later claim wins. */
static void add_parts(struct mt_modules *m, const struct mt_object *o, uint32_t owner)
{
    for (uint32_t i = 0; i < o->n_parts && m->n_pieces < PIECES; i++)
        m->pieces[m->n_pieces++] =
            (struct piece){o->parts[i].base, o->parts[i].end, owner, o->parts[i].flags};
}

/* Between two segments only what is mapped of the object's own file belongs to it: others may
 * have mapped memory of their own into the hole. */
static void add_hole(struct mt_modules *m, const struct mt_look *look, const struct mt_region *own,
                     uint64_t base, uint64_t end)
{
    const struct mt_snapshot *s = look->snapshot;

    while (base < end) {
        uint32_t i = mt_snapshot_find(s, base);
        const struct mt_region *r = &s->regions[i];
        uint64_t until;

        if (i == s->n_regions)
            return;
        until = r->end < end ? r->end : end;
        if (mt_look_same_file(r, own))
            add_piece(m, base, until, own->name);
        base = until;
    }
}

static void add_pieces(struct mt_modules *m, const struct mt_look *look,
                       const struct mt_region *header, const struct mt_object *o)
{
    for (uint32_t i = 0; i < o->n_spans; i++) {
        if (i > 0)
            add_hole(m, look, header, o->spans[i - 1].end, o->spans[i].base);
        add_piece(m, o->spans[i].base, o->spans[i].end, header->name);
    }
    add_parts(m, o, header->name);
}

static const struct known_module *find_known(const struct known_module *known, uint32_t n,
                                             uint64_t header, uint32_t path)
{
    for (uint32_t i = 0; i < n; i++)
        if (known[i].header == header && known[i].shown.path == path)
            return &known[i];
    return NULL;
}

/* Headers that are not in memory are not fetched for our sake: until they are, the object is what
 * is mapped of its file side by side. */
static void guess_object(const struct mt_look *look, const struct mt_region *header,
                         struct mt_object *out)
{
    const struct mt_region *r = header;
    const struct mt_region *end = look->snapshot->regions + look->snapshot->n_regions;

    while (r + 1 < end && r[1].base == r->end && mt_look_same_file(r + 1, header))
        r++;
    *out = (struct mt_object){.n_spans = 1};
    out->spans[0].base = header->base;
    out->spans[0].end = r->end;
}

static void add_module(struct mt_modules *m, const struct mt_look *look, uint64_t inside)
{
    const struct mt_region *header = find_header(look, inside);
    struct mt_object o;
    struct known_module *k;

    if (!header || m->n_known == MODULES ||
        find_known(m->known, m->n_known, header->base, header->name))
        return;
    if (!mt_object_read(look->remote, header->base, &o)) {
        guess_object(look, header, &o);
        m->incomplete = true;
    }
    k = &m->known[m->n_known++];
    memset(k, 0, sizeof(*k));
    k->header = header->base;
    k->object = o;
    k->shown.base = o.spans[0].base;
    k->shown.end = o.spans[o.n_spans - 1].end;
    k->shown.path = header->name;
    k->shown.build_id_bytes = o.build_id_bytes;
    memcpy(k->shown.build_id, o.build_id, sizeof(o.build_id));
    add_pieces(m, look, header, &o);
}

/* ---- all objects ---- */

/* By insertion: the loader's list is nearly in order of address, downwards or upwards. */
static void sort_known(struct mt_modules *m)
{
    for (uint32_t i = 1; i < m->n_known; i++) {
        struct known_module moving = m->known[i];
        uint32_t at = i;

        for (; at > 0 && m->known[at - 1].shown.base > moving.shown.base; at--)
            m->known[at] = m->known[at - 1];
        m->known[at] = moving;
    }
}

static void walk(struct mt_modules *m, const struct mt_look *look, uint64_t seen)
{
    uint32_t n = 0;
    bool listed = m->debug && mt_link_map_read(look->remote, m->debug, m->maps, &n);

    if (m->debug && !listed && m->n_known > 0) {
        m->seen = 0;
        return;
    }
    m->n_known = m->n_pieces = 0;
    m->incomplete = false;
    add_module(m, look, m->start.program_headers);
    if (m->n_known > 0 && !m->debug)
        m->debug = mt_link_map_find(look->remote, m->known[0].object.dynamic);
    if (m->debug && !listed)
        listed = mt_link_map_read(look->remote, m->debug, m->maps, &n);
    for (uint32_t i = 0; i < n; i++)
        add_module(m, look, m->maps[i].dynamic);
    add_module(m, look, m->start.interpreter);
    sort_known(m);
    m->seen = m->n_known > 0 && (listed || !m->debug) ? seen : 0;
}

static void show(const struct mt_modules *m, struct mt_look *look)
{
    struct mt_claim_set *out = look->out;

    for (uint32_t i = 0; i < m->n_known; i++) {
        if (out->n_modules == out->module_capacity) {
            out->truncated = true;
            break;
        }
        out->modules[out->n_modules++] = m->known[i].shown;
    }
    for (uint32_t i = 0; i < m->n_pieces; i++)
        mt_claim_add(out, &(struct mt_claim){.base = m->pieces[i].base,
                                             .end = m->pieces[i].end,
                                             .owner = m->pieces[i].owner,
                                             .flags = m->pieces[i].flags,
                                             .type = MT_TYPE_IMAGE,
                                             .rank = MT_RANK_IMAGE,
                                             .confidence = MT_CONFIDENCE_A});
}

void mt_modules_collect(struct mt_modules *m, struct mt_look *look)
{
    uint64_t seen = hash_of_executables(look->snapshot);

    notice_exec(m, look);
    if (m->start.header_bytes != 56) /* Elf64_Phdr: others are not understood */
        return;
    if (seen != m->seen || look->round % ROUNDS_BETWEEN_WALKS == 0 ||
        (m->incomplete && look->round % ROUNDS_BETWEEN_TRIES == 0))
        walk(m, look, seen);
    show(m, look);
}
