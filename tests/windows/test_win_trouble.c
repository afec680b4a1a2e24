/* SPDX-License-Identifier: MIT */
/* Description: looks go through where others were stuck: without the call that lists threads, with
 * heaps that somebody holds locked for ever and that have a great many blocks; they leave no
 * handle behind; the TEB and PEB have names. */
#include "windows/win_look.h"

#include <tlhelp32.h>

#include "claim/windows/win_claim.h"

static HANDLE go, ready;

/* A thread that has only just been created is not listed yet: under Wine its TEB is told of when it
 * runs. */
static DWORD WINAPI wait_for_go(void *user MT_UNUSED)
{
    ReleaseSemaphore(ready, 1, NULL);
    WaitForSingleObject(go, INFINITE);
    return 0;
}

#define N_THREADS 3
static HANDLE threads[N_THREADS];
static DWORD ids[N_THREADS];

static int start_threads(void **state)
{
    (void)state;
    go = CreateEventW(NULL, TRUE, FALSE, NULL);
    ready = CreateSemaphoreW(NULL, 0, N_THREADS, NULL);
    for (int i = 0; i < N_THREADS; i++)
        threads[i] = CreateThread(NULL, 0, wait_for_go, NULL, 0, &ids[i]);
    for (int i = 0; i < N_THREADS; i++)
        WaitForSingleObject(ready, INFINITE);
    return 0;
}

static int end_threads(void **state)
{
    (void)state;
    SetEvent(go);
    WaitForMultipleObjects(N_THREADS, threads, TRUE, INFINITE);
    for (int i = 0; i < N_THREADS; i++)
        CloseHandle(threads[i]);
    CloseHandle(ready);
    CloseHandle(go);
    return 0;
}

static const struct mt_thread *thread_of(DWORD id)
{
    for (uint32_t i = 0; i < look.claims.n_threads; i++)
        if (look.claims.threads[i].tid == id)
            return &look.claims.threads[i];
    fail_msg("thread %lu is not listed", id);
    return NULL;
}

static unsigned n_calls;

static LONG NTAPI next_thread_fails(HANDLE process MT_UNUSED, HANDLE thread MT_UNUSED,
                                    ACCESS_MASK access MT_UNUSED, ULONG attributes MT_UNUSED,
                                    ULONG flags MT_UNUSED, HANDLE *out MT_UNUSED)
{
    n_calls++;
    return (LONG)0xc0000002; /* STATUS_NOT_IMPLEMENTED */
}

static HANDLE WINAPI snapshot_fails(DWORD flags MT_UNUSED, DWORD pid MT_UNUSED)
{
    n_calls++;
    SetLastError(ERROR_BAD_LENGTH);
    return INVALID_HANDLE_VALUE;
}

static unsigned n_to_fail;

static HANDLE WINAPI snapshot_fails_first(DWORD flags, DWORD pid)
{
    return n_calls < n_to_fail ? snapshot_fails(flags, pid) : CreateToolhelp32Snapshot(flags, pid);
}

static void look_with(win_next_thread_fn next_thread, win_snapshot_fn snapshot)
{
    win_next_thread_fn real = look.claimer->next_thread;

    look.claimer->next_thread = next_thread;
    look.claimer->thread_snapshot = snapshot;
    look_now();
    look.claimer->next_thread = real;
    look.claimer->thread_snapshot = CreateToolhelp32Snapshot;
}

/* The threads and all rows are as the newer call gave them. */
static void expect_the_same_with(win_next_thread_fn next_thread, win_snapshot_fn snapshot)
{
    static struct mt_thread before[64];
    static struct mt_levels levels;
    uint32_t n = 0;

    assert_non_null(look.claimer->next_thread);
    look_with(NULL, CreateToolhelp32Snapshot); /* takes memory from a heap, which then is larger */
    for (int i = 0; i < 2; i++) { /* the first time touches the pages that hold what is seen */
        look_now();
        n = look.claims.n_threads;
        assert_in_range(n, N_THREADS + 1, MT_COUNT_OF(before));
        memcpy(before, look.claims.threads, n * sizeof(*before));
        levels = look.levels;
    }
    look_with(next_thread, snapshot);
    assert_int_equal(look.claims.n_threads, n);
    assert_memory_equal(look.claims.threads, before, n * sizeof(*before));
    for (unsigned t = 1; t < MT_TYPE_CAPACITY; t++)
        if (!mt_type_level_equal(&levels.type[t], &look.levels.type[t]))
            fail_msg("%s differs", mt_type_name(t) ? mt_type_name(t) : "a type");
    for (int i = 0; i < N_THREADS; i++)
        assert_true(thread_of(ids[i])->stack_bytes >= (1u << 20));
}

static void G03_rows_are_the_same_without_the_newer_call(void **state)
{
    (void)state;
    expect_the_same_with(NULL, CreateToolhelp32Snapshot);
}

static void G03_rows_are_the_same_when_the_newer_call_always_fails(void **state)
{
    (void)state;
    n_calls = 0;
    expect_the_same_with(next_thread_fails, CreateToolhelp32Snapshot);
    assert_int_equal(n_calls, 1);
}

static void G03_a_snapshot_that_fails_is_asked_for_again(void **state)
{
    (void)state;
    n_calls = 0;
    n_to_fail = 2;
    expect_the_same_with(NULL, snapshot_fails_first);
    assert_int_equal(n_calls, 2);
}

/* With all calls failing for ever a look ends: it has no stacks, and all else. */
static void G03_calls_that_always_fail_are_given_up(void **state)
{
    (void)state;
    n_calls = 0;
    look_with(next_thread_fails, snapshot_fails);
    assert_in_range(n_calls, 2, 8);
    assert_int_equal(look.claims.n_threads, 0);
    assert_int_equal(look_sum(), look_span());
    look_now();
    assert_true(thread_of(ids[0])->stack_bytes > 0);
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
#define WITH_THREADS(f) cmocka_unit_test_setup_teardown(f, start_threads, end_threads)
    const struct CMUnitTest tests[] = {
        WITH_THREADS(G03_rows_are_the_same_without_the_newer_call),
        WITH_THREADS(G03_rows_are_the_same_when_the_newer_call_always_fails),
        WITH_THREADS(G03_a_snapshot_that_fails_is_asked_for_again),
        WITH_THREADS(G03_calls_that_always_fail_are_given_up),
        cmocka_unit_test(G04_G05_a_heap_locked_for_ever_is_seen_whole),
        cmocka_unit_test(looks_leave_no_handle_behind),
        cmocka_unit_test(teb_and_peb_are_named),
    };

    return cmocka_run_group_tests(tests, look_begin, look_end);
}
