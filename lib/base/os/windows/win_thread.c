/* SPDX-License-Identifier: MIT */
/* base/os/windows: the sampler's thread.
 * In: a function. Out: a thread with a stack size of its own, at normal priority.
 * Called by sampler/ only. Uses: CreateThread with STACK_SIZE_PARAM_IS_A_RESERVATION;
 * SetThreadDescription (Windows 10 1607). */
#include "base/os/os.h"
#include "base/os/windows/win_api.h"

#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/memory.h"

#define STACK_BYTES (1024u * 1024) /* address space; the system commits pages as they are used */
#define NAME_UNITS 64
#define NS_PER_MS 1000000

struct mt_os_thread {
    HANDLE handle;
    void (*run)(void *user);
    void *user;
    wchar_t name[NAME_UNITS];
};

static void set_name(const wchar_t *name)
{
    FARPROC found = mt_win_procedure("kernel32.dll", "SetThreadDescription");
    HRESULT(WINAPI * set)(HANDLE, const wchar_t *);

    if (!found)
        found = mt_win_procedure("kernelbase.dll", "SetThreadDescription");
    memcpy(&set, &found, sizeof(set));
    if (set)
        set(GetCurrentThread(), name);
}

static DWORD WINAPI thread_main(void *user)
{
    struct mt_os_thread *t = user;

    set_name(t->name);
    t->run(t->user);
    return 0;
}

int mt_os_thread_start(const char *name, void (*run)(void *user), void *user,
                       struct mt_os_thread **out)
{
    struct mt_os_thread *t = mt_memory_alloc(sizeof(*t));
    DWORD error;

    if (!t)
        return mt_error_set(TRACER_ENOMEM, "no memory for a thread");
    t->run = run;
    t->user = user;
    if (!mt_win_wide(name, t->name, NAME_UNITS))
        t->name[0] = L'\0';
    t->handle =
        CreateThread(NULL, STACK_BYTES, thread_main, t, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    if (!t->handle) {
        error = GetLastError();
        mt_memory_free(t);
        return mt_error_set(TRACER_ETHREAD, "the system refuses a thread: Windows error %lu",
                            error);
    }
    *out = t;
    return TRACER_OK;
}

bool mt_os_thread_join(struct mt_os_thread *t, int64_t timeout_ns)
{
    if (WaitForSingleObject(t->handle, (DWORD)(timeout_ns / NS_PER_MS)) != WAIT_OBJECT_0)
        return false;
    CloseHandle(t->handle);
    mt_memory_free(t);
    return true;
}

bool mt_os_thread_alive(const struct mt_os_thread *t)
{
    return WaitForSingleObject(t->handle, 0) == WAIT_TIMEOUT;
}

/* Handles are no small numbers that a host closes in a loop: there is nothing to keep apart. */
bool mt_os_thread_own_descriptors(void)
{
    return true;
}

uint32_t mt_os_thread_id(void)
{
    return GetCurrentThreadId();
}

/* A process ends there when its first thread returns. */
bool mt_os_thread_is_deserted(uint64_t n_threads)
{
    (void)n_threads;
    return false;
}
