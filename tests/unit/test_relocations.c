/* SPDX-License-Identifier: MIT */
/* Description: what the loader writes, from files made by hand: each form of relocation, the
 * dynamic section, the head of the table of lazy binding; files that lie. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "claim/linux/relocations.h"

#define DATA 0x2000u /* address of the data; in the file it is at 0x1000 */
#define BYTES 0x1000u

/* The whole file: tables lie in a first segment that is at its offset. */
static struct {
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    Elf64_Rela rela[3];
    Elf64_Rel rel[1];
    uint64_t relr[2];
    char gap[0x1000 - 336];
    Elf64_Dyn dynamic[12];
    char rest[BYTES - 12 * sizeof(Elf64_Dyn)];
} file;
static uint8_t bits[BYTES / 8];
static int fd;

#define AT(member) offsetof(__typeof__(file), member)

static int begin(void **state)
{
    const Elf64_Dyn dynamic[] = {
        {DT_RELA, {AT(rela)}}, {DT_RELASZ, {sizeof(file.rela)}},
        {DT_REL, {AT(rel)}},   {DT_RELSZ, {sizeof(file.rel)}},
        {36, {AT(relr)}},      {35, {sizeof(file.relr)}},
        {DT_PLTGOT, {0x2800}}, {DT_NULL, {0}},
    };

    (void)state;
    memset(&file, 0, sizeof(file));
    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = ELFCLASS64;
    file.header.e_machine = EM_X86_64;
    file.header.e_phentsize = sizeof(Elf64_Phdr);
    file.header.e_phnum = 3;
    file.header.e_phoff = AT(segments);
    file.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = 0x1000, .p_memsz = 0x1000};
    file.segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
                                    .p_flags = PF_R | PF_W,
                                    .p_offset = 0x1000,
                                    .p_vaddr = DATA,
                                    .p_filesz = BYTES,
                                    .p_memsz = BYTES + 100};
    file.segments[2] = (Elf64_Phdr){
        .p_type = PT_DYNAMIC, .p_offset = 0x1000, .p_vaddr = DATA, .p_filesz = sizeof(dynamic)};
    file.rela[0] = (Elf64_Rela){.r_offset = 0x2100, .r_info = R_X86_64_RELATIVE};
    file.rela[1] = (Elf64_Rela){.r_offset = 0x2203, .r_info = R_X86_64_32};
    file.rela[2] = (Elf64_Rela){.r_offset = 0x2300, .r_info = R_X86_64_COPY};
    file.rel[0] = (Elf64_Rel){.r_offset = 0x2400, .r_info = R_X86_64_TLSDESC};
    file.relr[0] = 0x2500;
    file.relr[1] = 1u | 1u << 1 | 1u << 3; /* the word after it, not the next, the third */
    memcpy(file.dynamic, dynamic, sizeof(dynamic));
    fd = memfd_create("planted", 0);
    return fd < 0 || pwrite(fd, &file, sizeof(file), 0) != sizeof(file) ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    return close(fd);
}

static bool is_marked(uint64_t address)
{
    return bits[(address - DATA) / 8] >> (address - DATA) % 8 & 1;
}

static void assert_marked(uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to; at++)
        assert_true(is_marked(at));
    assert_false(is_marked(from - 1));
    assert_false(is_marked(to));
}

static void every_form_and_nothing_else(void **state)
{
    const struct mt_marks marks = {DATA, BYTES, bits};
    struct mt_relocations r;
    unsigned n = 0;

    (void)state;
    assert_true(mt_relocations_open(fd, &r));
    assert_true(mt_relocations_mark(&r, &marks));
    assert_marked(0x2100, 0x2108);
    assert_marked(0x2203, 0x2207);
    assert_marked(0x2400, 0x2410);
    assert_marked(0x2500, 0x2510);
    assert_marked(0x2518, 0x2520);
    assert_marked(0x2800, 0x2818);
    for (unsigned i = 0; i < BYTES; i++)
        n += is_marked(DATA + i);
    assert_int_equal(n, 8 * sizeof(Elf64_Dyn) + 8 + 4 + 16 + 16 + 8 + 24);
    assert_ptr_equal(mt_relocations_segment(&r, 0x1000, 4096), &r.headers[1]);
    assert_null(mt_relocations_segment(&r, 0x2000, 4096));
    assert_null(mt_relocations_segment(&r, 0, 4096));
}

static void lies_are_refused(void **state)
{
    const struct mt_marks marks = {DATA, BYTES, bits};
    struct mt_relocations r;

    (void)state;
    file.dynamic[0].d_un.d_val = 0x900000; /* a table outside of every segment */
    assert_int_equal(pwrite(fd, &file, sizeof(file), 0), sizeof(file));
    assert_false(mt_relocations_open(fd, &r));
    file.dynamic[0].d_un.d_val = AT(rela);
    file.dynamic[1].d_un.d_val = 1 << 20; /* beyond the file's end */
    assert_int_equal(pwrite(fd, &file, sizeof(file), 0), sizeof(file));
    assert_true(mt_relocations_open(fd, &r));
    assert_false(mt_relocations_mark(&r, &marks));
    assert_int_equal(ftruncate(fd, 100), 0);
    assert_false(mt_relocations_open(fd, &r));
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_false(mt_relocations_open(fd, &r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_form_and_nothing_else, begin, end),
        cmocka_unit_test_setup_teardown(lies_are_refused, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
