/* SPDX-License-Identifier: MIT */
/* A library of known pages, for test_planted: a table of writable data whose every page holds
 * addresses and numbers, and an array without addresses. The file has all of both. */
#define PAGE 4096
#define TABLE_PAGES 4
#define ARRAY_PAGES 8

struct entry {
    const char *word;
    unsigned long number;
};

extern struct entry planted_table[TABLE_PAGES * PAGE / sizeof(struct entry)];
extern unsigned char planted_array[ARRAY_PAGES * PAGE];

static const char word[] = "planted";

#define E4                                                                                         \
    {word, 1}, {word, 2}, {word, 3},                                                               \
    {                                                                                              \
        word, 4                                                                                    \
    }
#define E16 E4, E4, E4, E4
#define E64 E16, E16, E16, E16
#define E256 E64, E64, E64, E64

__attribute__((
    aligned(PAGE))) struct entry planted_table[TABLE_PAGES * PAGE / sizeof(struct entry)] = {
    E256, E256, E256, E256};
__attribute__((aligned(PAGE))) unsigned char planted_array[ARRAY_PAGES * PAGE] = {
    1, [PAGE] = 2, [ARRAY_PAGES * PAGE - 1] = 3};
