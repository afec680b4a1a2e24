/* SPDX-License-Identifier: MIT */
/* The text of maps as a whole, now and at the look before, so that lines that stand as they stood
 * need not be parsed again. Not thread-safe. */
#ifndef MT_SOURCE_LINUX_LIST_TEXT_H
#define MT_SOURCE_LINUX_LIST_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mt_list_text {
    ssize_t (*read)(int fd, void *to, size_t bytes, off_t at); /* pread(2), or a test's */
    char *text[2]; /* [now], and [1 - now] of the look before; one block with `ends` */
    uint32_t bytes[2];
    uint32_t *ends;    /* where each line of text[now] ends, behind its newline */
    uint32_t n_lines;  /* of text[now] */
    uint32_t capacity; /* of each text, in bytes; 0 = no text can be kept */
    unsigned now;
};

/* What of the new text differs: the lines [first, end) take the place of [first, old_end). */
struct mt_list_difference {
    uint32_t first, end, old_end;
};

/* Makes room for the first time; without it (no memory) every read says ELIMIT. */
void mt_list_text_init(struct mt_list_text *t);
void mt_list_text_release(struct mt_list_text *t);

/* Reads all of `fd`, which becomes text[now], and tells how it differs from the text before; a
 * first text differs as a whole. The room doubles where it is short, so a list that grows
 * allocates. TRACER_ELIMIT: longer than can be kept; TRACER_ESTATE, EDENIED, EIO as mt_lines. */
int mt_list_text_read(struct mt_list_text *t, int fd, struct mt_list_difference *out);

/* Line `i` of text[now], without its newline. */
const char *mt_list_text_line(const struct mt_list_text *t, uint32_t i, size_t *out_bytes);

/* Puts `line` (its newline left out; `bytes` 0 = no line) in the place of the lines [first,
 * old_end), which are one at most. False = no room, nothing changed. */
bool mt_list_text_replace(struct mt_list_text *t, uint32_t first, uint32_t old_end,
                          const char *line, size_t bytes);

/* The next text is a first one again. */
void mt_list_text_forget(struct mt_list_text *t);

#endif
