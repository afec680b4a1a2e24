/* SPDX-License-Identifier: MIT */
/* Address spaces to measure in; see spaces.c for their shapes. */
#ifndef BENCH_SPACES_H
#define BENCH_SPACES_H

/* Builds the space of this name in the calling process; 0, or -1 for an unknown name or when
 * memory is short. */
int space_build(const char *name);

/* The names, ended by NULL, each with a line of description. */
extern const char *const space_names[][2];

#endif
