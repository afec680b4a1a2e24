/* SPDX-License-Identifier: MIT */
/* tests: streams of files over open(), read() and write() as faults.c has them: those that the C
 * library makes would call its own, which never fail. */
#undef _FILE_OFFSET_BITS
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static ssize_t stream_read(void *cookie, char *to, size_t bytes)
{
    return read((int)(intptr_t)cookie, to, bytes);
}

static ssize_t stream_write(void *cookie, const char *from, size_t bytes)
{
    ssize_t n = write((int)(intptr_t)cookie, from, bytes);

    return n < 0 ? 0 : n;
}

static int stream_close(void *cookie)
{
    return close((int)(intptr_t)cookie);
}

static FILE *stream(int fd, const char *mode)
{
    const cookie_io_functions_t calls = {stream_read, stream_write, NULL, stream_close};

    return fopencookie((void *)(intptr_t)fd, mode, calls);
}

FILE *fopen64(const char *path, const char *mode)
{
    int flags = *mode == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, fd;

    if (strchr(mode, 'x'))
        flags |= O_EXCL;
    fd = open64(path, flags, 0666);
    return fd < 0 ? NULL : stream(fd, mode);
}
