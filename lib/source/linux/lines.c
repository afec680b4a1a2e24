/* SPDX-License-Identifier: MIT */
/* source/linux: a kept descriptor of /proc → lines.
 * In: a descriptor, the size of one read. Out: lines, valid until the next call.
 * Called by listing.c and counters.c. Must not allocate, nor take a short read for the end: the
 * kernel hands out about a page a call, whatever is asked for.
 * Uses: pread, which neither moves nor waits for what is no file of /proc any more. */
#define _GNU_SOURCE
#include "source/linux/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/os/os.h"

void mt_lines_init(struct mt_lines *l, char *buffer, size_t capacity)
{
    *l = (struct mt_lines){.read = pread, .buffer = buffer, .capacity = capacity, .fd = -1};
}

void mt_lines_start(struct mt_lines *l, int fd, size_t chunk, struct mt_pace *pace)
{
    l->fd = fd;
    l->chunk = chunk;
    l->pace = pace;
    l->begin = l->end = 0;
    l->at_end = fd < 0;
    l->skipping = false;
    l->n_too_long = 0;
    l->at = 0;
}

int mt_lines_failure(int error)
{
    if (error == EBADF)
        return mt_error_set(TRACER_EIO, "the host closed descriptors of the sampler, which had to "
                                        "share its table: stop the tracer and start it anew");
    if (error == ESRCH)
        return mt_error_set(TRACER_ESTATE, "the process has ended");
    if (error == EACCES || error == EPERM)
        return mt_error_set(TRACER_EDENIED, "reading /proc was refused: %s", strerror(error));
    return mt_error_set(TRACER_EIO, "reading /proc failed: %s", strerror(error));
}

static ssize_t read_once(struct mt_lines *l, char *to, size_t bytes)
{
    ssize_t n;

    do {
        if (l->pace)
            mt_pace_begin(l->pace);
        n = l->read(l->fd, to, bytes, l->at);
        if (l->pace && n > 0)
            mt_pace_end(l->pace);
    } while (n < 0 && errno == EINTR);
    l->at += n > 0 ? n : 0;
    return n;
}

static int fill(struct mt_lines *l)
{
    size_t room;
    ssize_t n;

    if (!mt_os_descriptor_is_ours(l->fd))
        return mt_lines_failure(EBADF);
    if (l->begin > 0) {
        memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
        l->end -= l->begin;
        l->begin = 0;
    }
    if (l->end == l->capacity) {
        l->n_too_long += !l->skipping;
        l->skipping = true;
        l->end = 0;
    }
    room = l->capacity - l->end;
    n = read_once(l, l->buffer + l->end, room < l->chunk ? room : l->chunk);
    if (n < 0)
        return mt_lines_failure(errno);
    l->at_end = n == 0;
    l->end += (size_t)n;
    return TRACER_OK;
}

int mt_lines_next(struct mt_lines *l, const char **out_line, size_t *out_bytes)
{
    for (;;) {
        char *line = l->buffer + l->begin;
        size_t left = l->end - l->begin;
        const char *newline = left > 0 ? memchr(line, '\n', left) : NULL;
        int error;

        if (!newline && !l->at_end) {
            if ((error = fill(l)))
                return error;
            continue;
        }
        if (!newline && (left == 0 || l->skipping))
            return 0;
        l->begin = newline ? (size_t)(newline - l->buffer) + 1 : l->end;
        if (l->skipping) {
            l->skipping = false;
            continue;
        }
        *out_line = line;
        *out_bytes = newline ? (size_t)(newline - line) : left;
        return 1;
    }
}

const char *mt_lines_ahead(struct mt_lines *l, size_t bytes, size_t *out_bytes)
{
    while (l->end - l->begin < bytes && bytes <= l->capacity / 2 && !l->at_end && !fill(l))
        ;
    *out_bytes = l->end - l->begin;
    return l->buffer + l->begin;
}

void mt_lines_skip(struct mt_lines *l, size_t bytes)
{
    l->begin += bytes;
}
