/* SPDX-License-Identifier: MIT */
/* A source that reads one text from memory, in pieces of any size, through a short buffer. */
#ifndef TEST_FUZZ_LIST_H
#define TEST_FUZZ_LIST_H

#include "fuzz.h"
#include "source/linux/linux_source.h"

#define LIST_BUFFER_BYTES 700u
#define LIST_REGIONS 64u

static struct {
    const uint8_t *text;
    size_t n_bytes, at, piece;
} listed;

static ssize_t list_read(int fd, void *to, size_t bytes, off_t at)
{
    size_t n = listed.n_bytes - listed.at;

    (void)fd;
    (void)at;
    n = n < bytes ? n : bytes;
    n = n < listed.piece ? n : listed.piece;
    memcpy(to, listed.text + listed.at, n);
    listed.at += n;
    return (ssize_t)n;
}

static void list_check(const struct mt_snapshot *s)
{
    for (uint32_t i = 0; i < s->n_regions; i++) {
        FUZZ_CHECK(s->regions[i].base < s->regions[i].end);
        FUZZ_CHECK(i == 0 || s->regions[i - 1].end <= s->regions[i].base);
    }
}

static void list_text(const uint8_t *text, size_t n_bytes, int is_smaps, size_t piece)
{
    static struct mt_linux_source *s;
    struct mt_snapshot snapshot;
    struct mt_strings *strings;
    char *buffer = fuzz_copy("", 0, 1);

    if (!s)
        s = mt_linux_new();
    buffer = realloc(buffer, LIST_BUFFER_BYTES);
    if (!s || !buffer || mt_strings_new(64, 4096, &strings) ||
        mt_snapshot_init(&snapshot, strings, LIST_REGIONS))
        abort();
    mt_lines_init(&s->lines, buffer, LIST_BUFFER_BYTES);
    s->lines.read = list_read;
    s->maps = is_smaps ? -1 : INT32_MAX;
    s->smaps = is_smaps ? INT32_MAX : -1;
    s->n_hugetlb = 0;
    listed.text = text;
    listed.n_bytes = n_bytes;
    listed.at = 0;
    listed.piece = piece;
    if (!mt_linux_list(&s->base, &snapshot, is_smaps))
        list_check(&snapshot);
    mt_snapshot_release(&snapshot);
    mt_strings_free(strings);
    free(buffer);
}

#endif
