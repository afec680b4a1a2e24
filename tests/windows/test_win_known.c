/* SPDX-License-Identifier: MIT */
/* Description: known quantities of this process move exactly the columns they should, to the byte:
 * reserved, committed and touched memory, sections, file views, views written to, images,
 * and what the 64 KiB granularity loses. */
#include "windows/win_look.h"

static struct mt_levels before;

static void begin_measure(void)
{
    look_now();
    before = look.levels;
}

/* What a column of a type moved by since begin_measure(). */
static int64_t moved(unsigned type, unsigned column)
{
    return look_value(type, column) - before.type[type].value[column];
}

static void expect_moved(unsigned type, int64_t size, int64_t committed, int64_t ws)
{
    assert_int_equal(moved(type, MT_COLUMN_SIZE), size);
    assert_int_equal(moved(type, MT_COLUMN_COMMITTED), committed);
    assert_int_equal(moved(type, MT_COLUMN_WS), ws);
}

static void idle_looks_are_equal(void **state)
{
    (void)state;
    begin_measure(); /* touches the pages that hold what it measures */
    begin_measure();
    look_now();
    for (unsigned t = 1; t < MT_TYPE_CAPACITY; t++)
        if (!mt_type_level_equal(&before.type[t], &look.levels.type[t]))
            fail_msg("%s moved by itself", mt_type_name(t) ? mt_type_name(t) : "a type");
}

/* The span is known from GetSystemInfo; every byte of it has exactly one type. */
static void types_add_up_to_the_address_space(void **state)
{
    (void)state;
    look_now();
    assert_int_equal(look_sum(), look_span());
    assert_int_equal(look.flags, 0);
}

static void reserve_16_commit_8_touch_4(void **state)
{
    char *p;

    (void)state;
    begin_measure();
    p = VirtualAlloc(NULL, MIB(16), MEM_RESERVE, PAGE_READWRITE);
    assert_non_null(p);
    assert_non_null(VirtualAlloc(p, MIB(8), MEM_COMMIT, PAGE_READWRITE));
    touch(p, MIB(4));
    look_now();
    expect_moved(MT_TYPE_PRIVATE, MIB(16), MIB(8), MIB(4));
    assert_int_equal(moved(MT_TYPE_PRIVATE, MT_COLUMN_CHARGED), MIB(8));
    assert_int_equal(moved(MT_TYPE_PRIVATE, MT_COLUMN_PRIVATE), MIB(8));
    assert_int_equal(moved(MT_TYPE_PRIVATE, MT_COLUMN_WS_PRIVATE), MIB(4));
    assert_int_equal(moved(MT_TYPE_PRIVATE, MT_COLUMN_WS_SHAREABLE), 0);
    assert_int_equal(moved(MT_TYPE_FREE, MT_COLUMN_SIZE), -MIB(16));
    assert_true(VirtualFree(p, MIB(1), MEM_DECOMMIT));
    look_now();
    expect_moved(MT_TYPE_PRIVATE, MIB(16), MIB(7), MIB(3));
    assert_true(VirtualFree(p, 0, MEM_RELEASE));
    look_now();
    expect_moved(MT_TYPE_PRIVATE, 0, 0, 0);
}

static void guard_pages_are_not_committed_and_not_sprung(void **state)
{
    char *p;
    MEMORY_BASIC_INFORMATION m;
    DWORD old;

    (void)state;
    begin_measure();
    p = VirtualAlloc(NULL, KIB(64), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    assert_non_null(p);
    assert_true(VirtualProtect(p, KIB(8), PAGE_READWRITE | PAGE_GUARD, &old));
    look_now();
    expect_moved(MT_TYPE_PRIVATE, KIB(56), KIB(56), 0);
    expect_moved(MT_TYPE_UNUSABLE, KIB(8), 0, 0);
    assert_true(VirtualQuery(p, &m, sizeof(m)) && (m.Protect & PAGE_GUARD));
    VirtualFree(p, 0, MEM_RELEASE);
}

static void a_section_is_shareable(void **state)
{
    HANDLE section =
        CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, MIB(4), NULL);
    void *p;

    (void)state;
    assert_non_null(section);
    begin_measure();
    p = MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, 0);
    assert_non_null(p);
    touch(p, MIB(1));
    look_now();
    expect_moved(MT_TYPE_SHAREABLE, MIB(4), MIB(4), MIB(1));
    assert_int_equal(moved(MT_TYPE_SHAREABLE, MT_COLUMN_CHARGED), MIB(4));
    assert_int_equal(moved(MT_TYPE_SHAREABLE, MT_COLUMN_WS_SHAREABLE), MIB(1));
    assert_int_equal(moved(MT_TYPE_SHAREABLE, MT_COLUMN_WS_PRIVATE), 0);
    UnmapViewOfFile(p);
    CloseHandle(section);
    look_now();
    expect_moved(MT_TYPE_SHAREABLE, 0, 0, 0);
}

#define FILE_BYTES KIB(300)
static wchar_t file_path[MAX_PATH];

static HANDLE make_section_of_file(HANDLE *out_file)
{
    static char zeros[FILE_BYTES];
    wchar_t folder[MAX_PATH];
    HANDLE section;
    DWORD done;

    assert_true(GetTempPathW(MAX_PATH, folder));
    assert_true(GetTempFileNameW(folder, L"\u00e4mt", 0, file_path));
    *out_file = CreateFileW(file_path, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                            FILE_FLAG_DELETE_ON_CLOSE, NULL);
    assert_true(WriteFile(*out_file, zeros, sizeof(zeros), &done, NULL) && done == sizeof(zeros));
    section = CreateFileMappingW(*out_file, NULL, PAGE_READWRITE, 0, 0, NULL);
    assert_non_null(section);
    return section;
}

/* The view must be known by the name the file was made with, in UTF-8. */
static void expect_name(const void *p)
{
    char path[MAX_PATH * 3];

    assert_true(mt_win_utf8(file_path, wcslen(file_path), path, sizeof(path)));
    assert_int_equal(_stricmp(mt_strings_get(look.strings, look_at(p)->name, NULL), path), 0);
}

static void a_file_view_is_a_mapped_file(void **state)
{
    HANDLE file, section = make_section_of_file(&file);
    void *p;

    (void)state;
    begin_measure();
    p = MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, 0);
    touch(p, KIB(300)); /* of a file the system may bring more than what is touched */
    look_now();
    expect_moved(MT_TYPE_MAPPED_FILE, KIB(300), KIB(300), KIB(300));
    assert_int_equal(moved(MT_TYPE_MAPPED_FILE, MT_COLUMN_CHARGED), 0);
    assert_int_equal(moved(MT_TYPE_MAPPED_FILE, MT_COLUMN_WS_SHAREABLE), KIB(300));
    assert_int_equal(moved(MT_TYPE_UNUSABLE, MT_COLUMN_SIZE), KIB(20));
    expect_name(p);
    UnmapViewOfFile(p);
    CloseHandle(section);
    CloseHandle(file);
}

static void a_view_written_to_has_private_pages(void **state)
{
    HANDLE file, section = make_section_of_file(&file);
    volatile char *p;
    char sum = 0;

    (void)state;
    begin_measure();
    p = MapViewOfFile(section, FILE_MAP_COPY, 0, 0, 0);
    assert_non_null(p);
    for (int64_t i = 0; i < FILE_BYTES; i += 4096)
        sum = (char)(sum + p[i]);
    assert_int_equal(sum, 0);
    touch((void *)(uintptr_t)p, KIB(32));
    look_now();
    assert_int_equal(moved(MT_TYPE_MAPPED_FILE, MT_COLUMN_SIZE), KIB(300));
    assert_int_equal(moved(MT_TYPE_MAPPED_FILE, MT_COLUMN_WS_PRIVATE), KIB(32));
    assert_int_equal(moved(MT_TYPE_MAPPED_FILE, MT_COLUMN_WS_SHAREABLE), KIB(268));
    assert_int_equal(moved(MT_TYPE_MAPPED_FILE, MT_COLUMN_CHARGED), KIB(300));
    UnmapViewOfFile((const void *)(uintptr_t)p);
    CloseHandle(section);
    CloseHandle(file);
}

static void small_allocations_lose_the_rest_of_64_kib(void **state)
{
    void *p[8];

    (void)state;
    begin_measure();
    for (int i = 0; i < 8; i++)
        p[i] = VirtualAlloc(NULL, KIB(4), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    look_now();
    assert_int_equal(moved(MT_TYPE_PRIVATE, MT_COLUMN_SIZE), KIB(32));
    assert_int_equal(moved(MT_TYPE_PRIVATE, MT_COLUMN_BLOCKS), 8);
    assert_int_equal(moved(MT_TYPE_UNUSABLE, MT_COLUMN_SIZE), KIB(480));
    assert_int_equal(moved(MT_TYPE_FREE, MT_COLUMN_SIZE), -KIB(512));
    for (int i = 0; i < 8; i++)
        VirtualFree(p[i], 0, MEM_RELEASE);
}

static int64_t sum_of_images(void)
{
    HMODULE modules[1024];
    DWORD bytes;
    int64_t sum = 0;

    assert_true(EnumProcessModules(GetCurrentProcess(), modules, sizeof(modules), &bytes));
    for (DWORD i = 0; i < bytes / sizeof(modules[0]); i++) {
        MODULEINFO info;

        assert_true(GetModuleInformation(GetCurrentProcess(), modules[i], &info, sizeof(info)));
        sum += (info.SizeOfImage + 4095) / 4096 * 4096;
    }
    return sum;
}

static void a_library_is_an_image(void **state)
{
    int64_t images;
    HMODULE library;

    (void)state;
    begin_measure();
    images = sum_of_images();
    library = LoadLibraryW(L"version.dll");
    assert_non_null(library);
    look_now();
    assert_true(sum_of_images() > images);
    assert_int_equal(moved(MT_TYPE_IMAGE, MT_COLUMN_SIZE), sum_of_images() - images);
    FreeLibrary(library);
    look_now();
    assert_int_equal(moved(MT_TYPE_IMAGE, MT_COLUMN_SIZE), sum_of_images() - images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_looks_are_equal),
        cmocka_unit_test(types_add_up_to_the_address_space),
        cmocka_unit_test(reserve_16_commit_8_touch_4),
        cmocka_unit_test(guard_pages_are_not_committed_and_not_sprung),
        cmocka_unit_test(a_section_is_shareable),
        cmocka_unit_test(a_file_view_is_a_mapped_file),
        cmocka_unit_test(a_view_written_to_has_private_pages),
        cmocka_unit_test(small_allocations_lose_the_rest_of_64_kib),
        cmocka_unit_test(a_library_is_an_image),
    };

    return cmocka_run_group_tests(tests, look_begin, look_end);
}
