/* SPDX-License-Identifier: MIT */
/* source/linux: the text of maps → which of its lines are new.
 * In: a kept descriptor. Out: the text, where its lines end, what differs from the text before.
 * Called by listing.c. A mapping more or less moves all lines behind it, but leaves them as they
 * are: so the longest equal beginning and the longest equal end are found, and the lines between
 * are those to parse. Must not take a short read for the end.
 * Uses: pread. */
#define _GNU_SOURCE
#include "source/linux/list_text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "source/linux/lines.h"

#define FIRST_BYTES (64u * 1024)
#define MOST_BYTES (64u * 1024 * 1024)

/* The shortest line: 8 digits a side, no name; so many lines fit in a text at most. */
#define LINE_LEAST 32u
#define STEP_BYTES 4096u

static size_t block_bytes(uint32_t capacity)
{
    return 2 * (size_t)capacity + capacity / LINE_LEAST * sizeof(uint32_t);
}

static void divide(struct mt_list_text *t, char *block, uint32_t capacity)
{
    t->ends = (uint32_t *)(void *)block;
    t->text[0] = block + capacity / LINE_LEAST * sizeof(uint32_t);
    t->text[1] = t->text[0] + capacity;
    t->capacity = capacity;
}

void mt_list_text_init(struct mt_list_text *t)
{
    char *block = mt_memory_alloc(block_bytes(FIRST_BYTES));

    *t = (struct mt_list_text){.read = pread};
    if (block)
        divide(t, block, FIRST_BYTES);
}

void mt_list_text_release(struct mt_list_text *t)
{
    mt_memory_free(t->ends);
    *t = (struct mt_list_text){.read = t->read};
}

void mt_list_text_forget(struct mt_list_text *t)
{
    t->n_lines = 0;
    t->bytes[t->now] = 0;
}

static bool grow(struct mt_list_text *t)
{
    struct mt_list_text old = *t;
    uint32_t capacity = old.capacity * 2;
    char *block;

    if (old.capacity == 0 || capacity > MOST_BYTES)
        return false;
    block = mt_memory_alloc(block_bytes(capacity));
    if (!block)
        return false;
    divide(t, block, capacity);
    memcpy(t->ends, old.ends, old.n_lines * sizeof(*old.ends));
    for (unsigned i = 0; i < 2; i++)
        memcpy(t->text[i], old.text[i], old.bytes[i]);
    mt_memory_free(old.ends);
    return true;
}

/* Reads the text into [now]; bytes[now] says how long it is. */
static int read_all(struct mt_list_text *t, int fd)
{
    ssize_t n;

    t->bytes[t->now] = 0;
    for (;;) {
        uint32_t room = t->capacity - t->bytes[t->now];

        if (room < STEP_BYTES) {
            if (!grow(t))
                return mt_error_set(TRACER_ELIMIT, "no room to keep the list of mappings");
            continue;
        }
        if (!mt_os_descriptor_is_ours(fd))
            return mt_lines_failure(EBADF);
        n = t->read(fd, t->text[t->now] + t->bytes[t->now], room, t->bytes[t->now]);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? mt_lines_failure(errno) : TRACER_OK;
        t->bytes[t->now] += (uint32_t)n;
    }
}

static uint32_t equal_beginning(const char *a, const char *b, uint32_t most)
{
    uint32_t n = 0;

    while (most - n >= STEP_BYTES && !memcmp(a + n, b + n, STEP_BYTES))
        n += STEP_BYTES;
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

static uint32_t equal_end(const char *a_end, const char *b_end, uint32_t most)
{
    uint32_t n = 0;

    while (most - n >= STEP_BYTES &&
           !memcmp(a_end - n - STEP_BYTES, b_end - n - STEP_BYTES, STEP_BYTES))
        n += STEP_BYTES;
    while (n < most && a_end[-1 - (ptrdiff_t)n] == b_end[-1 - (ptrdiff_t)n])
        n++;
    return n;
}

/* How many of the sorted `ends` are at or below `at`. */
static uint32_t lines_within(const uint32_t *ends, uint32_t n, uint32_t at)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (ends[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t count_lines(const char *text, uint32_t from, uint32_t to)
{
    uint32_t n = 0;

    while (from < to) {
        const char *newline = memchr(text + from, '\n', to - from);

        n++;
        from = newline ? (uint32_t)(newline - text) + 1 : to;
    }
    return n;
}

static void note_ends(uint32_t *ends, const char *text, uint32_t from, uint32_t to)
{
    while (from < to) {
        const char *newline = memchr(text + from, '\n', to - from);

        from = newline ? (uint32_t)(newline - text) + 1 : to;
        *ends++ = from;
    }
}

/* Brings `ends` from the text before to the text now. */
static void move_ends(struct mt_list_text *t, const struct mt_list_difference *d, uint32_t from,
                      uint32_t to)
{
    uint32_t n_after = t->n_lines - d->old_end;
    uint32_t shift = t->bytes[t->now] - t->bytes[1 - t->now];

    memmove(t->ends + d->end, t->ends + d->old_end, n_after * sizeof(*t->ends));
    for (uint32_t i = d->end; i < d->end + n_after; i++)
        t->ends[i] += shift;
    note_ends(t->ends + d->first, t->text[t->now], from, to);
    t->n_lines = d->end + n_after;
}

/* The lines of the text before that stand at the end of the new one as well: the newline before
 * them must be equal too, or the first of them could be the rest of a longer line. */
static uint32_t old_end_of(const struct mt_list_text *t, uint32_t from)
{
    uint32_t bytes = t->bytes[t->now], old_bytes = t->bytes[1 - t->now];
    uint32_t most = (bytes < old_bytes ? bytes : old_bytes) - from + (from > 0);
    uint32_t tail = equal_end(t->text[t->now] + bytes, t->text[1 - t->now] + old_bytes, most);
    uint32_t end = lines_within(t->ends, t->n_lines, old_bytes - tail) + 1;

    return end < t->n_lines ? end : t->n_lines;
}

static void compare(struct mt_list_text *t, struct mt_list_difference *out)
{
    const char *text = t->text[t->now], *old = t->text[1 - t->now];
    uint32_t bytes = t->bytes[t->now], old_bytes = t->bytes[1 - t->now], from, to;

    from = equal_beginning(text, old, bytes < old_bytes ? bytes : old_bytes);
    out->first = lines_within(t->ends, t->n_lines, from);
    from = out->first ? t->ends[out->first - 1] : 0;
    out->old_end = old_end_of(t, from);
    to = bytes;
    if (out->old_end < t->n_lines)
        to -= old_bytes - t->ends[out->old_end - 1];
    out->end = out->first + count_lines(text, from, to);
    move_ends(t, out, from, to);
}

int mt_list_text_read(struct mt_list_text *t, int fd, struct mt_list_difference *out)
{
    int error;

    t->now = 1 - t->now;
    error = read_all(t, fd);
    if (error) {
        t->n_lines = 0;
        t->bytes[0] = t->bytes[1] = 0;
        return error;
    }
    compare(t, out);
    return TRACER_OK;
}

const char *mt_list_text_line(const struct mt_list_text *t, uint32_t i, size_t *out_bytes)
{
    uint32_t from = i ? t->ends[i - 1] : 0, to = t->ends[i];
    const char *line = t->text[t->now] + from;

    *out_bytes = to - from - (line[to - from - 1] == '\n');
    return line;
}

bool mt_list_text_replace(struct mt_list_text *t, uint32_t first, uint32_t old_end,
                          const char *line, size_t bytes)
{
    char *text = t->text[t->now];
    uint32_t from = first ? t->ends[first - 1] : 0, to = old_end ? t->ends[old_end - 1] : 0;
    uint32_t put = bytes ? (uint32_t)bytes + 1 : 0, n_put = bytes > 0;

    if (bytes > t->capacity || t->bytes[t->now] - (to - from) > t->capacity - put ||
        t->n_lines - (old_end - first) + n_put > t->capacity / LINE_LEAST)
        return false;
    memmove(text + from + put, text + to, t->bytes[t->now] - to);
    memcpy(text + from, line, bytes);
    if (n_put)
        text[from + bytes] = '\n';
    memmove(t->ends + first + n_put, t->ends + old_end, (t->n_lines - old_end) * sizeof(*t->ends));
    t->n_lines = t->n_lines - (old_end - first) + n_put;
    t->bytes[t->now] = t->bytes[t->now] - (to - from) + put;
    if (n_put)
        t->ends[first] = from + put;
    for (uint32_t i = first + n_put; i < t->n_lines; i++)
        t->ends[i] += put - (to - from);
    return true;
}
