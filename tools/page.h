/* SPDX-License-Identifier: MIT */
/* The fixed parts of the report's page: "head" up to <body>, "tail" with the scripts. Made by
 * tools/report/assemble.py; empty where the report was not built. */
#ifndef MEMTRACER_TOOLS_PAGE_H
#define MEMTRACER_TOOLS_PAGE_H

struct mt_text {
    const char *name;
    const char *text;
};

extern const struct mt_text report_page[];

#endif
