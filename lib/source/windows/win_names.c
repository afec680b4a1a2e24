/* SPDX-License-Identifier: MIT */
/* source/windows: which file a mapping shows, in the form people know.
 * In: the base of an allocation. Out: a string id. Called by win_walk.c once an allocation; the
 * system is asked when an allocation is new or was loaded anew, since asking costs more than the
 * whole rest of the region. Must not allocate after win_names_new().
 * Uses: GetMappedFileNameW, QueryDosDeviceW; LdrRegisterDllNotification (Windows Vista). */
#include "source/windows/win_source.h"

#include <stdatomic.h>
#include <string.h>
#include <wchar.h>

#include "base/error.h"
#include "base/memory.h"

#define N_ENTRIES 16384u /* a power of two */
#define N_PROBES 8u

struct entry {
    uint64_t base, bytes; /* bytes 0 = empty */
    uint32_t name;
    uint32_t round; /* older than the table's = forgotten */
};

struct win_names {
    struct win_drives drives;
    struct entry entries[N_ENTRIES];
    wchar_t path[MT_WIN_PATH_UNITS + 1];
    char text[MT_WIN_PATH_UNITS * 3];
    uint32_t round;
    unsigned loads_seen;
    bool drives_read; /* in this round */
};

/* ---- images that come and go at one address between two looks ---- */

static atomic_uint n_loads;
static atomic_flag watching = ATOMIC_FLAG_INIT;

/* Called by the loader with its lock held: counts, nothing else. */
static void CALLBACK note_load(ULONG reason MT_UNUSED, const void *data MT_UNUSED,
                               void *user MT_UNUSED)
{
    atomic_fetch_add(&n_loads, 1);
}

/* Once for the life of the process: the library stays loaded while and after a tracer runs. */
static void watch_loads(void)
{
    FARPROC found = mt_win_procedure("ntdll.dll", "LdrRegisterDllNotification");
    LONG(NTAPI * watch)(ULONG, void(CALLBACK *)(ULONG, const void *, void *), void *, void **);
    static void *cookie;

    if (!found || atomic_flag_test_and_set(&watching))
        return;
    memcpy(&watch, &found, sizeof(watch));
    watch(0, note_load, NULL, &cookie);
}

/* ---- forms of a name ---- */

void win_drives_read(struct win_drives *out)
{
    for (unsigned i = 0; i < WIN_N_DRIVES; i++) {
        const wchar_t letter[3] = {(wchar_t)(L'A' + i), L':', L'\0'};

        if (!QueryDosDeviceW(letter, out->device[i], WIN_DEVICE_UNITS))
            out->device[i][0] = L'\0';
        out->device[i][WIN_DEVICE_UNITS - 1] = L'\0';
    }
}

static bool begins(const wchar_t *name, uint32_t units, const wchar_t *with, size_t with_units)
{
    return units >= with_units && !_wcsnicmp(name, with, with_units);
}

/* Overwrites the end of a device's name by `letter`: is never longer than what it replaces. */
static const wchar_t *with_letter(wchar_t *name, size_t device_units, wchar_t letter,
                                  uint32_t *units)
{
    wchar_t *plain = name + device_units - 2;

    plain[0] = letter;
    plain[1] = L':';
    *units -= (uint32_t)device_units - 2;
    return plain;
}

/* Forms that say what they are; the longer ones first. `keep` units at the prefix's end are the
 * begin of the plain name, all of them backslashes. */
static const struct prefix {
    const wchar_t *text;
    uint32_t keep;
} prefixes[] = {
    {L"\\Device\\Mup\\", 2},
    {L"\\??\\UNC\\", 2},
    {L"\\??\\", 0},
};

const wchar_t *win_name_plain(const struct win_drives *drives, wchar_t *name, uint32_t *units)
{
    for (size_t i = 0; i < MT_COUNT_OF(prefixes); i++) {
        size_t n = wcslen(prefixes[i].text);
        uint32_t keep = prefixes[i].keep;

        if (!begins(name, *units, prefixes[i].text, n))
            continue;
        *units -= (uint32_t)n - keep;
        for (uint32_t k = 0; k < keep; k++)
            name[n - keep + k] = L'\\';
        return name + n - keep;
    }
    for (unsigned i = 0; i < WIN_N_DRIVES; i++) {
        size_t n = wcslen(drives->device[i]);

        if (n > 2 && begins(name, *units, drives->device[i], n) &&
            (*units == n || name[n] == L'\\'))
            return with_letter(name, n, (wchar_t)(L'A' + i), units);
    }
    return name;
}

/* ---- the table ---- */

int win_names_new(struct win_names **out)
{
    struct win_names *n = mt_memory_alloc(sizeof(*n));

    if (!n)
        return mt_error_set(TRACER_ENOMEM, "no memory for file names");
    n->round = 1;
    watch_loads();
    *out = n;
    return TRACER_OK;
}

void win_names_free(struct win_names *n)
{
    mt_memory_free(n);
}

void win_names_forget(struct win_names *n)
{
    n->round++;
    n->drives_read = false;
}

/* A device nobody knows may be a drive that was added; drives are read once a round at most. */
static uint32_t ask(struct win_names *n, const struct win_calls *calls, uint64_t base,
                    struct mt_strings *strings)
{
    uint32_t units = calls->mapped_name(calls->user, base, n->path, MT_WIN_PATH_UNITS);
    const wchar_t *plain;
    size_t bytes;

    if (units == 0)
        return 0;
    if (!n->drives_read) {
        win_drives_read(&n->drives);
        n->drives_read = true;
    }
    plain = win_name_plain(&n->drives, n->path, &units);
    bytes = mt_win_utf8(plain, units, n->text, sizeof(n->text));
    return mt_strings_add(strings, n->text, bytes);
}

uint32_t win_names_of(struct win_names *n, const struct win_calls *calls, uint64_t base,
                      uint64_t bytes, struct mt_strings *strings)
{
    uint32_t first = (uint32_t)(base >> 16) * 2654435761u;
    struct entry *place = NULL;
    unsigned loads = atomic_load(&n_loads);

    if (loads != n->loads_seen) {
        n->loads_seen = loads;
        n->round++;
    }
    for (uint32_t i = 0; i < N_PROBES; i++) {
        struct entry *e = &n->entries[(first + i) & (N_ENTRIES - 1)];
        bool live = e->round == n->round;

        if (live && e->base == base && e->bytes == bytes)
            return e->name;
        if (!place || (!live && place->round == n->round))
            place = e;
    }
    *place = (struct entry){
        .base = base, .bytes = bytes, .round = n->round, .name = ask(n, calls, base, strings)};
    return place->name;
}
