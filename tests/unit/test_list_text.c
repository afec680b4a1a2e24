/* SPDX-License-Identifier: MIT */
/* Description: however a list of mappings changes, the lines that are said to be as before are so,
 * the others are those that differ, and a list that outgrows its room is still whole. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "memtracer/memtracer.h"
#include "source/linux/list_text.h"

#define LINES_MOST 4000
#define LINE_BYTES 64

static char lines[2][LINES_MOST][LINE_BYTES];
static unsigned n_lines[2];

static char script[LINES_MOST * LINE_BYTES];
static size_t script_bytes, script_at, piece;
static int script_error, interrupts;

static ssize_t read_script(int fd, void *to, size_t bytes, off_t at)
{
    size_t n = script_bytes - script_at;

    (void)fd;
    assert_int_equal(at, script_at);
    if (interrupts-- > 0) {
        errno = EINTR;
        return -1;
    }
    if (n == 0 && script_error) {
        errno = script_error;
        return -1;
    }
    n = n < bytes ? n : bytes;
    n = n < piece ? n : piece;
    memcpy(to, script + script_at, n);
    script_at += n;
    return (ssize_t)n;
}

static int play(struct mt_list_text *t, unsigned which, struct mt_list_difference *d)
{
    script_bytes = script_at = 0;
    for (unsigned i = 0; i < n_lines[which]; i++)
        script_bytes +=
            (size_t)snprintf(script + script_bytes, LINE_BYTES + 1, "%s\n", lines[which][i]);
    interrupts = 1;
    t->read = read_script;
    return mt_list_text_read(t, 0, d);
}

/* The lines of the text are those of `which`; those outside the difference are those before. */
static void assert_told(const struct mt_list_text *t, unsigned which,
                        const struct mt_list_difference *d)
{
    unsigned before = 1 - which, n_after = n_lines[which] - d->end;

    assert_int_equal(t->n_lines, n_lines[which]);
    for (unsigned i = 0; i < n_lines[which]; i++) {
        size_t bytes;
        const char *line = mt_list_text_line(t, i, &bytes);

        assert_int_equal(bytes, strlen(lines[which][i]));
        assert_memory_equal(line, lines[which][i], bytes);
    }
    assert_true(d->first <= d->end && d->first <= d->old_end);
    assert_int_equal(n_lines[before] - d->old_end, n_after);
    for (unsigned i = 0; i < d->first; i++)
        assert_string_equal(lines[which][i], lines[before][i]);
    for (unsigned i = 0; i < n_after; i++)
        assert_string_equal(lines[which][d->end + i], lines[before][d->old_end + i]);
}

static void put(unsigned which, const char *const *text, unsigned n)
{
    n_lines[which] = n;
    for (unsigned i = 0; i < n; i++)
        snprintf(lines[which][i], LINE_BYTES, "%s", text[i]);
}

#define PUT(which, ...)                                                                            \
    put(which, (const char *const[]){__VA_ARGS__},                                                 \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void assert_difference(const struct mt_list_difference *d, unsigned first, unsigned end,
                              unsigned old_end)
{
    assert_int_equal(d->first, first);
    assert_int_equal(d->end, end);
    assert_int_equal(d->old_end, old_end);
}

static void one_line_more_less_or_other(void **state)
{
    struct mt_list_text t;
    struct mt_list_difference d;

    (void)state;
    piece = 5;
    mt_list_text_init(&t);
    PUT(0, "aa", "cc", "dd");
    assert_int_equal(play(&t, 0, &d), TRACER_OK);
    assert_difference(&d, 0, 3, 0);
    PUT(1, "aa", "bb", "cc", "dd");
    assert_int_equal(play(&t, 1, &d), TRACER_OK);
    assert_difference(&d, 1, 2, 1);
    assert_told(&t, 1, &d);
    PUT(0, "aa", "bb", "dd");
    assert_int_equal(play(&t, 0, &d), TRACER_OK);
    assert_difference(&d, 2, 2, 3);
    assert_told(&t, 0, &d);
    assert_int_equal(play(&t, 0, &d), TRACER_OK);
    assert_difference(&d, 3, 3, 3);
    PUT(1, "xb", "dd");
    assert_int_equal(play(&t, 1, &d), TRACER_OK);
    assert_difference(&d, 0, 1, 2);
    PUT(0, "b", "dd"); /* "b" is the end of "xb", but no line of the text before */
    assert_int_equal(play(&t, 0, &d), TRACER_OK);
    assert_difference(&d, 0, 1, 1);
    assert_told(&t, 0, &d);
    mt_list_text_forget(&t);
    assert_int_equal(play(&t, 0, &d), TRACER_OK);
    assert_difference(&d, 0, 2, 0);
    mt_list_text_release(&t);
}

/* Lists of few different lines, so that wrong matches would be found. */
static void any_change(void **state)
{
    struct mt_list_text t;
    struct mt_list_difference d;
    unsigned which = 0;

    (void)state;
    piece = 4096;
    mt_list_text_init(&t);
    srand(20261129);
    for (unsigned round = 0; round < 3000; round++, which = 1 - which) {
        n_lines[which] = (unsigned)rand() % 12 + 1;
        for (unsigned i = 0; i < n_lines[which]; i++)
            snprintf(lines[which][i], LINE_BYTES, "%.*s", rand() % 3 + 1, "aaaa");
        assert_int_equal(play(&t, which, &d), TRACER_OK);
        if (round > 0)
            assert_told(&t, which, &d);
    }
    mt_list_text_release(&t);
}

static void a_list_that_outgrows_its_room(void **state)
{
    struct mt_list_text t;
    struct mt_list_difference d;
    uint32_t room;

    (void)state;
    piece = 4000;
    mt_list_text_init(&t);
    room = t.capacity;
    for (unsigned which = 0; which < 2; which++) {
        n_lines[which] = which ? LINES_MOST : LINES_MOST / 8;
        for (unsigned i = 0; i < n_lines[which]; i++)
            snprintf(lines[which][i], LINE_BYTES, "%032u-%020u r", i, i + 1);
        assert_int_equal(play(&t, which, &d), TRACER_OK);
    }
    assert_true(t.capacity > room);
    assert_difference(&d, LINES_MOST / 8, LINES_MOST, LINES_MOST / 8);
    assert_told(&t, 1, &d);
    mt_list_text_release(&t);
}

/* What was put in its place is the text that the next one is compared with. */
static void a_line_that_was_replaced(void **state)
{
    struct mt_list_text t;
    struct mt_list_difference d;
    char long_line[2000];

    (void)state;
    piece = 4096;
    mt_list_text_init(&t);
    PUT(0, "aa", "cc", "dd");
    assert_int_equal(play(&t, 0, &d), TRACER_OK);
    assert_true(mt_list_text_replace(&t, 1, 1, "bb", 2));
    assert_true(mt_list_text_replace(&t, 3, 4, "e", 1));
    assert_true(mt_list_text_replace(&t, 4, 4, "ffff", 4));
    assert_true(mt_list_text_replace(&t, 0, 1, "", 0));
    PUT(0, "bb", "cc", "e", "ffff");
    d = (struct mt_list_difference){4, 4, 4};
    memcpy(lines[1], lines[0], sizeof(lines[1]));
    n_lines[1] = n_lines[0];
    assert_told(&t, 0, &d);
    assert_int_equal(play(&t, 0, &d), TRACER_OK);
    assert_difference(&d, 4, 4, 4);
    memset(long_line, 'x', sizeof(long_line));
    while (mt_list_text_replace(&t, 1, 1, long_line, sizeof(long_line)))
        ;
    assert_true(t.bytes[t.now] <= t.capacity &&
                t.bytes[t.now] > t.capacity - sizeof(long_line) - 1);
    while (mt_list_text_replace(&t, 1, 2, "", 0) && t.n_lines > 4)
        ;
    while (mt_list_text_replace(&t, 2, 2, "y", 1)) /* as many lines as there are ends for */
        ;
    assert_int_equal(t.n_lines, t.capacity / 32);
    mt_list_text_release(&t);
}

static void errors_leave_nothing_to_compare_with(void **state)
{
    struct mt_list_text t;
    struct mt_list_difference d;

    (void)state;
    piece = 4096;
    mt_list_text_init(&t);
    PUT(0, "aa", "bb");
    assert_int_equal(play(&t, 0, &d), TRACER_OK);
    script_error = ESRCH;
    assert_int_equal(play(&t, 0, &d), TRACER_ESTATE);
    script_error = EACCES;
    assert_int_equal(play(&t, 0, &d), TRACER_EDENIED);
    script_error = 0;
    assert_int_equal(play(&t, 0, &d), TRACER_OK);
    assert_difference(&d, 0, 2, 0);
    mt_list_text_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line_more_less_or_other),
        cmocka_unit_test(any_change),
        cmocka_unit_test(a_list_that_outgrows_its_room),
        cmocka_unit_test(a_line_that_was_replaced),
        cmocka_unit_test(errors_leave_nothing_to_compare_with),
    };

    return cmocka_run_group_tests_name("list_text", tests, NULL, NULL);
}
