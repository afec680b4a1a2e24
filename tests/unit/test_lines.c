/* SPDX-License-Identifier: MIT */
/* Description: lines come out whole whatever the size of a read, EINTR and short reads are no end,
 * errors are told apart, a line longer than the buffer is left out and counted. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "memtracer/memtracer.h"
#include "source/linux/lines.h"
#include "source/linux/maps.h"

static char buffer[8192];

/* A reader made of a text, with an error after its end. */
static struct {
    const char *text;
    size_t bytes, at, piece;
    int error; /* at the end, 0 = none */
    int interrupts;
} script;

static ssize_t read_script(int fd, void *to, size_t bytes, off_t at)
{
    size_t n = script.bytes - script.at;

    (void)fd;
    assert_int_equal(at, script.at);
    if (script.interrupts > 0) {
        script.interrupts--;
        errno = EINTR;
        return -1;
    }
    if (n == 0 && script.error) {
        errno = script.error;
        return -1;
    }
    n = n < bytes ? n : bytes;
    n = n < script.piece ? n : script.piece;
    memcpy(to, script.text + script.at, n);
    script.at += n;
    return (ssize_t)n;
}

static void play(struct mt_lines *l, const char *text, int error)
{
    script.text = text;
    script.bytes = strlen(text);
    script.at = 0;
    script.piece = 3;
    script.error = error;
    script.interrupts = 2;
    mt_lines_init(l, buffer, 16);
    l->read = read_script;
    mt_lines_start(l, 0, 4096, NULL);
}

static void expect(struct mt_lines *l, const char *text)
{
    const char *line;
    size_t n;

    assert_int_equal(mt_lines_next(l, &line, &n), 1);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(line, text, n);
}

static void pieces_of_every_size_give_the_same(void **state)
{
    int fd = open(TEST_DATA_DIR "/linux/A23-chunks/maps", O_RDONLY | O_CLOEXEC);
    struct mt_lines l;

    (void)state;
    assert_true(fd >= 0);
    mt_lines_init(&l, buffer, sizeof(buffer));
    for (size_t chunk = 1; chunk <= 4096; chunk++) {
        struct mt_region r;
        const char *line, *name;
        size_t n, name_bytes;
        uint64_t bytes = 0, text = 0;
        unsigned entries = 0;

        mt_lines_start(&l, fd, chunk, NULL);
        while (mt_lines_next(&l, &line, &n) == 1) {
            assert_true(mt_maps_parse(line, n, &r, &name, &name_bytes));
            entries++;
            bytes += r.end - r.base;
            text += n + 1;
        }
        assert_int_equal(entries, 60);
        assert_int_equal(bytes, 245760);
        assert_int_equal(text, 5340);
    }
    close(fd);
}

static void interrupts_and_a_missing_newline_are_no_end(void **state)
{
    struct mt_lines l;
    const char *line;
    size_t n;

    (void)state;
    play(&l, "one\n\ntwo two\nlast", 0);
    expect(&l, "one");
    expect(&l, "");
    expect(&l, "two two");
    expect(&l, "last");
    assert_int_equal(mt_lines_next(&l, &line, &n), 0);
    assert_int_equal(mt_lines_next(&l, &line, &n), 0);
}

static void errors_are_told_apart(void **state)
{
    static const int errors[][2] = {{ESRCH, TRACER_ESTATE},
                                    {EACCES, TRACER_EDENIED},
                                    {EPERM, TRACER_EDENIED},
                                    {EIO, TRACER_EIO}};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct mt_lines l;
        const char *line;
        size_t n;

        play(&l, "one\nhalf a li", errors[i][0]);
        expect(&l, "one");
        assert_int_equal(mt_lines_next(&l, &line, &n), errors[i][1]);
    }
}

static void a_line_longer_than_the_buffer_is_left_out(void **state)
{
    struct mt_lines l;
    const char *line;
    size_t n;

    (void)state;
    play(&l, "one\n0123456789012345678901234567890123456789\nsixteen bytes ..\nend\n", 0);
    expect(&l, "one");
    expect(&l, "end");
    assert_int_equal(mt_lines_next(&l, &line, &n), 0);
    assert_int_equal(l.n_too_long, 2);
}

static void what_is_ahead_can_be_seen_before_it_is_taken(void **state)
{
    struct mt_lines l;
    const char *line;
    size_t n;

    (void)state;
    play(&l, "one\ntwo\nthree\nfour", EIO);
    expect(&l, "one");
    assert_memory_equal(mt_lines_ahead(&l, 4, &n), "two\n", 4);
    assert_true(n >= 4);
    assert_memory_equal(mt_lines_ahead(&l, 8, &n), "two\nthre", 8);
    mt_lines_skip(&l, 4);
    expect(&l, "three");
    mt_lines_ahead(&l, 8, &n);
    assert_int_equal(n, 4); /* there is no more, and the error is the next call's */
    assert_int_equal(mt_lines_next(&l, &line, &n), TRACER_EIO);
}

static void no_descriptor_is_an_empty_text(void **state)
{
    struct mt_lines l;
    const char *line;
    size_t n;

    (void)state;
    mt_lines_init(&l, buffer, sizeof(buffer));
    mt_lines_start(&l, -1, 4096, NULL);
    assert_int_equal(mt_lines_next(&l, &line, &n), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_every_size_give_the_same),
        cmocka_unit_test(interrupts_and_a_missing_newline_are_no_end),
        cmocka_unit_test(errors_are_told_apart),
        cmocka_unit_test(a_line_longer_than_the_buffer_is_left_out),
        cmocka_unit_test(what_is_ahead_can_be_seen_before_it_is_taken),
        cmocka_unit_test(no_descriptor_is_an_empty_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
