/* SPDX-License-Identifier: MIT */
/* What every target of tests/fuzz is, and how it takes values from its input. A target says in
 * FUZZ_CHECK what must hold whatever the input is. */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Called for each input, by libFuzzer or by replay_corpus.c. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

#define FUZZ_CHECK(fact)                                                                           \
    do {                                                                                           \
        if (!(fact)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #fact);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

struct fuzz_input {
    const uint8_t *at;
    size_t left;
};

/* The next `bytes` of the input as a little-endian number; zeros where it has ended. */
static inline uint64_t fuzz_take(struct fuzz_input *in, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes && in->left; i++, in->at++, in->left--)
        value |= (uint64_t)*in->at << (8 * i);
    return value;
}

/* A copy of its own on the heap, so that a sanitizer sees a byte too far; NUL-terminated when
 * `is_text`. */
static inline char *fuzz_copy(const void *from, size_t bytes, int is_text)
{
    char *copy = malloc(bytes + (is_text ? 1 : 0) + (bytes == 0 && !is_text));

    if (!copy)
        abort();
    memcpy(copy, from, bytes);
    if (is_text)
        copy[bytes] = '\0';
    return copy;
}

/* Calls `take` for each line, in memory of its own and without its newline. */
static inline void fuzz_lines(const uint8_t *data, size_t n_bytes,
                              void (*take)(void *user, const char *line, size_t bytes), void *user)
{
    while (n_bytes) {
        const uint8_t *newline = memchr(data, '\n', n_bytes);
        size_t bytes = newline ? (size_t)(newline - data) : n_bytes;
        char *line = fuzz_copy(data, bytes, 0);

        take(user, line, bytes);
        free(line);
        bytes += newline != NULL;
        data += bytes;
        n_bytes -= bytes;
    }
}

#endif
