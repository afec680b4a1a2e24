/* SPDX-License-Identifier: MIT */
/* source/other: an operating system whose memory cannot be listed yet.
 * In: anything. Out: TRACER_EUNSUPPORTED. A port replaces this folder by one of its own. */
#include "source/source.h"

#include "base/compiler.h"
#include "base/error.h"

int mt_source_open_process(uint32_t pid MT_UNUSED, struct mt_source **out MT_UNUSED)
{
    return mt_error_set(TRACER_EUNSUPPORTED, "no source of memory for this operating system");
}

int mt_source_open_files(const char *directory MT_UNUSED, struct mt_source **out MT_UNUSED)
{
    return mt_error_set(TRACER_EUNSUPPORTED, "no source of memory for this operating system");
}
