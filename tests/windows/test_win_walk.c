/* SPDX-License-Identifier: MIT */
/* Description: layouts of Windows, told by a fake, become the regions that are meant: one for each
 * stretch of one state, protection and allocation; lost tails; guards; reserved terabytes that
 * never count as committed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "source/windows/win_source.h"

#include "classify/classify.h"

#define UNTIL UINT64_C(0x7fffffff0000)

struct layout {
    const MEMORY_BASIC_INFORMATION *rows; /* without the free ones */
    unsigned n_rows;
    uint64_t mute_from; /* answers end here, 0 = never */
    unsigned n_queries;
};

static struct mt_snapshot snapshot;
static struct win_names *names;

#define AT(address) ((void *)(uintptr_t)(address))
#define ROW(base, bytes, state, type, protect, alloc, alloc_protect)                               \
    {                                                                                              \
        .BaseAddress = AT(base), .AllocationBase = AT(alloc), .AllocationProtect = alloc_protect,  \
        .RegionSize = bytes, .State = state, .Protect = protect, .Type = type                      \
    }

static void fill_free(const struct layout *l, uint64_t address, MEMORY_BASIC_INFORMATION *out)
{
    uint64_t end = UNTIL;

    for (unsigned i = l->n_rows; i-- > 0;)
        if ((uintptr_t)l->rows[i].BaseAddress > address)
            end = (uintptr_t)l->rows[i].BaseAddress;
    *out = (MEMORY_BASIC_INFORMATION){.BaseAddress = AT(address),
                                      .RegionSize = end - address,
                                      .State = MEM_FREE,
                                      .Protect = PAGE_NOACCESS};
}

static size_t query(void *user, uint64_t address, MEMORY_BASIC_INFORMATION *out)
{
    struct layout *l = user;

    l->n_queries++;
    if (l->mute_from && address >= l->mute_from)
        return 0;
    for (unsigned i = 0; i < l->n_rows; i++) {
        uint64_t base = (uintptr_t)l->rows[i].BaseAddress;

        if (base <= address && address < base + l->rows[i].RegionSize) {
            *out = l->rows[i];
            return sizeof(*out);
        }
    }
    fill_free(l, address, out);
    return sizeof(*out);
}

static bool no_working_set(void *user MT_UNUSED, PSAPI_WORKING_SET_EX_INFORMATION *pages MT_UNUSED,
                           uint32_t n MT_UNUSED)
{
    return false;
}

/* What is mapped at 0x7ff600000000 is a program; nothing else has a file. */
static uint32_t mapped_name(void *user MT_UNUSED, uint64_t address, wchar_t *out, uint32_t units)
{
    static const wchar_t name[] = L"\\??\\C:\\app\\app.exe";

    assert_true(units > MT_COUNT_OF(name));
    if (address != UINT64_C(0x7ff600000000))
        return 0;
    memcpy(out, name, sizeof(name));
    return MT_COUNT_OF(name) - 1;
}

static int walk(struct layout *l)
{
    const struct win_calls calls = {query, no_working_set, mapped_name, l};

    snapshot.space_base = 0x10000;
    snapshot.space_end = UNTIL;
    win_names_forget(names);
    return win_walk(&calls, names, &snapshot);
}

static int begin(void **state)
{
    struct mt_strings *strings;

    (void)state;
    return mt_strings_new(64, 4096, &strings) || mt_snapshot_init(&snapshot, strings, 64) ||
           win_names_new(&names);
}

static int end(void **state)
{
    (void)state;
    win_names_free(names);
    mt_strings_free(snapshot.strings);
    mt_snapshot_release(&snapshot);
    return 0;
}

static void expect_region(uint32_t i, uint64_t base, uint64_t bytes, uint32_t protection)
{
    assert_true(i < snapshot.n_regions);
    assert_int_equal(snapshot.regions[i].base, base);
    assert_int_equal(snapshot.regions[i].end - snapshot.regions[i].base, bytes);
    assert_int_equal(snapshot.regions[i].protection, protection);
}

static unsigned type_of(uint32_t i)
{
    return mt_rules_apply(&snapshot, i).type;
}

static const uint32_t rw = MT_PROT_READ | MT_PROT_WRITE;

static void a_stack_has_reserve_guard_and_committed_part(void **state)
{
    static const MEMORY_BASIC_INFORMATION rows[] = {
        ROW(0x200000, 0xfb000, MEM_RESERVE, MEM_PRIVATE, 0, 0x200000, PAGE_READWRITE),
        ROW(0x2fb000, 0x3000, MEM_COMMIT, MEM_PRIVATE, PAGE_READWRITE | PAGE_GUARD, 0x200000,
            PAGE_READWRITE),
        ROW(0x2fe000, 0x2000, MEM_COMMIT, MEM_PRIVATE, PAGE_READWRITE, 0x200000, PAGE_READWRITE),
    };
    struct layout l = {rows, 3, 0, 0};

    (void)state;
    assert_int_equal(walk(&l), 0);
    assert_int_equal(snapshot.n_regions, 3);
    expect_region(0, 0x200000, 0xfb000, 0);
    expect_region(1, 0x2fb000, 0x3000, 0);
    expect_region(2, 0x2fe000, 0x2000, rw);
    assert_false(snapshot.regions[0].flags & (MT_REGION_COMMITTED | MT_REGION_CHARGED));
    assert_true(snapshot.regions[1].flags & MT_REGION_GUARD);
    assert_true(snapshot.regions[1].flags & MT_REGION_COMMITTED);
    assert_true(snapshot.regions[1].flags & MT_REGION_CHARGED);
    assert_true(snapshot.regions[2].flags & MT_REGION_COMMITTED);
    assert_int_equal(type_of(1), MT_TYPE_UNUSABLE);
    assert_int_equal(snapshot.flags, 0);
}

static void equal_neighbours_are_one_region_within_an_allocation_only(void **state)
{
    static const MEMORY_BASIC_INFORMATION rows[] = {
        ROW(0x100000, 0x10000, MEM_RESERVE, MEM_PRIVATE, 0, 0x100000, PAGE_READWRITE),
        ROW(0x110000, 0x20000, MEM_RESERVE, MEM_PRIVATE, 0, 0x100000, PAGE_READWRITE),
        ROW(0x130000, 0x10000, MEM_RESERVE, MEM_PRIVATE, 0, 0x130000, PAGE_READWRITE),
    };
    struct layout l = {rows, 3, 0, 0};

    (void)state;
    assert_int_equal(walk(&l), 0);
    assert_int_equal(snapshot.n_regions, 2);
    expect_region(0, 0x100000, 0x30000, 0);
    expect_region(1, 0x130000, 0x10000, 0);
}

static void what_is_free_below_a_border_is_lost(void **state)
{
    static const MEMORY_BASIC_INFORMATION rows[] = {
        ROW(0x100000, 0x1000, MEM_COMMIT, MEM_PRIVATE, PAGE_READWRITE, 0x100000, PAGE_READWRITE),
        ROW(0x110000, 0xf000, MEM_COMMIT, MEM_PRIVATE, PAGE_READONLY, 0x110000, PAGE_READONLY),
        ROW(0x120000, 0x10000, MEM_COMMIT, MEM_PRIVATE, PAGE_READWRITE, 0x120000, PAGE_READWRITE),
    };
    struct layout l = {rows, 3, 0, 0};

    (void)state;
    assert_int_equal(walk(&l), 0);
    assert_int_equal(snapshot.n_regions, 5);
    expect_region(1, 0x101000, 0xf000, 0);
    expect_region(3, 0x11f000, 0x1000, 0);
    assert_int_equal(type_of(1), MT_TYPE_UNUSABLE);
    assert_int_equal(type_of(3), MT_TYPE_UNUSABLE);
    assert_false(snapshot.regions[1].flags & MT_REGION_CHARGED);
}

static void G06_two_terabytes_of_bitmap_are_reserved_only(void **state)
{
    static const MEMORY_BASIC_INFORMATION rows[] = {
        ROW(0x1d0000000, 0x100000, MEM_COMMIT, MEM_PRIVATE, PAGE_READWRITE, 0x1d0000000,
            PAGE_READWRITE),
        ROW(0x1d0100000, 0x4000, MEM_COMMIT, MEM_PRIVATE, PAGE_READWRITE | PAGE_GUARD, 0x1d0000000,
            PAGE_READWRITE),
        ROW(0x7df5e0000000, 0x5000000, MEM_RESERVE, MEM_MAPPED, 0, 0x7df5e0000000, PAGE_NOACCESS),
        ROW(0x7df5e5000000, 0x2a000, MEM_COMMIT, MEM_MAPPED, PAGE_READONLY, 0x7df5e0000000,
            PAGE_NOACCESS),
        ROW(0x7df5e502a000, 0x1fffafd6000, MEM_RESERVE, MEM_MAPPED, 0, 0x7df5e0000000,
            PAGE_NOACCESS),
    };
    struct layout l = {rows, 5, 0, 0};
    uint64_t reserved = 0, committed_mapped = 0;

    (void)state;
    assert_int_equal(walk(&l), 0);
    for (uint32_t i = 0; i < snapshot.n_regions; i++) {
        const struct mt_region *r = &snapshot.regions[i];

        if (!(r->flags & MT_REGION_SECTION))
            continue;
        assert_int_equal(type_of(i), MT_TYPE_SHAREABLE);
        if (r->flags & MT_REGION_COMMITTED)
            committed_mapped += r->end - r->base;
        else
            reserved += r->end - r->base;
    }
    assert_int_equal(reserved, UINT64_C(2199023083520));
    assert_int_equal(committed_mapped, 172032);
}

static void pieces_of_an_image_have_its_name_and_their_offset(void **state)
{
    static const MEMORY_BASIC_INFORMATION rows[] = {
        ROW(0x7ff600000000, 0x1000, MEM_COMMIT, MEM_IMAGE, PAGE_READONLY, 0x7ff600000000,
            PAGE_EXECUTE_WRITECOPY),
        ROW(0x7ff600001000, 0x4000, MEM_COMMIT, MEM_IMAGE, PAGE_EXECUTE_READ, 0x7ff600000000,
            PAGE_EXECUTE_WRITECOPY),
        ROW(0x7ff600005000, 0x1000, MEM_COMMIT, MEM_IMAGE, PAGE_WRITECOPY, 0x7ff600000000,
            PAGE_EXECUTE_WRITECOPY),
        ROW(0x7ff600006000, 0x1000, MEM_COMMIT, MEM_IMAGE, PAGE_READWRITE, 0x7ff600000000,
            PAGE_EXECUTE_WRITECOPY),
    };
    struct layout l = {rows, 4, 0, 0};

    (void)state;
    assert_int_equal(walk(&l), 0);
    assert_int_equal(snapshot.n_regions, 4); /* the written page is no piece of its own */
    assert_true(snapshot.regions[3].flags & MT_REGION_LOST);
    for (uint32_t i = 0; i < 3; i++) {
        const struct mt_region *r = &snapshot.regions[i];

        assert_string_equal(mt_strings_get(snapshot.strings, r->name, NULL), "C:\\app\\app.exe");
        assert_int_equal(r->offset, r->base - UINT64_C(0x7ff600000000));
        assert_int_equal(type_of(i), MT_TYPE_IMAGE);
    }
    expect_region(1, 0x7ff600001000, 0x4000, MT_PROT_READ | MT_PROT_EXECUTE);
    expect_region(2, 0x7ff600005000, 0x2000, rw);
    assert_false(snapshot.regions[1].flags & MT_REGION_CHARGED);
    assert_true(snapshot.regions[2].flags & MT_REGION_CHARGED);
}

static void G07_G09_a_walk_that_is_refused_ends(void **state)
{
    static const MEMORY_BASIC_INFORMATION rows[] = {
        ROW(0x100000, 0x10000, MEM_COMMIT, MEM_PRIVATE, PAGE_READWRITE, 0x100000, PAGE_READWRITE),
    };
    struct layout nothing = {rows, 1, 1, 0};
    struct layout half = {rows, 1, 0x110000, 0};

    (void)state;
    assert_int_equal(walk(&nothing), TRACER_EIO);
    assert_int_equal(nothing.n_queries, 1);
    assert_int_equal(walk(&half), 0);
    assert_int_equal(snapshot.n_regions, 1);
    assert_true(snapshot.flags & MT_SAMPLE_TORN);
    assert_int_equal(half.n_queries, 3);
}

/* ---- names ---- */

static void expect_plain(const wchar_t *from, const wchar_t *plain)
{
    static struct win_drives drives;
    wchar_t name[128];
    uint32_t units = (uint32_t)wcslen(from);
    const wchar_t *got;

    wcscpy(drives.device[2], L"\\Device\\HarddiskVolume3");
    wcscpy(drives.device[3], L"\\Device\\HarddiskVolume30");
    wcscpy(name, from);
    got = win_name_plain(&drives, name, &units);
    assert_int_equal(units, wcslen(plain));
    assert_memory_equal(got, plain, units * sizeof(wchar_t));
}

static void G11_names_have_four_forms(void **state)
{
    (void)state;
    expect_plain(L"\\Device\\HarddiskVolume3\\a\\b.dll", L"C:\\a\\b.dll");
    expect_plain(L"\\Device\\HarddiskVolume30\\b.dll", L"D:\\b.dll");
    expect_plain(L"\\device\\harddiskvolume3\\b.dll", L"C:\\b.dll");
    expect_plain(L"\\??\\C:\\a\\b.dll", L"C:\\a\\b.dll");
    expect_plain(L"C:\\a\\b.dll", L"C:\\a\\b.dll");
    expect_plain(L"\\Device\\Mup\\host\\share\\b.dll", L"\\\\host\\share\\b.dll");
    expect_plain(L"\\??\\UNC\\host\\share\\b.dll", L"\\\\host\\share\\b.dll");
    expect_plain(L"\\Device\\HarddiskVolume7\\b.dll", L"\\Device\\HarddiskVolume7\\b.dll");
}

/* Longer than the 260 units of MAX_PATH, which the system lets a program ask for. */
static void a_long_name_is_kept_whole(void **state)
{
    static struct win_drives drives;
    wchar_t name[2048] = L"\\Device\\HarddiskVolume3";
    uint32_t device = (uint32_t)wcslen(name), units = 2000;
    const wchar_t *got;

    (void)state;
    wcscpy(drives.device[2], name);
    for (uint32_t i = device; i < units; i++)
        name[i] = i % 50 ? L'x' : L'\\';
    name[device] = L'\\';
    got = win_name_plain(&drives, name, &units);
    assert_int_equal(units, 2000 - device + 2);
    assert_true(got[0] == L'C' && got[1] == L':' && got[units - 1] == L'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_has_reserve_guard_and_committed_part),
        cmocka_unit_test(equal_neighbours_are_one_region_within_an_allocation_only),
        cmocka_unit_test(what_is_free_below_a_border_is_lost),
        cmocka_unit_test(G06_two_terabytes_of_bitmap_are_reserved_only),
        cmocka_unit_test(pieces_of_an_image_have_its_name_and_their_offset),
        cmocka_unit_test(G07_G09_a_walk_that_is_refused_ends),
        cmocka_unit_test(G11_names_have_four_forms),
        cmocka_unit_test(a_long_name_is_kept_whole),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
