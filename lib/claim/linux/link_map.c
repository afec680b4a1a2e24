/* SPDX-License-Identifier: MIT */
/* claim/linux: walks the loader's list of loaded objects without its lock.
 * In: memory through remote.h. Out: bias and dynamic section of each object.
 * Called by modules.c. Must not call dl_iterate_phdr or dlsym: they take the loader's lock.
 * Uses: auxv; DT_DEBUG → struct r_debug → struct link_map, an interface for debuggers that glibc
 * and musl keep; more namespaces follow since r_version 2 (glibc 2.35). */
#define _GNU_SOURCE
#include "claim/linux/link_map.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#define DYNAMIC_ENTRIES_MOST 256u
#define NAMESPACES_MOST 16u
#define STATE_CONSISTENT 0

/* Layouts of 64-bit processes. */
struct debug {
    int32_t version, pad;
    uint64_t map;
    uint64_t breakpoint;
    int32_t state, pad2;
    uint64_t loader;
};

struct map {
    uint64_t bias, name, dynamic, next, previous;
};

static void take(struct mt_start_vector *v, uint64_t key, uint64_t value)
{
    if (key == AT_PHDR)
        v->program_headers = value;
    else if (key == AT_PHENT)
        v->header_bytes = value;
    else if (key == AT_BASE)
        v->interpreter = value;
    else if (key == AT_RANDOM)
        v->random = value;
}

void mt_start_vector_read(uint32_t pid, struct mt_start_vector *out)
{
    static const uint64_t keys[] = {AT_PHDR, AT_PHENT, AT_BASE, AT_RANDOM};
    uint64_t words[128];
    char path[64];
    ssize_t got;
    int file;

    *out = (struct mt_start_vector){.random = 0};
    if (!pid) {
        for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
            take(out, keys[i], getauxval(keys[i]));
        return;
    }
    snprintf(path, sizeof(path), "/proc/%u/auxv", pid);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    got = read(file, words, sizeof(words));
    close(file);
    for (ssize_t i = 0; i + 1 < got / 8 && words[i] != AT_NULL; i += 2)
        take(out, words[i], words[i + 1]);
}

uint64_t mt_link_map_find(struct mt_remote *r, uint64_t dynamic)
{
    Elf64_Dyn d;

    for (unsigned i = 0; dynamic && i < DYNAMIC_ENTRIES_MOST; i++) {
        if (!mt_remote_read(r, dynamic + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
            return 0;
        if (d.d_tag == DT_DEBUG)
            return d.d_un.d_ptr;
    }
    return 0;
}

/* One namespace; a list that runs in a circle ends at the bound. */
static bool read_chain(struct mt_remote *r, uint64_t at, struct mt_link_map *out, uint32_t *n)
{
    struct map m;

    for (; at; at = m.next) {
        if (*n == MT_LINK_MAPS_MOST || !mt_remote_read(r, at, &m, sizeof(m)))
            return false;
        out[*n].bias = m.bias;
        out[(*n)++].dynamic = m.dynamic;
    }
    return true;
}

bool mt_link_map_read(struct mt_remote *r, uint64_t debug, struct mt_link_map *out, uint32_t *out_n)
{
    uint32_t n = 0;
    struct debug d;

    for (unsigned i = 0; debug && i < NAMESPACES_MOST; i++) {
        if (!mt_remote_read(r, debug, &d, sizeof(d)) || d.version < 1 ||
            d.state != STATE_CONSISTENT || !read_chain(r, d.map, out, &n))
            return false;
        if (d.version < 2)
            break;
        if (!mt_remote_read(r, debug + sizeof(d), &debug, sizeof(debug)))
            break;
    }
    *out_n = n;
    return n > 0;
}
