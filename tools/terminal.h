/* SPDX-License-Identifier: MIT */
/* What a system must tell about the terminal; one file a system: posix/, windows/. */
#ifndef MEMTRACER_TOOLS_TERMINAL_H
#define MEMTRACER_TOOLS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called once, first: the locale of characters, and no translation of line ends. */
void terminal_begin(void);

/* True when stdout is a terminal that shows colours and the user did not set NO_COLOR. */
bool terminal_has_colour(void);

/* True when stderr is a terminal that can rewrite a line. */
bool terminal_has_progress(void);

/* True when the locale shows UTF-8, so that block characters come out. */
bool terminal_has_blocks(void);

/* Columns of the terminal, or what COLUMNS says; 80 when neither is known. */
size_t terminal_columns(void);

/* Cells a character takes: 0, 1 or 2. */
size_t terminal_cells(uint32_t c);

#endif
