/* SPDX-License-Identifier: MIT */
/* Description: looks go through where others were stuck: without the call that lists threads, with
 * heaps that somebody holds locked for ever and that have a great many blocks; they leave no
 * handle behind; the TEB and PEB have names. */
#include "windows/win_look.h"

#include "claim/windows/win_claim.h"

static void expect_thread(DWORD id)
{
    for (uint32_t i = 0; i < look.claims.n_threads; i++)
        if (look.claims.threads[i].tid == id && look.claims.threads[i].stack_bytes > 0)
            return;
    fail_msg("thread %lu is not listed with its stack", id);
}

static HANDLE go;

static DWORD WINAPI wait_for_go(void *user MT_UNUSED)
{
    WaitForSingleObject(go, INFINITE);
    return 0;
}

/* Toolhelp is asked once: a stub that always fails costs one call. */
static void G03_threads_are_found_without_the_newer_call(void **state)
{
    win_next_thread_fn next = look.claimer->next_thread;
    HANDLE threads[3];
    DWORD ids[3];
    uint32_t n;

    (void)state;
    go = CreateEventW(NULL, TRUE, FALSE, NULL);
    for (int i = 0; i < 3; i++)
        threads[i] = CreateThread(NULL, 0, wait_for_go, NULL, 0, &ids[i]);
    look_now();
    n = look.claims.n_threads;
    look.claimer->next_thread = NULL;
    look_now();
    look.claimer->next_thread = next;
    assert_int_equal(look.claims.n_threads, n);
    for (int i = 0; i < 3; i++)
        expect_thread(ids[i]);
    SetEvent(go);
    WaitForMultipleObjects(3, threads, TRUE, INFINITE);
    for (int i = 0; i < 3; i++)
        CloseHandle(threads[i]);
    CloseHandle(go);
}

#define N_BLOCKS 200000
static HANDLE heap, locked;

static DWORD WINAPI hold_heap(void *user MT_UNUSED)
{
    HeapLock(heap);
    SetEvent(locked);
    WaitForSingleObject(go, INFINITE);
    HeapUnlock(heap);
    return 0;
}

/* A look that walked the heap, or locked it, would not come back. */
static void G04_G05_a_heap_locked_for_ever_is_seen_whole(void **state)
{
    static void *blocks[N_BLOCKS];
    HANDLE thread;

    (void)state;
    heap = HeapCreate(0, 0, 0);
    for (int i = 0; i < N_BLOCKS; i++)
        assert_non_null(blocks[i] = HeapAlloc(heap, 0, 48));
    go = CreateEventW(NULL, TRUE, FALSE, NULL);
    locked = CreateEventW(NULL, TRUE, FALSE, NULL);
    thread = CreateThread(NULL, 0, hold_heap, NULL, 0, NULL);
    WaitForSingleObject(locked, INFINITE);
    look_now();
    for (int i = 0; i < N_BLOCKS; i += 1000)
        assert_int_equal(look_at(blocks[i])->type, MT_TYPE_HEAP);
    SetEvent(go);
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    HeapDestroy(heap);
}

/* Handles are given out from the lowest that is free: one that is lost moves the next one up. */
static HANDLE next_handle(void)
{
    HANDLE h = CreateEventW(NULL, TRUE, FALSE, NULL);

    CloseHandle(h);
    return h;
}

static void looks_leave_no_handle_behind(void **state)
{
    uintptr_t before;

    (void)state;
    look_now();
    before = (uintptr_t)next_handle();
    for (int i = 0; i < 50; i++)
        look_now();
    assert_int_equal((uintptr_t)next_handle(), before);
}

static const char *owner_at(const void *address)
{
    return mt_strings_get(look.strings, look_at(address)->owner, NULL);
}

static void teb_and_peb_are_named(void **state)
{
    struct {
        LONG status;
        char *teb;
        uint64_t rest[4];
    } basic;
    void *peb;

    (void)state;
    assert_int_equal(look.claimer->query_thread(GetCurrentThread(), 0, &basic, sizeof(basic), NULL),
                     0);
    memcpy(&peb, basic.teb + 0x60, sizeof(peb));
    look_now();
    assert_string_equal(owner_at(basic.teb), "TEB");
    assert_string_equal(owner_at(peb), "PEB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(G03_threads_are_found_without_the_newer_call),
        cmocka_unit_test(G04_G05_a_heap_locked_for_ever_is_seen_whole),
        cmocka_unit_test(looks_leave_no_handle_behind),
        cmocka_unit_test(teb_and_peb_are_named),
    };

    return cmocka_run_group_tests(tests, look_begin, look_end);
}
