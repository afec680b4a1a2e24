/* SPDX-License-Identifier: MIT */
/* bench: a process of known shape for others to look at.
 * In: the name of a space; ends with its standard input. Out: its number, once the space is built.
 */
#include <stdio.h>
#include <unistd.h>

#include "spaces.h"

int main(int argc, char **argv)
{
    char end;

    if (argc < 2 || space_build(argv[1])) {
        fprintf(stderr, "usage: bench_hold SPACE\n");
        return 1;
    }
    printf("%ld\n", (long)getpid());
    fflush(stdout);
    while (read(0, &end, 1) > 0)
        ;
    return 0;
}
