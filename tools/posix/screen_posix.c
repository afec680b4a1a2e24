/* SPDX-License-Identifier: MIT */
/* tools: the whole terminal for `memtracer top`, on POSIX.
 * Uses: tcgetattr, tcsetattr, poll, mkdtemp (POSIX.1-2008), ioctl TIOCGWINSZ (everywhere in
 * practice). Called by cmd_top.c. Interrupts stay signals; a stop by ^Z is off, because the shell
 * would get the terminal as it is here. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "../out_file.h"
#include "../screen.h"

static struct termios before;
static bool taken;

bool screen_begin(void)
{
    const char *term = getenv("TERM");
    struct termios now;

    if (!term || !strcmp(term, "dumb")) /* knows no place but the next line */
        return false;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before))
        return false;
    now = before;
    now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    now.c_cc[VMIN] = 0;
    now.c_cc[VTIME] = 0;
    now.c_cc[VSUSP] = _POSIX_VDISABLE;
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &now))
        return false;
    taken = true;
    atexit(screen_end);
    fputs("\033[?1049h\033[?25l", stdout);
    return true;
}

void screen_end(void)
{
    if (!taken)
        return;
    taken = false;
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

int screen_key(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    unsigned char c;

    if (poll(&in, 1, 0) <= 0)
        return 0;
    return read(STDIN_FILENO, &c, 1) == 1 ? c : 'q'; /* the terminal is gone */
}

size_t screen_lines(void)
{
    struct winsize size;

    return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row ? size.ws_row : 24;
}

char *screen_new_file(void)
{
    static const char name[] = "/memtracer-XXXXXX", file[] = "/top.db";
    const char *folder = getenv("TMPDIR");
    size_t n;
    char *path;

    if (!folder || !*folder)
        folder = "/tmp";
    n = strlen(folder) + sizeof(name) + sizeof(file);
    path = malloc(n);
    if (!path)
        return NULL;
    snprintf(path, n, "%s%s", folder, name);
    if (!mkdtemp(path)) {
        free(path);
        return NULL;
    }
    memcpy(path + strlen(path), file, sizeof(file));
    return path;
}

void screen_drop_file(char *path)
{
    if (!path)
        return;
    out_file_drop(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    free(path);
}
