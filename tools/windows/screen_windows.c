/* SPDX-License-Identifier: MIT */
/* tools: `memtracer top` on Windows prints one frame of a file: no terminal is taken over.
 * Uses: nothing of the system. Called by cmd_top.c. */
#include "../screen.h"

bool screen_begin(void)
{
    return false;
}

void screen_end(void)
{
}

int screen_key(void)
{
    return 0;
}

size_t screen_lines(void)
{
    return 24;
}

char *screen_new_file(void)
{
    return NULL;
}

void screen_drop_file(char *path)
{
    (void)path;
}
