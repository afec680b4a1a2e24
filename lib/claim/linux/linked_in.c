/* SPDX-License-Identifier: MIT */
/* claim/linux: the allocator inside a program that has no library to tell it by.
 * In: the program's file. Out: an allocator. Called by claimer.c, once a process: a static program
 * shows nothing but itself, so its names of functions are searched for what only one allocator has;
 * where they were stripped, its read-only data for the sentences of glibc's and jemalloc's.
 * Reads the file only, so much of it at most. Trusts nothing it reads.
 * Uses: /proc/PID/exe, which is the program even when its file has no name any more. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/os/os.h"
#include "claim/linux/provider.h"

#define BYTES_MOST (UINT64_C(32) << 20)
#define CHUNK_BYTES 16384u
#define OVERLAP_BYTES 64u /* longer than every mark */
#define HEADERS_MOST 512u

struct mark {
    const char *text;
    size_t bytes; /* of a name with its end: a longer one may end alike, but not go on */
    enum mt_allocator allocator;
};

#define NAME(text) text, sizeof(text)
#define PART(text) text, sizeof(text) - 1

/* In order of preference: whoever links another allocator may have the C library's as well. */
static const struct mark marks[] = {
    {NAME("__asan_init"), MT_ALLOCATOR_ASAN},
    {NAME("mallctl"), MT_ALLOCATOR_JEMALLOC},
    {NAME("mi_process_info"), MT_ALLOCATOR_MIMALLOC},
    {NAME("tc_version"), MT_ALLOCATOR_GPERFTOOLS},
    {NAME("MallocExtension_Internal_GetNumericProperty"), MT_ALLOCATOR_TCMALLOC},
    {PART("<jemalloc>: "), MT_ALLOCATOR_JEMALLOC},
    {NAME("_int_malloc"), MT_ALLOCATOR_GLIBC},
    {PART("malloc(): corrupted top size"), MT_ALLOCATOR_GLIBC},
    {NAME("__libc_malloc_impl"), MT_ALLOCATOR_MUSL},
    {NAME("__malloc_alloc_meta"), MT_ALLOCATOR_MUSL},
};

struct range {
    uint64_t offset, bytes;
};

static bool read_at(int file, uint64_t offset, void *out, size_t bytes)
{
    return offset < INT64_MAX && mt_os_descriptor_is_ours(file) &&
           pread(file, out, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* The first mark, by order of the table, of those in a range; MT_COUNT_OF(marks) = none. */
static size_t search(int file, const struct range *range)
{
    uint64_t bytes = range->bytes < BYTES_MOST ? range->bytes : BYTES_MOST;
    size_t best = MT_COUNT_OF(marks);
    char chunk[CHUNK_BYTES];

    for (uint64_t at = 0; at < bytes; at += CHUNK_BYTES - OVERLAP_BYTES) {
        size_t n = bytes - at < CHUNK_BYTES ? (size_t)(bytes - at) : CHUNK_BYTES;

        if (!read_at(file, range->offset + at, chunk, n))
            break;
        for (size_t i = 0; i < best; i++)
            if (memmem(chunk, n, marks[i].text, marks[i].bytes))
                best = i;
    }
    return best;
}

/* The names of the symbol table; false = stripped. */
static bool find_names(int file, const Elf64_Ehdr *e, struct range *out)
{
    Elf64_Shdr s, names;

    if (e->e_shentsize != sizeof(s) || e->e_shnum > HEADERS_MOST)
        return false;
    for (uint32_t i = 0; i < e->e_shnum; i++) {
        if (!read_at(file, e->e_shoff + i * sizeof(s), &s, sizeof(s)))
            return false;
        if (s.sh_type != SHT_SYMTAB || s.sh_link >= e->e_shnum)
            continue;
        if (!read_at(file, e->e_shoff + s.sh_link * sizeof(names), &names, sizeof(names)))
            return false;
        *out = (struct range){names.sh_offset, names.sh_size};
        return true;
    }
    return false;
}

/* The largest segment that is neither code nor written: sentences stand there. */
static bool find_sentences(int file, const Elf64_Ehdr *e, struct range *out)
{
    Elf64_Phdr p;

    out->bytes = 0;
    if (e->e_phentsize != sizeof(p) || e->e_phnum > HEADERS_MOST)
        return false;
    for (uint32_t i = 0; i < e->e_phnum; i++) {
        if (!read_at(file, e->e_phoff + i * sizeof(p), &p, sizeof(p)))
            return false;
        if (p.p_type == PT_LOAD && !(p.p_flags & (PF_W | PF_X)) && p.p_filesz > out->bytes)
            *out = (struct range){p.p_offset, p.p_filesz};
    }
    return out->bytes > 0;
}

enum mt_allocator mt_allocator_linked_in(const struct mt_look *look)
{
    size_t found = MT_COUNT_OF(marks);
    struct range range;
    char path[64];
    Elf64_Ehdr e;
    int file;

    snprintf(path, sizeof(path), "/proc/%u/exe", look->pid);
    file = mt_os_descriptor_keep(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (file < 0)
        return MT_ALLOCATOR_UNKNOWN;
    if (read_at(file, 0, &e, sizeof(e)) && !memcmp(e.e_ident, ELFMAG, SELFMAG) &&
        e.e_ident[EI_CLASS] == ELFCLASS64 &&
        (find_names(file, &e, &range) || find_sentences(file, &e, &range)))
        found = search(file, &range);
    mt_os_descriptor_close(file);
    return found < MT_COUNT_OF(marks) ? marks[found].allocator : MT_ALLOCATOR_UNKNOWN;
}
