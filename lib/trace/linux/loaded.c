/* SPDX-License-Identifier: MIT */
/* trace/linux: the libraries of the process, for naming code by file and offset.
 * In: an address, or a dlclose() of the host. Out: path, build-id and range. What a dlclose() takes
 * away is told through the ring, behind all events of its code, so that they can be named after.
 * Called by the sampler, and by whoever calls dlclose(), which may wait anyway.
 * Uses: dl_iterate_phdr (glibc, musl), /proc/self/exe. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/linux/interpose.h"

#define MODULES 1024u

struct search {
    uint64_t pc;
    struct mt_event *out;
    bool found;
};

struct listing {
    struct mt_event *items;
    uint32_t n;
};

static void range_of(const struct dl_phdr_info *info, struct mt_event *out)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type != PT_LOAD)
            continue;
        least = part->p_vaddr < least ? part->p_vaddr : least;
        most = part->p_vaddr + part->p_memsz > most ? part->p_vaddr + part->p_memsz : most;
    }
    out->old_address = info->dlpi_addr;
    out->address = info->dlpi_addr + (most ? least : 0);
    out->bytes = most ? most - least : 0;
}

static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

static void build_id_of(const struct dl_phdr_info *info, struct mt_event_module *out)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + part->p_vaddr);
        const char *end = at + part->p_memsz;
        ElfW(Nhdr) note;

        while (part->p_type == PT_NOTE && at + sizeof(note) <= end) {
            memcpy(&note, at, sizeof(note));
            at += sizeof(note);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(at, "GNU", 4) &&
                note.n_descsz <= sizeof(out->build_id)) {
                out->build_id_bytes = (uint8_t)note.n_descsz;
                memcpy(out->build_id, at + 4, note.n_descsz);
                return;
            }
            at += padded(note.n_namesz) + padded(note.n_descsz);
        }
    }
}

/* The main program has no name here. */
static void path_of(const struct dl_phdr_info *info, struct mt_event_module *out)
{
    const char *name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    char real[PATH_MAX];
    size_t n;

    if (strchr(name, '/') && realpath(name, real))
        name = real;
    n = strlen(name);
    n = n < sizeof(out->path) ? n : sizeof(out->path) - 1;
    memcpy(out->path, name, n);
    out->path[n] = '\0';
}

static void describe(const struct dl_phdr_info *info, struct mt_event *out)
{
    memset(&out->more, 0, sizeof(out->more));
    build_id_of(info, &out->more.module);
    path_of(info, &out->more.module);
}

static int visit_for_pc(struct dl_phdr_info *info, size_t size, void *user)
{
    struct search *s = user;

    (void)size;
    range_of(info, s->out);
    if (s->pc < s->out->address || s->pc - s->out->address >= s->out->bytes)
        return 0;
    describe(info, s->out);
    s->found = true;
    return 1;
}

bool mt_loaded_at(uint64_t pc, struct mt_event *out)
{
    struct search s = {pc, out, false};

    dl_iterate_phdr(visit_for_pc, &s);
    return s.found;
}

static int visit_for_list(struct dl_phdr_info *info, size_t size, void *user)
{
    struct listing *l = user;
    struct mt_event *e = &l->items[l->n];

    (void)size;
    if (l->n == MODULES)
        return 1;
    range_of(info, e);
    describe(info, e);
    e->kind = MT_EVENT_UNLOAD;
    l->n++;
    return 0;
}

/* Takes out of the list what is still there: those have kind 0 then. */
static int visit_for_rest(struct dl_phdr_info *info, size_t size, void *user)
{
    struct listing *l = user;
    struct mt_event here;

    (void)size;
    range_of(info, &here);
    for (uint32_t i = 0; i < l->n; i++)
        if (l->items[i].address == here.address)
            l->items[i].kind = 0;
    return 0;
}

static void tell_unloaded(const struct listing *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        struct mt_event *e = &l->items[i];

        if (e->kind)
            mt_trace_tell(e);
    }
}

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    struct listing l = {NULL, 0};
    size_t bytes = MODULES * sizeof(struct mt_event);
    int rc;

    if (!mt_next.mmap)
        mt_next_bind();
    if (!mt_trace_enter())
        return mt_next.dlclose(handle);
    l.items = mt_next.mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (l.items == MAP_FAILED)
        l.items = NULL;
    else
        dl_iterate_phdr(visit_for_list, &l);
    atomic_fetch_add(&mt_trace_unloading, 1);
    rc = mt_next.dlclose(handle);
    if (l.items) {
        dl_iterate_phdr(visit_for_rest, &l);
        tell_unloaded(&l);
        mt_next.munmap(l.items, bytes);
    }
    atomic_fetch_sub(&mt_trace_unloading, 1);
    mt_trace_leave();
    return rc;
}
