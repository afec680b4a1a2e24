/* SPDX-License-Identifier: MIT */
/* tools: the page of `memtracer report` where it was not built: none.
 * In its stead stands what tools/report/assemble.py makes. Used by cmd_report.c. */
#include "page.h"

const struct mt_text report_page[] = {{0, 0}};
