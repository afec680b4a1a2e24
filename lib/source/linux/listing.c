/* SPDX-License-Identifier: MIT */
/* source/linux: maps or smaps → the snapshot.
 * In: kept descriptors. Out: regions, with page counts when asked for and told.
 * Called as an operation of the source. Must not take an empty list for a process without memory:
 * it is what the kernel prints when the thread that was asked has ended.
 * Uses: /proc/PID/maps, smaps (VmFlags since 3.8); mapping_query.c. */
#include "source/linux/linux_source.h"

#include <string.h>

#include "base/error.h"
#include "base/os/os.h"
#include "source/linux/mapping_query.h"
#include "source/linux/maps.h"
#include "source/linux/region_list.h"
#include "source/linux/smaps.h"

/* Asked for more, the kernel formats records until one does not fit in its page of 4096, throws
 * that one away and walks its pages again in the next read. Most records are below 768 bytes. */
#define SMAPS_CHUNK 3328

/* Another thread's mmap tears a list now and then; maps is cheap enough to be read again. */
#define TORN_TRIES 3

static void take_line(struct mt_snapshot *out, struct mt_smaps *record, const char *line, size_t n)
{
    struct mt_region region;
    const char *name;
    size_t name_bytes;

    /* keys begin with a capital letter, addresses do not */
    if (n > 0 && line[0] >= 'G' && line[0] <= 'Z' && mt_smaps_line(record, line, n))
        return;
    if (mt_maps_parse(line, n, &region, &name, &name_bytes)) {
        mt_smaps_open(record, mt_region_list_add(out, &region, name, name_bytes));
    } else if (!mt_smaps_line(record, line, n)) {
        mt_smaps_open(record, NULL);
        mt_region_list_reject(out, 1);
    }
}

/* Records of smaps are alike: what follows a first line is taken at once where it stands as in the
 * record before. */
static void take_body(struct mt_lines *lines, struct mt_smaps *record)
{
    size_t wanted = mt_smaps_body_wanted(record), n;
    const char *text;

    if (wanted == 0)
        return;
    text = mt_lines_ahead(lines, wanted, &n);
    mt_lines_skip(lines, mt_smaps_body(record, text, n));
}

static int read_list(struct mt_linux_source *s, int fd, size_t chunk, struct mt_snapshot *out)
{
    struct mt_smaps record = {.region = NULL};
    const char *line;
    size_t n;
    int got;

    mt_region_list_begin(out);
    /* maps holds the lock for moments only, and gaps would tear it more often */
    mt_lines_start(&s->lines, fd, chunk, chunk == SMAPS_CHUNK ? &s->text_pace : NULL);
    while ((got = mt_lines_next(&s->lines, &line, &n)) > 0) {
        take_line(out, &record, line, n);
        take_body(&s->lines, &record);
    }
    mt_smaps_open(&record, NULL);
    if (got < 0) {
        out->n_regions = 0;
        return got;
    }
    mt_region_list_reject(out, s->lines.n_too_long);
    mt_region_list_finish(out, s->lowest_address);
    if (out->n_regions == 0)
        return mt_error_set(TRACER_EIO, "the kernel lists no memory of the process");
    return TRACER_OK;
}

/* ---- maps, as one text of which only what is new is parsed ---- */

/* Parses the lines [first, end) to their places. False when one is not understood, or there are
 * more than places: then the list is to be read line by line, which says so. */
static bool parse_lines(const struct mt_list_text *t, uint32_t first, uint32_t end,
                        struct mt_snapshot *out)
{
    for (uint32_t i = first; i < end; i++) {
        struct mt_region *r = &out->regions[i];
        const char *name;
        size_t bytes, name_bytes;
        const char *line = mt_list_text_line(t, i, &bytes);

        if (!mt_maps_parse(line, bytes, r, &name, &name_bytes))
            return false;
        r->name = name_bytes > 0 ? mt_strings_add(out->strings, name, name_bytes) : 0;
    }
    return true;
}

static bool take_difference(struct mt_linux_source *s, const struct mt_list_difference *d,
                            struct mt_snapshot *out)
{
    const struct mt_list_text *t = &s->text;
    uint32_t n_after = t->n_lines - d->end;

    if (t->n_lines > out->capacity)
        return false;
    memmove(out->regions + d->end, out->regions + d->old_end, n_after * sizeof(*out->regions));
    out->n_regions = t->n_lines;
    out->n_rejected = 0;
    out->flags = 0;
    return parse_lines(t, d->first, d->end, out);
}

/* What `out` holds must be what the text before said, place by place; else it is forgotten. */
static int read_text(struct mt_linux_source *s, struct mt_snapshot *out, bool *out_done)
{
    int64_t begun_ns = mt_os_monotonic_ns(), begun_cpu_ns = mt_os_thread_cpu_ns();
    struct mt_list_difference d;
    int error;

    *out_done = false;
    if (s->told != out || out->n_regions != s->text.n_lines)
        mt_list_text_forget(&s->text);
    s->told = NULL;
    error = mt_list_text_read(&s->text, s->maps, &d);
    if (error || s->text.n_lines == 0 || !take_difference(s, &d, out))
        return error == TRACER_ELIMIT ? TRACER_OK : error;
    *out_done = true;
    mt_region_list_finish(out, s->lowest_address);
    if (!out->flags && out->n_regions == s->text.n_lines) {
        s->told = out;
        mt_follow_begin(&s->follow, out, begun_ns, mt_os_thread_cpu_ns() - begun_cpu_ns);
    }
    return TRACER_OK;
}

static int read_maps_once(struct mt_linux_source *s, struct mt_snapshot *out)
{
    bool done = false;
    int error = s->live ? read_text(s, out, &done) : TRACER_OK;

    if (done)
        return error;
    if (error) {
        out->n_regions = 0;
        return error;
    }
    return read_list(s, s->maps, MT_LINES_BUFFER_BYTES, out);
}

static int read_maps(struct mt_linux_source *s, struct mt_snapshot *out)
{
    int error = TRACER_OK;

    for (unsigned i = 0; i < TORN_TRIES; i++) {
        error = read_maps_once(s, out);
        if (error || !s->live || !(out->flags & MT_SAMPLE_TORN))
            break;
    }
    return error;
}

static bool tells_pages(const struct mt_snapshot *s)
{
    for (uint32_t i = 0; i < s->n_regions; i++)
        if (s->regions[i].pages.known >> MT_PAGE_RESIDENT & 1u)
            return true;
    return false;
}

static int read_any(struct mt_linux_source *s, struct mt_snapshot *out, bool pages)
{
    int error;

    if (s->smaps >= 0 && (pages || s->maps < 0)) {
        s->told = NULL;
        error = read_list(s, s->smaps, SMAPS_CHUNK, out);
        if (!error && pages && !tells_pages(out))
            out->flags |= MT_SAMPLE_NO_PAGES;
        if (!error || error == TRACER_ESTATE || s->maps < 0)
            return error;
    }
    error = read_maps(s, out);
    if (pages)
        out->flags |= MT_SAMPLE_NO_PAGES;
    return error;
}

static bool is_learned(const struct mt_linux_source *s, uint32_t device)
{
    for (uint32_t i = 0; i < s->n_hugetlb; i++)
        if (s->hugetlb[i] == device)
            return true;
    return false;
}

static bool is_named_hugetlb(const struct mt_snapshot *s, const struct mt_region *r)
{
    static const char prefix[] = "/anon_hugepage";

    return !strncmp(mt_strings_get(s->strings, r->name, NULL), prefix, sizeof(prefix) - 1);
}

/* smaps teaches which devices are hugetlb; lists from maps are told. */
static void mark_hugetlb(struct mt_linux_source *s, struct mt_snapshot *out)
{
    for (uint32_t i = 0; i < out->n_regions; i++) {
        struct mt_region *r = &out->regions[i];

        if (!(r->flags & MT_REGION_FILE) || r->device == 0)
            continue;
        if (r->flags & MT_REGION_FLAGS_KNOWN) {
            if ((r->flags & MT_REGION_HUGETLB) && !is_learned(s, r->device) &&
                s->n_hugetlb < MT_HUGETLB_DEVICES)
                s->hugetlb[s->n_hugetlb++] = r->device;
        } else if (is_learned(s, r->device) || is_named_hugetlb(out, r)) {
            r->flags |= MT_REGION_HUGETLB;
        }
    }
}

static void forget_pages(struct mt_snapshot *s)
{
    for (uint32_t i = 0; i < s->n_regions; i++)
        if (s->regions[i].pages.known)
            s->regions[i].pages = (struct mt_pages){.known = 0};
}

/* What only smaps tells of mappings that stand as they did when it was read. */
static void add_what_is_known(struct mt_linux_source *s, struct mt_snapshot *out)
{
    mark_hugetlb(s, out);
    mt_kept_flags_pass(s->kept_flags, out);
}

int mt_linux_list(struct mt_source *source, struct mt_snapshot *out, bool pages)
{
    struct mt_linux_source *s = (struct mt_linux_source *)(void *)source;
    int error = read_any(s, out, pages);

    if (error && error != TRACER_EDENIED && s->pid && mt_descriptors_renew(s))
        error = read_any(s, out, pages);
    else if (error && s->pid && s->seen && out->n_regions == 0)
        error = mt_error_set(TRACER_ESTATE, "process %u has ended", s->pid);
    if (error)
        return error;
    s->seen = true;
    if (!pages)
        forget_pages(out);
    add_what_is_known(s, out);
    return TRACER_OK;
}

/* exec leaves the descriptor with the memory that went, and the sizes of a program that calls
 * itself may be what they were. */
static bool has_memory(const struct mt_linux_source *s)
{
    struct mt_region lowest;

    return s->pid == 0 || mt_mapping_query(s->maps, 0, &lowest) == 1;
}

bool mt_linux_follow(struct mt_source *source, struct mt_snapshot *out)
{
    struct mt_linux_source *s = (struct mt_linux_source *)(void *)source;

    if (!s->live || s->told != out || !has_memory(s) ||
        !mt_follow_list(&s->follow, s->maps, out, &s->text, s->lines.buffer, s->lines.capacity))
        return false;
    add_what_is_known(s, out);
    return true;
}
