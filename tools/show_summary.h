/* SPDX-License-Identifier: MIT */
/* The five tables of an address summary at a moment. */
#ifndef MEMTRACER_TOOLS_SHOW_SUMMARY_H
#define MEMTRACER_TOOLS_SHOW_SUMMARY_H

#include "answer.h"
#include "moment.h"

int show_summary(struct answer *a, const struct moment *m);

#endif
