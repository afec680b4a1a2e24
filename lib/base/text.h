/* SPDX-License-Identifier: MIT */
/* Texts built into the library by scripts/embed.py, ended by a row of NULLs. */
#ifndef MT_BASE_TEXT_H
#define MT_BASE_TEXT_H

struct mt_text {
    const char *name;
    const char *text;
};

#endif
