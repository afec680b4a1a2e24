/* SPDX-License-Identifier: MIT */
/* claim/linux: private pages of an image's data: relocated by the loader, or written.
 * In: intervals with their page counts, the object's file. Out: relocated and written bytes.
 * Called by claimer.c when a sample was asked for: it reads the object's file, so not at every
 * tick. Must not fault a page in: only pages that are resident are read, from the outside.
 *
 * A page is relocated when the loader writes into it and every other byte is the file's; any other
 * is written. Which file it was is only sure while the mapped one has its name still: else, and
 * where file or memory cannot be read, nothing is said.
 * Uses: /proc/PID/pagemap, bit 61 (page of a file) since 3.5. */
#define _GNU_SOURCE
#include "claim/linux/image_data.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "claim/linux/object.h"
#include "claim/linux/relocations.h"

#define WINDOW_BYTES (UINT64_C(1) << 20)
#define PAGE_BYTES_LEAST 4096u
#define PAGE_BYTES_MOST 65536u
#define PATH_ROOM 4200u
#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_FILE (UINT64_C(1) << 61)

struct mt_image_data {
    uint64_t next; /* where the last call stopped, 0 = it came to the end */
    uint64_t entries[WINDOW_BYTES / PAGE_BYTES_LEAST];
    uint8_t marks[WINDOW_BYTES / 8];
    uint8_t memory[PAGE_BYTES_MOST], file[PAGE_BYTES_MOST];
};

int mt_image_data_new(struct mt_image_data **out)
{
    *out = mt_memory_alloc(sizeof(**out));
    return *out ? TRACER_OK : mt_error_set(TRACER_ENOMEM, "no address space for images' pages");
}

void mt_image_data_free(struct mt_image_data *d)
{
    mt_memory_free(d);
}

/* ---- the file ---- */

static bool copy_from_file(struct mt_remote *r, uint64_t address, void *out, size_t bytes)
{
    return address < INT64_MAX && mt_os_descriptor_is_ours(r->mem) &&
           pread(r->mem, out, bytes, (off_t)address) == (ssize_t)bytes;
}

static uint64_t all_present(struct mt_remote *r, uint64_t first_page)
{
    (void)r;
    (void)first_page;
    return UINT64_MAX;
}

/* A file of the same name may be another build. The first segment, which has the note, lies in
 * memory as in the file. */
static bool same_build(const struct mt_look *look, const struct mt_interval *v, int file)
{
    static const struct mt_remote_ops ops = {copy_from_file, all_present};
    struct mt_remote r = {.ops = &ops, .mem = file, .page_bytes = look->remote->page_bytes};
    struct mt_object o;

    for (uint32_t i = 0; i < look->out->n_modules; i++) {
        const struct mt_module *m = &look->out->modules[i];

        if (v->base < m->base || v->base >= m->end || m->build_id_bytes == 0)
            continue;
        return mt_object_read(&r, 0, &o) && o.build_id_bytes == m->build_id_bytes &&
               !memcmp(o.build_id, m->build_id, o.build_id_bytes);
    }
    return true;
}

/* The device is not compared: some file systems show another one in maps than to stat. */
static int open_file(const struct mt_look *look, const struct mt_interval *v)
{
    const char *name = mt_strings_get(look->strings, v->name, NULL);
    char path[PATH_ROOM];
    struct stat s;
    int file, n;

    if (name[0] != '/' || (v->region_flags & MT_REGION_DELETED))
        return -1;
    n = look->self ? snprintf(path, sizeof(path), "%s", name)
                   : snprintf(path, sizeof(path), "/proc/%u/root%s", look->pid, name);
    if (n < 0 || n >= (int)sizeof(path))
        return -1;
    file = mt_os_descriptor_keep(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (file < 0)
        return -1;
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && s.st_ino == v->inode &&
        same_build(look, v, file))
        return file;
    mt_os_descriptor_close(file);
    return -1;
}

/* ---- one page ---- */

/* As the loader left the page before relocating it: behind the file's part there are zeros. */
static bool read_original(const struct mt_relocations *r, const Elf64_Phdr *p, uint64_t offset,
                          uint8_t *out, uint64_t page)
{
    uint64_t file_end = p->p_offset + p->p_filesz, kept = page;
    ssize_t got = mt_os_descriptor_is_ours(r->file) ? pread(r->file, out, page, (off_t)offset) : -1;

    if (got < 0)
        return false;
    if ((uint64_t)got < kept)
        kept = (uint64_t)got;
    if (p->p_memsz > p->p_filesz && file_end - offset < kept)
        kept = file_end - offset;
    memset(out + kept, 0, page - kept);
    return true;
}

/* True: something but marked bytes differs. Eight bytes have one byte of marks. */
static bool differs(const uint8_t *a, const uint8_t *b, const uint8_t *marks, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (i % 8 == 0 && (marks[i / 8] == 0xff || !memcmp(a + i, b + i, 8)))
            i += 7;
        else if (a[i] != b[i] && !(marks[i / 8] >> (i % 8) & 1))
            return true;
    return false;
}

static bool any(const uint8_t *marks, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (marks[i])
            return true;
    return false;
}

static void judge_page(struct mt_image_data *d, const uint8_t *marks, uint64_t page,
                       struct mt_interval *v)
{
    if (any(marks, page / 8) && !differs(d->memory, d->file, marks, page))
        v->relocated += page;
    else
        v->written += page;
}

/* ---- one interval ---- */

/* A run of an interval's pages that fits the buffers. */
struct window {
    const struct mt_relocations *file;
    const Elf64_Phdr *segment;
    uint64_t base, end, offset;
};

static bool judge_window(struct mt_image_data *d, const struct mt_look *look,
                         const struct window *w, struct mt_interval *v)
{
    uint64_t page = look->remote->page_bytes, n = (w->end - w->base) / page;
    const struct mt_marks marks = {.address =
                                       w->segment->p_vaddr - w->segment->p_offset + w->offset,
                                   .bytes = w->end - w->base,
                                   .bits = d->marks};
    ssize_t bytes = (ssize_t)(n * 8);

    if (!mt_os_descriptor_is_ours(look->remote->pagemap) ||
        pread(look->remote->pagemap, d->entries, n * 8, (off_t)(w->base / page * 8)) != bytes ||
        !mt_relocations_mark(w->file, &marks))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        if (!(d->entries[i] & PAGEMAP_PRESENT) || (d->entries[i] & PAGEMAP_FILE) ||
            !mt_remote_read(look->remote, w->base + i * page, d->memory, page))
            continue;
        if (!read_original(w->file, w->segment, w->offset + i * page, d->file, page))
            return false;
        judge_page(d, d->marks + i * page / 8, page, v);
    }
    return true;
}

static bool judge_interval(struct mt_image_data *d, const struct mt_look *look, int file,
                           struct mt_interval *v, int64_t deadline_ns)
{
    struct mt_relocations r;
    const Elf64_Phdr *segment;

    if (!mt_relocations_open(file, &r))
        return false;
    segment = mt_relocations_segment(&r, v->offset, look->remote->page_bytes);
    if (!segment)
        return false;
    for (uint64_t at = v->base; at < v->end; at += WINDOW_BYTES) {
        uint64_t end = v->end - at < WINDOW_BYTES ? v->end : at + WINDOW_BYTES;
        struct window w = {&r, segment, at, end, v->offset + (at - v->base)};

        if (at > v->base && deadline_ns && mt_os_monotonic_ns() >= deadline_ns)
            return false;
        if (!judge_window(d, look, &w, v))
            return false;
    }
    return true;
}

static void explain_one(struct mt_image_data *d, const struct mt_look *look, struct mt_interval *v,
                        int64_t deadline_ns)
{
    int file = open_file(look, v);

    v->relocated = v->written = 0;
    v->explained = file >= 0 && judge_interval(d, look, file, v, deadline_ns);
    mt_os_descriptor_close(file);
}

/* ---- all ---- */

/* What stands in RELRO is relocated, what is in no file or executable is written: of them nothing
 * needs to be found out. */
static bool is_open(const struct mt_interval *v)
{
    uint32_t anonymous = 1u << MT_PAGE_ANONYMOUS;

    return v->type == MT_TYPE_IMAGE && (v->region_flags & MT_REGION_FILE) &&
           !(v->region_flags & MT_REGION_SHARED) && (v->protection & MT_PROT_WRITE) &&
           !(v->protection & MT_PROT_EXECUTE) &&
           !(v->claim_flags & (MT_CLAIM_RELRO | MT_CLAIM_BSS)) && (v->pages.known & anonymous) &&
           v->pages.bytes[MT_PAGE_ANONYMOUS] > 0;
}

/* Those from `next` on, one at least; returns where it stopped, 0 = at the end. */
static uint64_t explain_range(struct mt_image_data *d, const struct mt_look *look,
                              struct mt_interval *v, uint32_t n, int64_t deadline_ns)
{
    bool one = false;

    for (uint32_t i = 0; i < n; i++) {
        if (v[i].base < d->next || !is_open(&v[i]))
            continue;
        if (one && deadline_ns && mt_os_monotonic_ns() >= deadline_ns)
            return v[i].base;
        explain_one(d, look, &v[i], deadline_ns);
        one = true;
    }
    return 0;
}

void mt_image_data_explain(struct mt_image_data *d, const struct mt_look *look,
                           struct mt_interval *intervals, uint32_t n, int64_t deadline_ns)
{
    uint64_t page = look->remote->page_bytes, began = d->next;

    if (look->remote->pagemap < 0 || page < PAGE_BYTES_LEAST || page > PAGE_BYTES_MOST)
        return;
    d->next = explain_range(d, look, intervals, n, deadline_ns);
    while (n > 0 && intervals[n - 1].base >= began) /* then from the first one on */
        n--;
    if (d->next == 0 && n > 0)
        d->next = explain_range(d, look, intervals, n, deadline_ns);
}
