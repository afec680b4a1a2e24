/* SPDX-License-Identifier: MIT */
/* What the loader writes into one object's data: its relocation targets, from its file. */
#ifndef MT_CLAIM_LINUX_RELOCATIONS_H
#define MT_CLAIM_LINUX_RELOCATIONS_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#define MT_RELOCATION_HEADERS 64
#define MT_RELOCATION_TABLES 4

enum mt_relocation_form { MT_RELOCATION_REL, MT_RELOCATION_RELA, MT_RELOCATION_RELR };

struct mt_relocations {
    int file;
    uint16_t machine;
    uint32_t n_headers;
    Elf64_Phdr headers[MT_RELOCATION_HEADERS];
    uint32_t n_tables;
    struct {
        uint64_t offset, bytes; /* in the file */
        enum mt_relocation_form form;
    } tables[MT_RELOCATION_TABLES];
    uint64_t dynamic, dynamic_bytes; /* addresses as in the file */
    uint64_t got;                    /* of lazy binding, 0 = none */
};

/* Marks for the bytes of [address, address + bytes): one bit a byte. */
struct mt_marks {
    uint64_t address, bytes; /* address as in the file */
    uint8_t *bits;           /* room for bytes / 8 */
};

/* Reads headers and dynamic section of the open file. False: no 64-bit ELF, or makes no sense. */
bool mt_relocations_open(int file, struct mt_relocations *out);

/* The writable segment that has `offset` of the file; NULL = none. */
const Elf64_Phdr *mt_relocations_segment(const struct mt_relocations *r, uint64_t offset,
                                         uint64_t page_bytes);

/* Sets `bits` anew: what the loader writes. False: a table could not be read. */
bool mt_relocations_mark(const struct mt_relocations *r, const struct mt_marks *marks);

#endif
