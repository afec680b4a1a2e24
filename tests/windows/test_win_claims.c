/* SPDX-License-Identifier: MIT */
/* Description: owners found without asking them agree with those who know: modules with the
 * loader, stacks with each thread's own limits, heaps with HeapWalk, which only a test may use. */
#include "windows/win_look.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- modules ---- */

static const struct mt_module *module_at(const void *base)
{
    for (uint32_t i = 0; i < look.claims.n_modules; i++)
        if (look.claims.modules[i].base == (uintptr_t)base)
            return &look.claims.modules[i];
    return NULL;
}

static void modules_are_those_of_the_loader(void **state)
{
    HMODULE modules[1024];
    wchar_t wide[1024];
    char path[1024];
    DWORD bytes;

    (void)state;
    look_now();
    assert_true(EnumProcessModules(GetCurrentProcess(), modules, sizeof(modules), &bytes));
    assert_true(bytes / sizeof(modules[0]) >= 3);
    for (DWORD i = 0; i < bytes / sizeof(modules[0]); i++) {
        const struct mt_module *found = module_at(modules[i]);
        MODULEINFO info;

        assert_true(GetModuleInformation(GetCurrentProcess(), modules[i], &info, sizeof(info)));
        assert_non_null(found);
        assert_int_equal(found->end - found->base, (info.SizeOfImage + 4095) / 4096 * 4096);
    }
    mt_win_utf8(wide, GetModuleFileNameW(NULL, wide, MT_COUNT_OF(wide)), path, sizeof(path));
    assert_int_equal(
        _stricmp(mt_strings_get(look.strings, module_at(GetModuleHandleW(NULL))->path, NULL), path),
        0);
}

/* ---- threads ---- */

#define N_THREADS 4
#define STACK_BYTES (2u << 20)

struct worker {
    HANDLE handle, ready;
    DWORD id;
    ULONG_PTR low, high; /* of the stack, by the thread itself */
};

static HANDLE go;

static DWORD WINAPI work(void *user)
{
    typedef HRESULT(WINAPI * set_fn)(HANDLE, const wchar_t *);
    FARPROC found = GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "SetThreadDescription");
    struct worker *w = user;
    set_fn set;

    memcpy(&set, &found, sizeof(set));
    if (set)
        set(GetCurrentThread(), L"w\u00f6rker");
    GetCurrentThreadStackLimits(&w->low, &w->high);
    SetEvent(w->ready);
    WaitForSingleObject(go, INFINITE);
    return 0;
}

static void start_workers(struct worker *workers)
{
    go = CreateEventW(NULL, TRUE, FALSE, NULL);
    for (int i = 0; i < N_THREADS; i++) {
        workers[i].ready = CreateEventW(NULL, TRUE, FALSE, NULL);
        workers[i].handle = CreateThread(NULL, STACK_BYTES, work, &workers[i],
                                         STACK_SIZE_PARAM_IS_A_RESERVATION, &workers[i].id);
        assert_non_null(workers[i].handle);
        WaitForSingleObject(workers[i].ready, INFINITE);
    }
}

static const struct mt_thread *thread_of(DWORD id)
{
    for (uint32_t i = 0; i < look.claims.n_threads; i++)
        if (look.claims.threads[i].tid == id)
            return &look.claims.threads[i];
    return NULL;
}

static void stacks_appear_and_go_with_their_threads(void **state)
{
    struct worker workers[N_THREADS];
    int64_t before;

    (void)state;
    look_now();
    before = look_value(MT_TYPE_STACK, MT_COLUMN_SIZE);
    start_workers(workers);
    look_now();
    assert_int_equal(look_value(MT_TYPE_STACK, MT_COLUMN_SIZE) - before, N_THREADS * STACK_BYTES);
    for (int i = 0; i < N_THREADS; i++) {
        const struct mt_thread *t = thread_of(workers[i].id);

        assert_non_null(t);
        assert_int_equal(t->stack_base, workers[i].low);
        assert_int_equal(t->stack_base + t->stack_bytes, workers[i].high);
        assert_true(t->guard_bytes > 0);
        assert_string_equal(mt_strings_get(look.strings, t->name, NULL), "w\xc3\xb6rker");
    }
    SetEvent(go);
    for (int i = 0; i < N_THREADS; i++)
        WaitForSingleObject(workers[i].handle, INFINITE);
    look_now(); /* the handles still keep the ended threads in the system's list */
    assert_int_equal(look_value(MT_TYPE_STACK, MT_COLUMN_SIZE), before);
    assert_null(thread_of(workers[0].id));
    for (int i = 0; i < N_THREADS; i++)
        CloseHandle(workers[i].handle);
}

/* The thread that looks is the sampler's in a tracer: its stack is the tracer's. */
static void the_looking_thread_is_the_tracers(void **state)
{
    int local = 0;

    (void)state;
    look_now();
    assert_int_equal(look_at(&local)->type, MT_TYPE_TRACER);
    assert_int_equal(look_at(look.list.items)->type, MT_TYPE_TRACER);
}

/* ---- heaps ---- */

/* All that HeapWalk lists of a heap is HEAP, regions and blocks in them and outside. */
static void expect_heap_whole(HANDLE heap)
{
    PROCESS_HEAP_ENTRY e = {.lpData = NULL};
    static const void *blocks[4096];
    unsigned n = 0;

    assert_true(HeapLock(heap));
    while (n < MT_COUNT_OF(blocks) && HeapWalk(heap, &e))
        if (e.wFlags & (PROCESS_HEAP_REGION | PROCESS_HEAP_ENTRY_BUSY))
            blocks[n++] = e.lpData;
    HeapUnlock(heap);
    assert_true(n > 0);
    for (unsigned i = 0; i < n; i++)
        if (look_at(blocks[i])->type != MT_TYPE_HEAP)
            fail_msg("%p of heap %p is not of type heap", blocks[i], heap);
}

static void heaps_come_and_go(void **state)
{
    HANDLE heap;
    int64_t before, committed_before;

    (void)state;
    look_now();
    before = look_value(MT_TYPE_HEAP, MT_COLUMN_SIZE);
    committed_before = look_value(MT_TYPE_HEAP, MT_COLUMN_COMMITTED);
    heap = HeapCreate(0, 0, 0);
    for (int i = 0; i < 1000; i++)
        assert_non_null(HeapAlloc(heap, 0, 10000));
    look_now();
    expect_heap_whole(heap);
    assert_true(look_value(MT_TYPE_HEAP, MT_COLUMN_SIZE) - before >= 1000 * 10000);
    assert_in_range(look_value(MT_TYPE_HEAP, MT_COLUMN_COMMITTED) - committed_before, 1000 * 10000,
                    MIB(14));
    HeapDestroy(heap);
    look_now();
    assert_int_equal(look_value(MT_TYPE_HEAP, MT_COLUMN_SIZE), before);
}

/* A block too large for a segment is an allocation of its own. */
static void large_blocks_are_the_heaps(void **state)
{
    int64_t before, private_before;
    char *p[5];

    (void)state;
    look_now();
    before = look_value(MT_TYPE_HEAP, MT_COLUMN_COMMITTED);
    private_before = look_value(MT_TYPE_PRIVATE, MT_COLUMN_SIZE);
    for (int i = 0; i < 5; i++) {
        p[i] = malloc(MIB(3));
        assert_non_null(p[i]);
    }
    look_now();
    assert_true(look_value(MT_TYPE_HEAP, MT_COLUMN_COMMITTED) - before >= MIB(15));
    assert_true(look_value(MT_TYPE_HEAP, MT_COLUMN_COMMITTED) - before <= MIB(16));
    assert_int_equal(look_value(MT_TYPE_PRIVATE, MT_COLUMN_SIZE), private_before);
    free(p[2]);
    free(p[0]);
    look_now();
    assert_int_equal(look_at(p[1])->type, MT_TYPE_HEAP);
    assert_true(look_value(MT_TYPE_HEAP, MT_COLUMN_COMMITTED) - before < MIB(10));
    free(p[1]);
    free(p[3]);
    free(p[4]);
    look_now();
    assert_int_equal(look_value(MT_TYPE_HEAP, MT_COLUMN_COMMITTED), before);
}

static void all_heaps_of_the_process_are_heap(void **state)
{
    HANDLE heaps[256];
    DWORD n = GetProcessHeaps(MT_COUNT_OF(heaps), heaps);

    (void)state;
    assert_true(n >= 2);
    look_now();
    for (DWORD i = 0; i < n; i++)
        expect_heap_whole(heaps[i]);
}

/* A program's own list of pools looks like a heap's, but no heap's header begins it. */
static void a_list_of_pools_stays_private(void **state)
{
    LIST_ENTRY *head = malloc(sizeof(*head));
    int64_t before;
    void *pools[4];

    (void)state;
    look_now();
    before = look_value(MT_TYPE_PRIVATE, MT_COLUMN_SIZE);
    head->Flink = head->Blink = head;
    for (int i = 0; i < 4; i++) {
        LIST_ENTRY *e = VirtualAlloc(NULL, MIB(1), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);

        e->Flink = head;
        e->Blink = head->Blink;
        e->Blink->Flink = e;
        head->Blink = e;
        pools[i] = e;
    }
    look_now();
    assert_int_equal(look_value(MT_TYPE_PRIVATE, MT_COLUMN_SIZE) - before, MIB(4));
    for (int i = 0; i < 4; i++)
        VirtualFree(pools[i], 0, MEM_RELEASE);
    free(head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_are_those_of_the_loader),
        cmocka_unit_test(stacks_appear_and_go_with_their_threads),
        cmocka_unit_test(the_looking_thread_is_the_tracers),
        cmocka_unit_test(heaps_come_and_go),
        cmocka_unit_test(large_blocks_are_the_heaps),
        cmocka_unit_test(all_heaps_of_the_process_are_heap),
        cmocka_unit_test(a_list_of_pools_stays_private),
    };

    return cmocka_run_group_tests(tests, look_begin, look_end);
}
