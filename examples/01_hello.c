/* SPDX-License-Identifier: MIT */
/* 1. Start, do something, stop: the whole of memtracer in a program that knows nothing of it.
 *
 * Introduces: tracer_start, tracer_stop, and the words for errors.
 * Look at:    what the file says afterwards, with plain sqlite3:
 *
 *     ./01_hello hello.db
 *     sqlite3 -box hello.db 'SELECT * FROM vmmap'       -- the table of memory at the end
 *     sqlite3 -box hello.db 'SELECT * FROM self_cost'   -- what the watching itself cost
 *
 * Next: 02_marks.c, where the program says what it is doing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memtracer/memtracer.h>

static char *volatile block; /* volatile: a compiler drops memory that is written and never read */

static void work(void)
{
    size_t bytes = (size_t)8 << 20;

    block = malloc(bytes);
    if (block)
        memset(block, 1, bytes); /* what nobody touches is address space, not working set */
    free(block);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "hello.db";
    tracer *t = NULL;
    int rc = tracer_start(path, NULL, &t);

    if (rc) {
        fprintf(stderr, "%s: %s\n", tracer_strerror(rc), tracer_last_error());
        return 1;
    }
    work();
    rc = tracer_stop(t); /* takes a last sample and makes one plain file of it */
    puts(path);
    return rc ? 1 : 0;
}
