/* SPDX-License-Identifier: MIT */
/* tools: functions and lines by elfutils. In: a file on this machine and an address in it. Out: its
 * function, the innermost inlined one, and its line. Called by symbols.c. A file whose build-id is
 * another than recorded is not believed.
 * Uses: libdw (elfutils 0.170 or newer). */
#define _POSIX_C_SOURCE 200809L
#include <elfutils/libdwfl.h>
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "symbols.h"

#define FILES 128

struct file {
    char *path;
    char *build_id;
    Dwfl_Module *module; /* NULL = not there, or another build */
};

struct symbols {
    Dwfl *dwfl;
    struct file files[FILES];
    int n_files;
};

static char *debug_path; /* NULL = where elfutils looks by itself */

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_path,
};

struct symbols *symbols_new(void)
{
    struct symbols *s = need(calloc(1, sizeof(*s)));

    s->dwfl = dwfl_begin(&callbacks);
    return s;
}

void symbols_free(struct symbols *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n_files; i++) {
        free(s->files[i].path);
        free(s->files[i].build_id);
    }
    if (s->dwfl)
        dwfl_end(s->dwfl);
    free(s);
}

static bool is_build(Dwfl_Module *module, const char *wanted)
{
    const unsigned char *bits;
    GElf_Addr address;
    int n = dwfl_module_build_id(module, &bits, &address);
    char text[3];

    if (!*wanted)
        return true;
    if (n <= 0 || strlen(wanted) != 2 * (size_t)n)
        return false;
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "%02x", bits[i]);
        if (memcmp(text, wanted + 2 * i, 2) != 0)
            return false;
    }
    return true;
}

static Dwfl_Module *open_module(struct symbols *s, const char *path, const char *build_id)
{
    Dwfl_Module *module;
    GElf_Addr bias;

    if (!s->dwfl)
        return NULL;
    dwfl_report_begin_add(s->dwfl);
    module = dwfl_report_offline(s->dwfl, path, path, -1);
    dwfl_report_end(s->dwfl, NULL, NULL);
    return module && dwfl_module_getelf(module, &bias) && is_build(module, build_id) ? module
                                                                                     : NULL;
}

static Dwfl_Module *find_module(struct symbols *s, const char *path, const char *build_id)
{
    struct file *f;

    for (int i = 0; i < s->n_files; i++)
        if (!strcmp(s->files[i].path, path) && !strcmp(s->files[i].build_id, build_id))
            return s->files[i].module;
    if (s->n_files == FILES)
        return NULL;
    f = &s->files[s->n_files++];
    f->path = need(strdup(path));
    f->build_id = need(strdup(build_id));
    f->module = open_module(s, path, build_id);
    return f->module;
}

/* The innermost function around the address, also one that was inlined. */
static const char *function_of(Dwfl_Module *module, Dwarf_Addr address)
{
    Dwarf_Addr bias;
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), *scopes = NULL;
    const char *name = NULL;
    int n = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;

    for (int i = 0; i < n && !name; i++) {
        int tag = dwarf_tag(&scopes[i]);

        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            name = dwarf_diename(&scopes[i]);
    }
    free(scopes);
    return name ? name : dwfl_module_addrname(module, address);
}

bool symbols_look_up(struct symbols *s, const char *path, const char *build_id, uint64_t offset,
                     char out[SYMBOL_BYTES])
{
    Dwfl_Module *module = find_module(s, path, build_id);
    const char *function, *file;
    Dwfl_Line *line;
    GElf_Addr bias;
    int number = 0;

    if (!module || !dwfl_module_getelf(module, &bias))
        return false;
    function = function_of(module, offset + bias);
    if (!function)
        return false;
    line = dwfl_module_getsrc(module, offset + bias);
    file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    if (file)
        snprintf(out, SYMBOL_BYTES, "%.300s at %.400s:%d", function, file, number);
    else
        snprintf(out, SYMBOL_BYTES, "%.300s", function);
    return true;
}
