/* SPDX-License-Identifier: MIT */
/* The views of growth, of one run. */
#ifndef MEMTRACER_TOOLS_ONE_RUN_H
#define MEMTRACER_TOOLS_ONE_RUN_H

/* `question` for free(). A SELECT from punctuated_growth or leak_suspects becomes one as if the
 * file held run ?1 alone: a view cannot be told so, and would judge all runs of a merged file. */
char *one_run_sql(const char *question);

#endif
