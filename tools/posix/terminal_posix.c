/* SPDX-License-Identifier: MIT */
/* tools: what the terminal can do, on POSIX.
 * Uses: isatty, nl_langinfo, wcwidth (POSIX.1-2001), ioctl TIOCGWINSZ (everywhere in practice).
 * Called by main.c, out_table.c, utf8.c, cmd_timeline.c. Must not write. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "../terminal.h"

void terminal_begin(void)
{
    setlocale(LC_CTYPE, "");
}

bool terminal_has_colour(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

bool terminal_has_progress(void)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

bool terminal_has_blocks(void)
{
    return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

size_t terminal_columns(void)
{
    const char *text = getenv("COLUMNS");
    long columns = text ? strtol(text, NULL, 10) : 0;
    struct winsize size;

    if (columns <= 0 && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
        columns = size.ws_col;
    return columns >= 40 && columns <= 1000 ? (size_t)columns : 80;
}

size_t terminal_cells(uint32_t c)
{
    int width = c < 0x80 ? 1 : wcwidth((wchar_t)c);

    return width < 0 ? 1 : (size_t)width;
}
