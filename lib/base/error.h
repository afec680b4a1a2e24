/* SPDX-License-Identifier: MIT */
/* Error codes and their words; the detail of the last failure is kept per thread. */
#ifndef MT_BASE_ERROR_H
#define MT_BASE_ERROR_H

#include <stddef.h>

#include "base/compiler.h"
#include "memtracer/memtracer.h"

#define MT_ERROR_DETAIL_BYTES 512

/* Keeps a detail for tracer_last_error() and returns `code`, so that `return mt_error_set(…)`
 * reads well. Control characters in the text become '?'. */
int mt_error_set(int code, const char *format, ...) MT_PRINTF(2, 3);

/* The thread's detail; never NULL. */
const char *mt_error_detail(void);

/* One sentence about a code; never NULL. */
const char *mt_error_sentence(int code);

/* "TRACER_EINVAL"; NULL for an unknown code. */
const char *mt_error_name(int code);

#endif
