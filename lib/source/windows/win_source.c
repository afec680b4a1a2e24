/* SPDX-License-Identifier: MIT */
/* source/windows: a process as a source of regions, pages and counters.
 * In: a process id. Out: the table of functions. Opened and used by sampler/ in its thread.
 * Must not suspend threads, read memory or take a lock of the host's.
 * Uses: VirtualQueryEx, QueryWorkingSetEx, GetMappedFileNameW (all Windows XP). */
#include "source/windows/win_source.h"

#include "base/error.h"
#include "base/memory.h"

struct win_source {
    struct mt_source source;
    HANDLE process;
    bool opened; /* `process` is a handle to be closed */
    struct win_calls calls;
    struct win_names *names;
    win_next_thread_fn next_thread;
    struct win_counting counting;
    uint64_t space_base, space_end;
};

static struct win_source *own(struct mt_source *s)
{
    return (struct win_source *)(void *)s;
}

/* ---- the calls ---- */

static size_t query(void *user, uint64_t address, MEMORY_BASIC_INFORMATION *out)
{
    return VirtualQueryEx((HANDLE)user, (const void *)(uintptr_t)address, out, sizeof(*out));
}

static bool working_set(void *user, PSAPI_WORKING_SET_EX_INFORMATION *pages, uint32_t n)
{
    return QueryWorkingSetEx((HANDLE)user, pages, n * (DWORD)sizeof(*pages)) != 0;
}

static uint32_t mapped_name(void *user, uint64_t address, wchar_t *out, uint32_t units)
{
    return GetMappedFileNameW((HANDLE)user, (void *)(uintptr_t)address, out, units);
}

/* ---- the source ---- */

static bool is_gone(const struct win_source *s)
{
    return s->opened && WaitForSingleObject(s->process, 0) == WAIT_OBJECT_0;
}

static int gone(void)
{
    return mt_error_set(TRACER_ESTATE, "the watched process has ended");
}

static int counters(struct mt_source *source, struct mt_counters *out)
{
    struct win_source *s = own(source);

    if (is_gone(s))
        return gone();
    win_counters_read(s->process, s->next_thread, out);
    return TRACER_OK;
}

/* A look in full depth takes nothing over from earlier ones. */
static int list(struct mt_source *source, struct mt_snapshot *out, bool pages)
{
    struct win_source *s = own(source);
    int error;

    if (pages) {
        win_names_forget(s->names);
        win_count_forget(&s->counting);
    }
    out->space_base = s->space_base;
    out->space_end = s->space_end;
    error = win_walk(&s->calls, s->names, out);
    return is_gone(s) ? gone() : error;
}

static int count(struct mt_source *source, const struct mt_snapshot *snapshot MT_UNUSED,
                 struct mt_interval *intervals, uint32_t n_intervals, uint32_t *next,
                 int64_t deadline_ns)
{
    return win_count(&own(source)->counting, intervals, n_intervals, next, deadline_ns);
}

static void close_source(struct mt_source *source)
{
    struct win_source *s = own(source);

    if (s->opened)
        CloseHandle(s->process);
    win_names_free(s->names);
    mt_memory_free(s->counting.batch);
    mt_memory_free(s);
}

static const struct mt_source_ops ops = {
    .counters = counters,
    .list = list,
    .count = count,
    .close = close_source,
};

/* Wine makes up the number of sharers and the lock. */
static uint32_t truthful_kinds(void)
{
    uint32_t known = 1u << MT_PAGE_RESIDENT | 1u << MT_PAGE_ANONYMOUS | 1u << MT_PAGE_HUGE |
                     1u << MT_PAGE_PRIVATE;

    return mt_win_is_wine() ? known : known | 1u << MT_PAGE_SHARED | 1u << MT_PAGE_LOCKED;
}

static int open_handle(struct win_source *s, uint32_t pid)
{
    DWORD error;

    s->process = GetCurrentProcess();
    if (pid == 0)
        return TRACER_OK;
    s->process = OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ | SYNCHRONIZE, FALSE, pid);
    error = GetLastError();
    s->opened = s->process != NULL;
    if (!s->process && error == ERROR_ACCESS_DENIED)
        return mt_error_set(TRACER_EDENIED,
                            "process %lu may not be looked into: run as the same "
                            "user, or as administrator",
                            (unsigned long)pid);
    if (!s->process || is_gone(s))
        return mt_error_set(TRACER_ESTATE, "there is no process %lu", (unsigned long)pid);
    return TRACER_OK;
}

int mt_source_open_process(uint32_t pid, struct mt_source **out)
{
    struct win_source *s = mt_memory_alloc(sizeof(*s));
    SYSTEM_INFO info;
    int error;

    if (!s)
        return mt_error_set(TRACER_ENOMEM, "no memory for a source");
    GetSystemInfo(&info);
    s->source.ops = &ops;
    s->next_thread = win_find_next_thread();
    s->space_base = (uintptr_t)info.lpMinimumApplicationAddress;
    s->space_end = (uint64_t)(uintptr_t)info.lpMaximumApplicationAddress + 1;
    error = open_handle(s, pid);
    if (!error)
        error = win_names_new(&s->names);
    s->calls = (struct win_calls){query, working_set, mapped_name, s->process};
    s->counting = (struct win_counting){
        .calls = &s->calls,
        .batch = mt_memory_alloc(WIN_BATCH_PAGES * sizeof(*s->counting.batch)),
        .page_bytes = info.dwPageSize,
        .known = truthful_kinds(),
    };
    if (!error && !s->counting.batch)
        error = mt_error_set(TRACER_ENOMEM, "no memory for counting pages");
    if (error) {
        close_source(&s->source);
        return error;
    }
    *out = &s->source;
    return TRACER_OK;
}

int mt_source_open_files(const char *directory MT_UNUSED, struct mt_source **out MT_UNUSED)
{
    return mt_error_set(TRACER_EUNSUPPORTED, "Windows has no text files of a process");
}
