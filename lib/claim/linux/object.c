/* SPDX-License-Identifier: MIT */
/* claim/linux: the segments of one loaded object, from its own headers in memory.
 * In: the address of an ELF header. Out: spans of its loadable segments, build id.
 * Called by modules.c. Trusts nothing it reads: counts and sizes are bounded. */
#include "claim/linux/object.h"

#include <elf.h>
#include <string.h>

#define HEADERS_MOST 64u
#define NOTE_BYTES_MOST 4096u
#define SPAN_BYTES_MOST (UINT64_C(1) << 40)

static bool read_headers(struct mt_remote *r, uint64_t header, Elf64_Phdr *out, uint32_t *out_n)
{
    Elf64_Ehdr e;

    if (!mt_remote_read(r, header, &e, sizeof(e)) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
        e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(Elf64_Phdr) ||
        e.e_phnum == 0 || e.e_phnum > HEADERS_MOST || e.e_phoff > NOTE_BYTES_MOST)
        return false;
    *out_n = e.e_phnum;
    return mt_remote_read(r, header + e.e_phoff, out, e.e_phnum * sizeof(*out));
}

/* The header is the first byte of the file: the segment that begins there tells the bias. */
static bool find_bias(const Elf64_Phdr *p, uint32_t n, uint64_t header, uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        if (p[i].p_type == PT_LOAD && p[i].p_offset == 0) {
            *out = header - p[i].p_vaddr;
            return true;
        }
    return false;
}

static bool add_span(struct mt_object *o, const Elf64_Phdr *p, uint64_t page)
{
    uint64_t start = o->bias + p->p_vaddr;
    uint64_t base = start - start % page;
    uint64_t end = (start + p->p_memsz + page - 1) / page * page;

    if (p->p_memsz == 0)
        return true;
    if (p->p_memsz > SPAN_BYTES_MOST || end <= base)
        return false;
    if (o->n_spans > 0 && base < o->spans[o->n_spans - 1].end)
        base = o->spans[o->n_spans - 1].end;
    if (base >= end)
        return true;
    if (o->n_spans > 0 && base == o->spans[o->n_spans - 1].end) {
        o->spans[o->n_spans - 1].end = end;
        return true;
    }
    if (o->n_spans == MT_OBJECT_SPANS)
        return false;
    o->spans[o->n_spans].base = base;
    o->spans[o->n_spans++].end = end;
    return true;
}

static void add_part(struct mt_object *o, uint64_t base, uint64_t end, uint32_t flags)
{
    if (base >= end || o->n_parts == MT_OBJECT_PARTS)
        return;
    o->parts[o->n_parts].base = base;
    o->parts[o->n_parts].end = end;
    o->parts[o->n_parts++].flags = flags;
}

/* The loader protects whole pages of RELRO only: its end is rounded down. What a segment has more
 * in memory than in the file is zero-initialised; the page both are in is the file's. */
static void note_parts(struct mt_object *o, const Elf64_Phdr *p, uint64_t page)
{
    uint64_t base = o->bias + p->p_vaddr, file_end = base + p->p_filesz;
    uint64_t end = base + p->p_memsz;

    if (p->p_memsz > SPAN_BYTES_MOST || p->p_filesz > p->p_memsz || end < base)
        return;
    if (p->p_type == PT_GNU_RELRO)
        add_part(o, base / page * page, end / page * page, MT_CLAIM_RELRO);
    else if (p->p_type == PT_LOAD)
        add_part(o, (file_end + page - 1) / page * page, (end + page - 1) / page * page,
                 MT_CLAIM_BSS);
}

static size_t aligned(size_t bytes, size_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

/* Notes are name and description, each padded; anything odd ends the search. */
static void find_build_id(struct mt_object *o, const uint8_t *notes, size_t n, size_t alignment)
{
    Elf64_Nhdr h;

    for (size_t at = 0; at + sizeof(h) <= n;) {
        size_t name = at + sizeof(h), text;

        memcpy(&h, notes + at, sizeof(h));
        if (h.n_namesz > n || h.n_descsz > n)
            return;
        text = at + aligned(sizeof(h) + h.n_namesz, alignment);
        if (text + h.n_descsz > n)
            return;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(notes + name, "GNU", 4)) {
            o->build_id_bytes =
                h.n_descsz < MT_BUILD_ID_BYTES ? (uint8_t)h.n_descsz : MT_BUILD_ID_BYTES;
            memcpy(o->build_id, notes + text, o->build_id_bytes);
            return;
        }
        at = text + aligned(h.n_descsz, alignment);
    }
}

static void read_notes(struct mt_remote *r, struct mt_object *o, const Elf64_Phdr *p)
{
    uint8_t notes[NOTE_BYTES_MOST];

    if (p->p_memsz == 0 || p->p_memsz > sizeof(notes) || o->build_id_bytes > 0)
        return;
    if (mt_remote_read(r, o->bias + p->p_vaddr, notes, p->p_memsz))
        find_build_id(o, notes, p->p_memsz, p->p_align == 8 ? 8 : 4);
}

bool mt_object_read(struct mt_remote *r, uint64_t header, struct mt_object *out)
{
    Elf64_Phdr p[HEADERS_MOST];
    struct mt_object o = {.bias = 0};
    uint32_t n;

    if (!read_headers(r, header, p, &n) || !find_bias(p, n, header, &o.bias))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (p[i].p_type == PT_LOAD && !add_span(&o, &p[i], r->page_bytes))
            return false;
        note_parts(&o, &p[i], r->page_bytes);
        if (p[i].p_type == PT_DYNAMIC)
            o.dynamic = o.bias + p[i].p_vaddr;
        if (p[i].p_type == PT_NOTE)
            read_notes(r, &o, &p[i]);
    }
    if (o.n_spans == 0)
        return false;
    *out = o;
    return true;
}
