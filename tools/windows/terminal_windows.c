/* SPDX-License-Identifier: MIT */
/* tools: what the terminal can do, on Windows: plain text of 80 columns, or COLUMNS.
 * Uses: _setmode (every C runtime). Called by main.c, out_table.c, utf8.c, cmd_timeline.c. */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>

#include "../terminal.h"

void terminal_begin(void)
{
    _setmode(_fileno(stdout), _O_BINARY);
}

bool terminal_has_colour(void)
{
    return false;
}

bool terminal_has_progress(void)
{
    return false;
}

bool terminal_has_blocks(void)
{
    return false;
}

size_t terminal_columns(void)
{
    const char *text = getenv("COLUMNS");
    long columns = text ? strtol(text, NULL, 10) : 0;

    return columns >= 40 && columns <= 1000 ? (size_t)columns : 80;
}

size_t terminal_cells(uint32_t c)
{
    return c != 0;
}
