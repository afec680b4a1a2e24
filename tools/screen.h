/* SPDX-License-Identifier: MIT */
/* A terminal taken over for a picture that renews itself; one file a system: posix/, windows/. */
#ifndef MEMTRACER_TOOLS_SCREEN_H
#define MEMTRACER_TOOLS_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Takes the terminal over: keys come one by one, without echo, and what was on it comes back with
 * screen_end(), which the end of the program calls too. False: this is none, or it cannot. */
bool screen_begin(void);
void screen_end(void);

/* A key that was pressed, 0 when there is none. Never waits. */
int screen_key(void);

/* Lines of the terminal, 24 when not known. */
size_t screen_lines(void);

/* The path of a new file of this user alone, for free(); NULL when there can be none. */
char *screen_new_file(void);
void screen_drop_file(char *path);

#endif
