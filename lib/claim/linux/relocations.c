/* SPDX-License-Identifier: MIT */
/* claim/linux: the bytes of an object's data that the loader writes.
 * In: the object's file. Out: marks for a range of its addresses.
 * Called by image_data.c. Reads the file only: tables in memory are often not resident, and must
 * not be fetched for our sake. Trusts nothing it reads: offsets and sizes are bounded.
 * Uses: DT_RELA, DT_REL, DT_JMPREL; DT_RELR (glibc 2.36, musl 1.2.4), named here for older
 * headers. The loader also fills in the dynamic section and the head of the table of lazy binding.
 */
#define _GNU_SOURCE
#include "claim/linux/relocations.h"

#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/os/os.h"

#define TAG_RELR_BYTES 35
#define TAG_RELR 36
#define DYNAMIC_ENTRIES_MOST 128u
#define TABLE_BYTES_MOST (UINT64_C(64) << 20)
#define CHUNK_BYTES 24576u /* a multiple of every entry's size */
#define GOT_HEAD_BYTES 24u

static bool read_at(int file, uint64_t offset, void *out, size_t bytes)
{
    return offset < INT64_MAX && mt_os_descriptor_is_ours(file) &&
           pread(file, out, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool offset_of(const struct mt_relocations *r, uint64_t address, uint64_t *out)
{
    for (uint32_t i = 0; i < r->n_headers; i++) {
        const Elf64_Phdr *p = &r->headers[i];

        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz) {
            *out = p->p_offset + (address - p->p_vaddr);
            return true;
        }
    }
    return false;
}

static bool read_headers(struct mt_relocations *r)
{
    Elf64_Ehdr e;

    if (!read_at(r->file, 0, &e, sizeof(e)) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
        e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(Elf64_Phdr) ||
        e.e_phnum == 0 || e.e_phnum > MT_RELOCATION_HEADERS)
        return false;
    r->machine = e.e_machine;
    r->n_headers = e.e_phnum;
    return read_at(r->file, e.e_phoff, r->headers, e.e_phnum * sizeof(Elf64_Phdr));
}

/* ---- the dynamic section ---- */

#define SLOTS 16

/* What is kept of it, by a slot of its own each: the order of the tags is free. */
enum slot { RELA, RELA_BYTES, REL, REL_BYTES, RELR, RELR_BYTES, JUMP, JUMP_BYTES, JUMP_FORM, GOT };

static const struct {
    int64_t tag;
    enum slot slot;
} slots[] = {
    {DT_RELA, RELA},       {DT_RELASZ, RELA_BYTES},   {DT_REL, REL},
    {DT_RELSZ, REL_BYTES}, {TAG_RELR, RELR},          {TAG_RELR_BYTES, RELR_BYTES},
    {DT_JMPREL, JUMP},     {DT_PLTRELSZ, JUMP_BYTES}, {DT_PLTREL, JUMP_FORM},
    {DT_PLTGOT, GOT},
};

static void keep(uint64_t *values, const Elf64_Dyn *d)
{
    for (size_t i = 0; i < MT_COUNT_OF(slots); i++)
        if (slots[i].tag == d->d_tag)
            values[slots[i].slot] = d->d_un.d_val;
}

static bool read_dynamic(struct mt_relocations *r, const Elf64_Phdr *p, uint64_t *values)
{
    Elf64_Dyn entries[DYNAMIC_ENTRIES_MOST];
    uint64_t n = p->p_filesz / sizeof(*entries);

    if (n > DYNAMIC_ENTRIES_MOST || !read_at(r->file, p->p_offset, entries, n * sizeof(*entries)))
        return false;
    r->dynamic = p->p_vaddr;
    r->dynamic_bytes = p->p_filesz;
    for (uint64_t i = 0; i < n && entries[i].d_tag != DT_NULL; i++)
        keep(values, &entries[i]);
    return true;
}

static bool add_table(struct mt_relocations *r, uint64_t address, uint64_t bytes,
                      enum mt_relocation_form form)
{
    uint64_t offset;

    if (bytes == 0)
        return true;
    if (bytes > TABLE_BYTES_MOST || !offset_of(r, address, &offset))
        return false;
    r->tables[r->n_tables].offset = offset;
    r->tables[r->n_tables].bytes = bytes;
    r->tables[r->n_tables++].form = form;
    return true;
}

bool mt_relocations_open(int file, struct mt_relocations *out)
{
    uint64_t v[SLOTS] = {0};

    memset(out, 0, sizeof(*out));
    out->file = file;
    if (!read_headers(out))
        return false;
    for (uint32_t i = 0; i < out->n_headers; i++)
        if (out->headers[i].p_type == PT_DYNAMIC && !read_dynamic(out, &out->headers[i], v))
            return false;
    out->got = v[GOT];
    return add_table(out, v[RELA], v[RELA_BYTES], MT_RELOCATION_RELA) &&
           add_table(out, v[REL], v[REL_BYTES], MT_RELOCATION_REL) &&
           add_table(out, v[RELR], v[RELR_BYTES], MT_RELOCATION_RELR) &&
           add_table(out, v[JUMP], v[JUMP_BYTES],
                     v[JUMP_FORM] == DT_REL ? MT_RELOCATION_REL : MT_RELOCATION_RELA);
}

const Elf64_Phdr *mt_relocations_segment(const struct mt_relocations *r, uint64_t offset,
                                         uint64_t page_bytes)
{
    for (uint32_t i = 0; i < r->n_headers; i++) {
        const Elf64_Phdr *p = &r->headers[i];

        if (p->p_type == PT_LOAD && (p->p_flags & PF_W) && p->p_filesz > 0 &&
            offset >= p->p_offset - p->p_offset % page_bytes && offset < p->p_offset + p->p_filesz)
            return p;
    }
    return NULL;
}

/* ---- targets ---- */

/* Relocations that write other than one address; 0 bytes: the loader copies data of another object,
 * and what it wrote cannot be told from what the program did. */
static const struct {
    uint16_t machine;
    uint32_t type;
    uint8_t bytes;
} sizes[] = {
    {EM_X86_64, R_X86_64_NONE, 0},    {EM_X86_64, R_X86_64_COPY, 0},
    {EM_X86_64, R_X86_64_32, 4},      {EM_X86_64, R_X86_64_32S, 4},
    {EM_X86_64, R_X86_64_PC32, 4},    {EM_X86_64, R_X86_64_16, 2},
    {EM_X86_64, R_X86_64_8, 1},       {EM_X86_64, R_X86_64_TLSDESC, 16},
    {EM_AARCH64, R_AARCH64_NONE, 0},  {EM_AARCH64, R_AARCH64_COPY, 0},
    {EM_AARCH64, R_AARCH64_ABS32, 4}, {EM_AARCH64, R_AARCH64_TLSDESC, 16},
};

static uint32_t bytes_written(const struct mt_relocations *r, uint64_t info)
{
    for (size_t i = 0; i < MT_COUNT_OF(sizes); i++)
        if (sizes[i].machine == r->machine && sizes[i].type == ELF64_R_TYPE(info))
            return sizes[i].bytes;
    return 8;
}

static void mark(const struct mt_marks *m, uint64_t address, uint64_t bytes)
{
    for (uint64_t at = address; at - address < bytes; at++)
        if (at - m->address < m->bytes)
            m->bits[(at - m->address) / 8] |= (uint8_t)(1u << ((at - m->address) % 8));
}

/* The state of reading the packed form: an address, then bits for the 63 words after it. */
static void mark_packed(const struct mt_marks *m, uint64_t entry, uint64_t *next)
{
    if ((entry & 1) == 0) {
        mark(m, entry, 8);
        *next = entry + 8;
        return;
    }
    for (unsigned i = 0; i < 63; i++)
        if (entry >> (i + 1) & 1)
            mark(m, *next + i * 8, 8);
    *next += UINT64_C(63) * 8;
}

static uint32_t entry_bytes(enum mt_relocation_form form)
{
    static const uint8_t bytes[] = {[MT_RELOCATION_REL] = sizeof(Elf64_Rel),
                                    [MT_RELOCATION_RELA] = sizeof(Elf64_Rela),
                                    [MT_RELOCATION_RELR] = 8};

    return bytes[form];
}

static void mark_chunk(const struct mt_relocations *r, enum mt_relocation_form form,
                       const uint64_t *words, uint64_t n_words, uint64_t *next,
                       const struct mt_marks *m)
{
    uint32_t step = entry_bytes(form) / 8;

    for (uint64_t i = 0; i + step <= n_words; i += step) {
        if (form == MT_RELOCATION_RELR)
            mark_packed(m, words[i], next);
        else if (words[i] - m->address < m->bytes || m->address - words[i] < 16)
            mark(m, words[i], bytes_written(r, words[i + 1]));
    }
}

bool mt_relocations_mark(const struct mt_relocations *r, const struct mt_marks *marks)
{
    uint64_t words[CHUNK_BYTES / 8], next;

    memset(marks->bits, 0, marks->bytes / 8);
    mark(marks, r->dynamic, r->dynamic_bytes);
    if (r->got)
        mark(marks, r->got, GOT_HEAD_BYTES);
    for (uint32_t i = 0; i < r->n_tables; i++) {
        next = 0;
        for (uint64_t at = 0; at < r->tables[i].bytes; at += CHUNK_BYTES) {
            uint64_t left = r->tables[i].bytes - at;
            uint64_t n = left < CHUNK_BYTES ? left : CHUNK_BYTES;

            if (!read_at(r->file, r->tables[i].offset + at, words, n))
                return false;
            mark_chunk(r, r->tables[i].form, words, n / 8, &next, marks);
        }
    }
    return true;
}
