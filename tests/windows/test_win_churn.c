/* SPDX-License-Identifier: MIT */
/* Description: while threads allocate and free, heaps come and go and threads start and end, every
 * look is whole: the types add up, the walk reaches the end, what stays put stays what it is. */
#include "windows/win_look.h"

#include <stdatomic.h>
#include <stdlib.h>

#define N_CHURNERS 4
#define CHURN_MS 3000
#define LOOKS_LEAST 20 /* however slow the machine is */
#define ROUNDS_LEAST 1000

static atomic_bool stop;
static atomic_uint n_churned;

static DWORD WINAPI churn_pages(void *user)
{
    unsigned random = (unsigned)(uintptr_t)user + 1;

    while (!atomic_load(&stop)) {
        size_t bytes = 4096 + (random >> 12) % 300000;
        char *p = VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        void *block = malloc(bytes * 4);

        if (p)
            p[0] = 1;
        free(block);
        VirtualFree(p, 0, MEM_RELEASE);
        random = random * 1103515245u + 12345u;
        atomic_fetch_add(&n_churned, 1);
    }
    return 0;
}

static DWORD WINAPI end_at_once(void *user MT_UNUSED)
{
    return 0;
}

static DWORD WINAPI churn_threads(void *user MT_UNUSED)
{
    while (!atomic_load(&stop)) {
        HANDLE heap = HeapCreate(0, 0, 0);
        HANDLE thread = CreateThread(NULL, 0, end_at_once, NULL, 0, NULL);

        HeapAlloc(heap, 0, 2000000);
        WaitForSingleObject(thread, INFINITE);
        CloseHandle(thread);
        HeapDestroy(heap);
        atomic_fetch_add(&n_churned, 1);
    }
    return 0;
}

static void looks_are_whole_under_churn(void **state)
{
    HANDLE threads[N_CHURNERS + 1];
    char *kept = malloc(MIB(3));
    ULONGLONG end;
    unsigned n_looks = 0;

    (void)state;
    kept[0] = 1;
    for (uintptr_t i = 0; i < N_CHURNERS; i++)
        threads[i] = CreateThread(NULL, 0, churn_pages, (void *)i, 0, NULL);
    threads[N_CHURNERS] = CreateThread(NULL, 0, churn_threads, NULL, 0, NULL);
    end = GetTickCount64() + CHURN_MS;
    do {
        look_now();
        assert_int_equal(look.flags, 0);
        assert_int_equal(look_sum(), look_span());
        assert_int_equal(look_at(kept)->type, MT_TYPE_HEAP);
        assert_int_equal(look_at(GetModuleHandleW(NULL))->type, MT_TYPE_IMAGE);
        assert_int_equal(look_at(&end)->type, MT_TYPE_TRACER);
        n_looks++;
    } while (GetTickCount64() < end || n_looks < LOOKS_LEAST ||
             atomic_load(&n_churned) < ROUNDS_LEAST);
    atomic_store(&stop, true);
    WaitForMultipleObjects(N_CHURNERS + 1, threads, TRUE, INFINITE);
    print_message("%u looks, %u rounds of churn\n", n_looks, atomic_load(&n_churned));
    free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(looks_are_whole_under_churn)};

    return cmocka_run_group_tests(tests, look_begin, look_end);
}
