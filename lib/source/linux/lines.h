/* SPDX-License-Identifier: MIT */
/* Lines of a file of /proc, through one fixed buffer. Not thread-safe, allocates nothing. */
#ifndef MT_SOURCE_LINUX_LINES_H
#define MT_SOURCE_LINUX_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/linux/pace.h"

#define MT_LINES_BUFFER_BYTES (64u * 1024)

struct mt_lines {
    ssize_t (*read)(int fd, void *to, size_t bytes, off_t at); /* pread(2), or a test's */
    char *buffer;
    size_t capacity;
    int fd;
    off_t at;             /* where the next read begins */
    size_t chunk;         /* bytes that one read asks for at most */
    struct mt_pace *pace; /* NULL = reading holds no lock worth a gap */
    size_t begin, end;    /* unread text in the buffer */
    bool at_end;
    bool skipping;       /* inside a line longer than the buffer */
    uint32_t n_too_long; /* lines left out for their length */
};

/* Gives the reader its buffer of `capacity` bytes. */
void mt_lines_init(struct mt_lines *l, char *buffer, size_t capacity);

/* Starts again at the file's first byte. */
void mt_lines_start(struct mt_lines *l, int fd, size_t chunk, struct mt_pace *pace);

/* The next line, without its newline; valid until the next call. 1 = a line, 0 = the end,
 * TRACER_ESTATE when the process is gone, TRACER_EDENIED, TRACER_EIO. */
int mt_lines_next(struct mt_lines *l, const char **out_line, size_t *out_bytes);

/* The text behind the last line, `bytes` of it if the file has as many and no reading failed: valid
 * until the next call. Nothing of it is taken. */
const char *mt_lines_ahead(struct mt_lines *l, size_t bytes, size_t *out_bytes);

/* Takes so much of what is ahead; it must end with a line. */
void mt_lines_skip(struct mt_lines *l, size_t bytes);

/* The error that this errno of reading /proc stands for, with its detail; EBADF: the descriptor is
 * lost, see base/os. */
int mt_lines_failure(int error);

#endif
