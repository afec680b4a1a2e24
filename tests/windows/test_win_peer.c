/* SPDX-License-Identifier: MIT */
/* Description: the table that MemoryTracer shows of a process, computed here by its rules and
 * VirtualQuery alone, is the sum of ours to the byte; where rules differ, they differ by known
 * bytes. Prints both, for README.md. */
#include "windows/win_look.h"

#include <stdio.h>

enum { PEER_IMAGE, PEER_FILE, PEER_SHAREABLE, PEER_STACK, PEER_PRIVATE, PEER_TYPES };

static struct {
    int64_t size[PEER_TYPES], committed[PEER_TYPES], blocks[PEER_TYPES];
    int64_t free_size, unusable, guard;
    int64_t private_bytes, ws, ws_private;
} peer;

static unsigned peer_type(const MEMORY_BASIC_INFORMATION *m, const void *on_stack)
{
    static wchar_t name[MAX_PATH];
    MEMORY_BASIC_INFORMATION stack;

    if (m->Type == MEM_IMAGE)
        return PEER_IMAGE;
    if (m->Type == MEM_MAPPED)
        return GetMappedFileNameW(GetCurrentProcess(), m->AllocationBase, name, MAX_PATH)
                   ? PEER_FILE
                   : PEER_SHAREABLE;
    VirtualQuery(on_stack, &stack, sizeof(stack));
    return m->AllocationBase == stack.AllocationBase ? PEER_STACK : PEER_PRIVATE;
}

/* Page by page: the list of the whole working set is refused by Wine. */
static void peer_pages(const MEMORY_BASIC_INFORMATION *m, bool counts_private)
{
    for (size_t at = 0; at < m->RegionSize; at += 4096) {
        PSAPI_WORKING_SET_EX_INFORMATION page = {.VirtualAddress = (char *)m->BaseAddress + at};

        assert_true(QueryWorkingSetEx(GetCurrentProcess(), &page, sizeof(page)));
        if (!page.VirtualAttributes.Valid)
            continue;
        peer.ws += 4096;
        if (page.VirtualAttributes.Shared)
            continue;
        peer.ws_private += 4096;
        if (counts_private)
            peer.private_bytes += 4096;
    }
}

static void peer_block(const MEMORY_BASIC_INFORMATION *m, unsigned type)
{
    const DWORD writable =
        PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
    int64_t bytes = (int64_t)m->RegionSize;
    bool whole = type == PEER_STACK || type == PEER_PRIVATE ||
                 (type == PEER_IMAGE && (m->Protect & writable));

    peer.size[type] += bytes;
    peer.blocks[type]++;
    if (m->State != MEM_COMMIT)
        return;
    peer.committed[type] += bytes;
    if (whole)
        peer.private_bytes += bytes;
    if (m->Protect & PAGE_GUARD)
        peer.guard += bytes;
    if (!(m->Protect & (PAGE_GUARD | PAGE_NOACCESS)))
        peer_pages(m, type == PEER_IMAGE && !whole);
}

static void peer_look(void)
{
    MEMORY_BASIC_INFORMATION m;
    uintptr_t at = 0;
    int here = 0;

    memset(&peer, 0, sizeof(peer));
    for (; VirtualQuery((void *)at, &m, sizeof(m)); at = (uintptr_t)m.BaseAddress + m.RegionSize) {
        int64_t lost = (int64_t)((65536 - (uintptr_t)m.BaseAddress % 65536) % 65536);

        if (m.State != MEM_FREE) {
            peer_block(&m, peer_type(&m, &here));
            continue;
        }
        lost = lost < (int64_t)m.RegionSize ? lost : (int64_t)m.RegionSize;
        peer.unusable += lost;
        peer.free_size += (int64_t)m.RegionSize - lost;
    }
}

static int64_t sum_of(unsigned column)
{
    int64_t sum = 0;

    for (unsigned t = 1; t < MT_TYPE_CAPACITY; t++)
        if (t != MT_TYPE_FREE && (look.levels.type[t].known >> column & 1u))
            sum += look.levels.type[t].value[column];
    return sum;
}

/* What MemoryTracer calls private (and stack) has four names here. */
static int64_t split_private(unsigned column)
{
    return look_value(MT_TYPE_PRIVATE, column) + look_value(MT_TYPE_HEAP, column) +
           look_value(MT_TYPE_STACK, column) + look_value(MT_TYPE_TRACER, column);
}

static void print_row(const char *name, int64_t theirs, int64_t ours)
{
    print_message("| %s | %lld | %lld |\n", name, (long long)theirs / 1024, (long long)ours / 1024);
}

static void print_table(void)
{
    print_message("| KiB | MemoryTracer | memtracer |\n");
    print_row("image", peer.size[PEER_IMAGE], look_value(MT_TYPE_IMAGE, MT_COLUMN_SIZE));
    print_row("mapped file", peer.size[PEER_FILE], look_value(MT_TYPE_MAPPED_FILE, MT_COLUMN_SIZE));
    print_row("shareable", peer.size[PEER_SHAREABLE],
              look_value(MT_TYPE_SHAREABLE, MT_COLUMN_SIZE));
    print_row("heap", 0, look_value(MT_TYPE_HEAP, MT_COLUMN_SIZE));
    print_row("stack", peer.size[PEER_STACK], look_value(MT_TYPE_STACK, MT_COLUMN_SIZE));
    print_row("tracer", 0, look_value(MT_TYPE_TRACER, MT_COLUMN_SIZE));
    print_row("private", peer.size[PEER_PRIVATE], look_value(MT_TYPE_PRIVATE, MT_COLUMN_SIZE));
    print_row("unusable", peer.unusable, look_value(MT_TYPE_UNUSABLE, MT_COLUMN_SIZE));
    print_row("free", peer.free_size, look_value(MT_TYPE_FREE, MT_COLUMN_SIZE));
    print_row("private bytes", peer.private_bytes, sum_of(MT_COLUMN_PRIVATE));
    print_row("working set", peer.ws, sum_of(MT_COLUMN_WS));
    print_row("private working set", peer.ws_private, sum_of(MT_COLUMN_WS_PRIVATE));
}

static void both_look(void)
{
    for (int i = 0; i < 3; i++) { /* what the one touches the other sees, the first time */
        peer_look();
        look_now();
    }
}

static void our_table_adds_up_to_memorytracers(void **state)
{
    (void)state;
    both_look();
    assert_int_equal(look_value(MT_TYPE_IMAGE, MT_COLUMN_SIZE), peer.size[PEER_IMAGE]);
    assert_int_equal(look_value(MT_TYPE_IMAGE, MT_COLUMN_COMMITTED), peer.committed[PEER_IMAGE]);
    assert_int_equal(look_value(MT_TYPE_MAPPED_FILE, MT_COLUMN_SIZE), peer.size[PEER_FILE]);
    assert_int_equal(look_value(MT_TYPE_SHAREABLE, MT_COLUMN_SIZE), peer.size[PEER_SHAREABLE]);
    assert_int_equal(look_value(MT_TYPE_SHAREABLE, MT_COLUMN_COMMITTED),
                     peer.committed[PEER_SHAREABLE]);
    assert_int_equal(split_private(MT_COLUMN_SIZE) + look_value(MT_TYPE_UNUSABLE, MT_COLUMN_SIZE),
                     peer.size[PEER_PRIVATE] + peer.size[PEER_STACK] + peer.unusable);
    assert_int_equal(split_private(MT_COLUMN_COMMITTED) + peer.guard,
                     peer.committed[PEER_PRIVATE] + peer.committed[PEER_STACK]);
    assert_int_equal(look_value(MT_TYPE_FREE, MT_COLUMN_SIZE),
                     peer.free_size - KIB(64)); /* below the lowest address */
    assert_int_equal(sum_of(MT_COLUMN_WS), peer.ws);
    assert_int_equal(sum_of(MT_COLUMN_WS_PRIVATE), peer.ws_private);
    print_table();
}

/* Its private bytes leave out what a view of a file keeps for this process alone. */
static void private_bytes_are_the_same_but_for_copied_views(void **state)
{
    HANDLE section =
        CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, KIB(300), NULL);
    int64_t before;
    void *view;

    (void)state;
    both_look();
    before = sum_of(MT_COLUMN_PRIVATE) - peer.private_bytes;
    view = MapViewOfFile(section, FILE_MAP_COPY, 0, 0, 0);
    assert_non_null(view);
    touch(view, KIB(32));
    both_look();
    assert_int_equal(sum_of(MT_COLUMN_PRIVATE) - peer.private_bytes - before, KIB(300));
    UnmapViewOfFile(view);
    CloseHandle(section);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_table_adds_up_to_memorytracers),
        cmocka_unit_test(private_bytes_are_the_same_but_for_copied_views),
    };

    return cmocka_run_group_tests(tests, look_begin, look_end);
}
